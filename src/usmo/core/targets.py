"""The three kinds of labels in y: positive, unlabelled, negative."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from usmo.system import caller

WAYS = (
    "y may hold two values, the greater (or the word for it, such as 'positive' or 'yes') for labelled positives and "
    "the other for unlabelled rows; or -1, 0 and 1 for "
    "negative, unlabelled and positive; or missing values (NaN, None) for unlabelled rows, with one value for "
    "positives or two for negatives and positives (the greater)"
)

POSITIVE_WORDS = (
    "positive", "pos", "p", "+", "yes", "y", "true", "t", "1", "relevant", "include", "included", "known", "labeled",
    "labelled", "case", "hit", "match", "target", "interesting", "accepted", "ja", "oui", "si", "sí", "active", "fraud",
)  # fmt: skip
OTHER_WORDS = (
    "unlabeled", "unlabelled", "u", "unknown", "unl", "no", "n", "false", "f", "0", "negative", "neg", "-", "-1",
    "irrelevant", "exclude", "excluded", "rest", "other", "others", "background", "control", "none", "unreviewed",
    "rejected", "nein", "non", "inactive", "normal",
)  # fmt: skip
"""Words, in lower case, that say which of two texts in y marks positives, whatever their alphabetical order is. A
single character says it only beside a word of the other list: "1" and "2" may be numbers of classes."""

_SHOWN = 5
"""Values of y that a message shows at most."""


class LabelRule(NamedTuple):
    """Which value of y marks positives, and which marks negatives (None: none does). All others are unlabelled."""

    classes: np.ndarray
    """What ``predict`` returns: the value of a row not called positive, then that of a positive."""
    positive: Any
    negative: Any = None

    def kinds(self, y: Any) -> NDArray[np.int8]:
        """1 for labelled positives, 0 for unlabelled rows, -1 for known negatives."""
        y = np.asarray(y)
        known = ~missing(y)
        kind = np.zeros(len(y), dtype=np.int8)
        values = _plain(y[known])
        kind[known] = values == self.positive
        if self.negative is not None:
            kind[known] -= (values == self.negative).astype(np.int8)
        return kind


def validate_labelled(estimator: Any, X: Any, y: Any, **accepted: Any) -> tuple[Any, np.ndarray, LabelRule]:
    """X and y checked by scikit-learn, which sets ``n_features_in_`` and column names, and the rule for the labels."""
    if y is None or not missing(y).any():
        X, y = validate_data(estimator, X, y, **accepted)
        check_classification_targets(y)
    else:
        X, y = validate_data(estimator, X, **accepted), column_or_1d(y, warn=True)
        check_consistent_length(X, y)
    return X, y, label_rule(*known_values(y))


def missing(y: Any) -> NDArray[np.bool_]:
    """Which labels are NaN, NaT, None or pandas.NA."""
    y = np.asarray(y)
    if y.dtype.kind in "fmM":
        return np.isnan(y)
    if y.dtype.kind != "O":
        return np.zeros(y.shape, dtype=bool)
    # NaN differs from itself; comparing pandas.NA gives pandas.NA, whose truth is an error
    unknown = [v is None or type(v).__name__ in ("NAType", "NaTType") or bool(v != v) for v in y.ravel()]
    return np.array(unknown, dtype=bool).reshape(y.shape)


def known_values(y: Any) -> tuple[np.ndarray, bool]:
    """The distinct values of y, and whether some are missing."""
    y = np.asarray(y)
    unknown = missing(y)
    return np.unique(_plain(y[~unknown])), bool(unknown.any())


def label_rule(values: np.ndarray, some_missing: bool, *, warn: bool = True) -> LabelRule:
    """The rule for the distinct values of y; an error that names them and the ways to write y if it is ambiguous."""
    two = len(values) == 2 and not _is(values, (-1, 0))
    text = values.dtype.kind in "OUS"
    if two:
        classes, known = _ordered(values)
        if warn and text and not known:
            warn_of_text(classes, "negative" if some_missing else "unlabelled")
        return LabelRule(classes, classes[1], classes[0] if some_missing else None)
    number = values.dtype.kind in "biuf"
    if some_missing and len(values) == 1 and (text or (number and values[0] not in (0, -1))):
        other = f"not {values[0]}" if text else values.dtype.type(0)
        return LabelRule(np.array([other, values[0]]), values[0])
    if not some_missing and _is(values, (-1, 0, 1)):
        return LabelRule(values[[0, 2]], values[2], values[0])
    if not some_missing and len(values) == 1:
        raise ValueError(f"y holds only one class: {values.tolist()}. {WAYS}")
    found = _shown(values) + (" and missing values" if some_missing else "")
    raise ValueError(f"Only binary classification is supported: y holds {found}. {WAYS}")


def _plain(y: np.ndarray) -> np.ndarray:
    """Labels of dtype object as numbers or text."""
    return np.array(y.tolist()) if y.dtype.kind == "O" and len(y) else y


def _is(values: np.ndarray, numbers: tuple[int, ...]) -> bool:
    return values.dtype.kind in "iuf" and values.tolist() == list(numbers)


def _shown(values: np.ndarray) -> str:
    more = ", …" if len(values) > _SHOWN else ""
    shown = ", ".join(repr(value) for value in values[:_SHOWN].tolist())
    return f"{len(values)} values ({shown}{more})" if len(values) else "no values"


def _ordered(values: np.ndarray) -> tuple[np.ndarray, bool]:
    """Two values, that of positives last, and whether words for both say so.

    If a word for only one of them is known, it decides, else the greater value is that of positives.
    """
    if values.dtype.kind not in "OUS":
        return values, False
    words = [
        str(value.decode() if isinstance(value, bytes) else value).strip().lower() for value in values.tolist()
    ]
    signs = [(word in POSITIVE_WORDS) - (word in OTHER_WORDS) for word in words]
    if 0 in signs:
        signs = [sign if len(word) > 1 else 0 for sign, word in zip(signs, words, strict=True)]
    return (values[::-1] if signs[0] > signs[1] else values), signs[0] == -signs[1] != 0


def warn_of_text(classes: np.ndarray, other: str) -> None:
    """Tell the user which of two texts counts as the label of positives."""
    low, high = classes.tolist()
    caller.warn(
        f"y holds text: {high!r} counts as labelled positive, {low!r} as {other}; write 1 and 0 if that is wrong",
        topic="labels-of-text",
    )
