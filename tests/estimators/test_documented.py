"""Docstrings against the objects that they describe."""

import inspect
import re

import numpy as np
import polars as pl
import pytest

from usmo import PUSVC, PUSVCCV, LinearPUSVC, OpenSetPUSVC, PUOutlierDetector, RampPUSVC, fit_soft

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 2))
POSITIVE = X[:, 0] > 0.5
LABELS = (POSITIVE & (rng.random(200) < 0.5)).astype(int)
WITH_NEGATIVES = np.where(~POSITIVE & (np.arange(200) < 20), -1, LABELS)
TABLE = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (PUSVC(lam="cv"), WITH_NEGATIVES),
        (PUSVC(kernel="linear"), LABELS),
        (PUSVC(0.4, scenario="censored", propensity="estimate"), LABELS),
        (LinearPUSVC(lam="cv"), WITH_NEGATIVES),
        (RampPUSVC(kernel="linear"), LABELS),
        (PUSVCCV(kernels=["rbf", "linear"]), LABELS),
        (PUOutlierDetector(), 1 - POSITIVE.astype(int)),
        (OpenSetPUSVC(), np.where(rng.random(200) < 0.4, LABELS, -1)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_every_fitted_attribute_is_in_the_docstring(model, y):
    model.fit(TABLE, y)
    fitted = [name for name in vars(model) if re.fullmatch(r"[a-z]\w*_", name)]
    if isinstance(model, PUSVC | LinearPUSVC | RampPUSVC):
        fitted += [name for name in vars(model.adapt(TABLE)) if re.fullmatch(r"[a-z]\w*_", name)]
    attributes = inspect.getdoc(type(model)).partition("\nAttributes\n")[2]
    assert len(fitted) >= 5
    assert [name for name in fitted if not re.search(rf"^[\w, ]*\b{name}\b", attributes, re.MULTILINE)] == []


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (
            np.where(np.arange(200) == 7, 1.5, 0.5),
            r"q must hold probabilities between 0 and 1, got 1\.5 in row 7$",
        ),
        (np.where(np.arange(200) == 3, np.nan, 0.5), r"got nan in row 3$"),
        (np.full((200, 2), 0.5), r"q must hold one probability per row, got shape \(200, 2\)$"),
    ],
)
def test_a_wrong_probability_is_named_with_its_row(q, message):
    with pytest.raises(ValueError, match=message):
        fit_soft(LinearPUSVC(), X, q)
