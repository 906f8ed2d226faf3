"""Rules for the attributes of stored objects: a table of attribute → rule, checked by one function.

    {"n_features_in_": size("columns"), "intercept_": reals(1), **optional(coef_=reals(1, "columns"))}

Each side of a shape is a number or a name; a name stands for the number it has at its first use in the table.
Rules protect compiled code, which would read beyond arrays that do not fit together, and give users a message
they can act on. They do not prove that an object is one that its class would make.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Number
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from scipy import sparse

from usmo.files.errors import ModelFileError, need

Sizes = dict[str, int]


@dataclass(frozen=True)
class Rule:
    """A condition on one attribute; ``text`` completes "coef_ must be …", with sizes as ``{columns}``.

    ``fits`` looks at the type and the shape, ``values`` at the numbers in an array: the first can be tested before the
    array is read.
    """

    text: str
    fits: Callable[[Any, Sizes], bool]
    values: Callable[[Any, Sizes], Any] = lambda value, sizes: True
    required: bool = True


def conform(value: Any, rules: Mapping[str, Rule], **sizes: int) -> None:
    """Raise ModelFileError unless every attribute in the table satisfies its rule."""
    owner = type(value).__name__
    for name, rule in rules.items():
        if hasattr(value, name):
            check_attribute(owner, name, getattr(value, name), rule, sizes)
        else:
            need(not rule.required, f"{owner} has no attribute {name!r}: it is not fitted")


def check_attribute(owner: str, name: str, value: Any, rule: Rule, sizes: Sizes, *, values: bool = True) -> None:
    """Raise ModelFileError unless the value, or its type and shape alone, satisfies the rule."""
    if not rule.fits(value, sizes) or (values and not rule.values(value, sizes)):
        text = rule.text.format_map(defaultdict(lambda: "n", sizes))
        raise ModelFileError(f"{owner}.{name} must be {text}, got {_shown(value)}")


def optional(**rules: Rule) -> dict[str, Rule]:
    """Rules for attributes that may be missing."""
    return {name: replace(rule, required=False) for name, rule in rules.items()}


def or_none(rule: Rule) -> Rule:
    """The rule for an attribute that may be None."""
    return replace(
        rule,
        fits=lambda value, sizes: value is None or rule.fits(value, sizes),
        values=lambda value, sizes: value is None or rule.values(value, sizes),
    )


def instance(*classes: type) -> Rule:
    """An object of one of these classes."""
    names = " or ".join(cls.__name__ for cls in classes)
    return Rule(f"of type {names}", lambda value, sizes: isinstance(value, classes))


def tuple_of(cls: type, length: int | None = None) -> Rule:
    """A tuple of objects of this class."""

    def fits(value: Any, sizes: Sizes) -> bool:
        good = isinstance(value, tuple) and all(isinstance(part, cls) for part in value)
        return good and length in (None, len(value))

    return Rule(f"a tuple of {length or 'any number of'} {cls.__name__}", fits)


def number(low: float = -math.inf, high: float = math.inf) -> Rule:
    """A finite number in the open interval (low, high)."""
    return Rule(
        f"a number in ({low:g}, {high:g})", lambda value, sizes: _is_real(value) and bool(low < value < high)
    )


def count() -> Rule:
    """An integer, 0 or more."""
    return Rule("an integer, 0 or more", lambda value, sizes: _is_integer(value) and value >= 0)


def size(name: str) -> Rule:
    """A positive integer, the size called ``name`` in the shapes that follow."""

    def fits(value: Any, sizes: Sizes) -> bool:
        return _is_integer(value) and value > 0 and sizes.setdefault(name, int(value)) == value

    return Rule(f"the number of {name}", fits)


def array(
    text: str,
    kinds: str,
    *shape: int | str,
    csr: bool = False,
    values: Callable[[np.ndarray, Sizes], Any] = lambda stored, sizes: True,
) -> Rule:
    """An array, or CSR rows, with a dtype of these kinds (NumPy's letters), whose values pass a test."""

    def fits(value: Any, sizes: Sizes) -> bool:
        stored = value.data if csr and sparse.issparse(value) else value
        if not isinstance(stored, np.ndarray) or stored.dtype.kind not in kinds or value.ndim != len(shape):
            return False
        sides = zip(shape, value.shape, strict=True)
        expected = tuple(sizes.setdefault(side, n) if isinstance(side, str) else side for side, n in sides)
        return expected == value.shape

    sides = ", ".join(f"{{{side}}}" if isinstance(side, str) else str(side) for side in shape)
    return Rule(
        f"{text} of shape ({sides}{',' * (len(shape) == 1)})",
        fits,
        lambda value, sizes: values(value.data if sparse.issparse(value) else value, sizes),
    )


def reals(*shape: int | str, csr: bool = False) -> Rule:
    """Finite floats."""
    return array("finite numbers", "f", *shape, csr=csr, values=lambda stored, sizes: np.isfinite(stored).all())


def record_rules(cls: type) -> dict[str, Rule]:
    """Rules for the fields of a dataclass or named tuple, from the types that it declares."""
    return {name: _rule_of_type(hint) for name, hint in get_type_hints(cls).items()}


def _rule_of_type(hint: Any) -> Rule:
    if get_origin(hint) in (Union, UnionType):
        rules = [_rule_of_type(part) for part in get_args(hint)]
        text = " or ".join(rule.text for rule in rules)
        return Rule(text, lambda value, sizes: any(rule.fits(value, sizes) for rule in rules))
    if get_origin(hint) is np.ndarray:
        kind = np.dtype(get_args(get_args(hint)[1])[0]).kind
        return Rule(f"an array of kind {kind}", lambda value, sizes: _is_array(value, kind))
    if hint in (float, int):
        test = _is_real if hint is float else _is_integer
        return Rule(f"a number ({hint.__name__})", lambda value, sizes: test(value))
    cls = get_origin(hint) or hint
    return instance(cls) if isinstance(cls, type) else Rule("anything", lambda value, sizes: True)


def _is_array(value: Any, kind: str) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == kind


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"{value.dtype} of shape {value.shape}"
    return repr(value)[:40] if value is None or isinstance(value, str | Number) else type(value).__name__
