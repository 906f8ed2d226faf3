"""Docstrings against the objects that they describe."""

import ast
import inspect
import re

import numpy as np
import polars as pl
import pytest

from usmo import (
    PUSVC,
    PUSVCCV,
    LinearPUSVC,
    OpenSetPUSVC,
    PropensityModel,
    PUOutlierDetector,
    RampPUSVC,
    fit_soft,
)
from usmo.priors import ESTIMATORS, ScorePrior

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 2))
POSITIVE = X[:, 0] > 0.5
LABELS = (POSITIVE & (rng.random(200) < 0.5)).astype(int)
WITH_NEGATIVES = np.where(~POSITIVE & (np.arange(200) < 20), -1, LABELS)
PRIORS = list(ESTIMATORS.values())
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
        (PropensityModel(0.4, columns=["b"], max_iter=1), LABELS),
        *((each(), WITH_NEGATIVES) for each in PRIORS),
    ],
    ids=lambda each: type(each).__name__,
)
def test_every_fitted_attribute_is_in_the_docstring(model, y):
    if "n_bootstrap" in model.get_params():
        model.set_params(n_bootstrap=2)
    if "repeats" in model.get_params():
        model.set_params(repeats=1)
    model.fit(TABLE, y)
    fitted = [name for name in vars(model) if re.fullmatch(r"[a-z]\w*_", name)]
    if isinstance(model, PUSVC | LinearPUSVC | RampPUSVC):
        fitted += [name for name in vars(model.adapt(TABLE)) if re.fullmatch(r"[a-z]\w*_", name)]
    attributes = inspect.getdoc(type(model)).partition("\nAttributes\n")[2]
    assert len(fitted) >= 5
    assert [name for name in fitted if not re.search(rf"^[\w, ]*\b{name}\b", attributes, re.MULTILINE)] == []


@pytest.mark.parametrize(
    "estimator",
    [
        PUSVC, LinearPUSVC, RampPUSVC, PUSVCCV, PUOutlierDetector, OpenSetPUSVC, PropensityModel, ScorePrior, *PRIORS,
    ],
)  # fmt: skip
def test_every_parameter_is_in_the_docstring_with_its_default(estimator):
    _, _, text = inspect.getdoc(estimator).partition("\nParameters\n----------\n")
    text = re.split(r"\n\n\w+\n-+\n", text)[0]
    told = re.findall(r"^(\w[\w, ]*) : .*?(?:, default=(.+))?$", text, re.MULTILINE)
    documented = {name: default for names, default in told for name in names.split(", ")}
    signature = inspect.signature(estimator).parameters
    assert list(documented) == list(signature)
    defaults = {name: each.default for name, each in signature.items() if each.default is not each.empty}
    assert {name: ast.literal_eval(documented[name]) for name in defaults} == defaults


def test_the_estimators_of_the_prior_describe_a_common_parameter_in_the_same_words():
    texts = {}
    for each in (ScorePrior, *PRIORS):
        for name, text in re.findall(r"^(\w+ : .*)\n((?:    .*\n)+)", inspect.getdoc(each), re.MULTILINE):
            if re.match("scenario|classifier|folds|repeats|random_state", name):
                texts.setdefault(name, set()).add(text)
    assert len(texts) == 5
    assert {name: len(found) for name, found in texts.items()} == dict.fromkeys(texts, 1)


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
