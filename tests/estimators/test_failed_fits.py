"""A fit that fails leaves the estimator as it was: the earlier model, or none."""

import numpy as np
import pandas as pd
import pytest

from usmo import PUSVC, PUSVCCV, LinearPUSVC, OpenSetPUSVC, PropensityModel, PUOutlierDetector, RampPUSVC
from usmo.columns import TableEncoder


def rows():
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(20, int), np.zeros(60, int)]
    return rng.normal(size=(80, 3)) + y[:, None], y


MODELS = [
    PUSVC(0.3),
    LinearPUSVC(0.3),
    RampPUSVC(0.3),
    PUSVCCV(PUSVC(0.3), lams=[0.1, 0.01]),
    OpenSetPUSVC(PUSVC(lam=0.01), priors={1: 0.3}),
    PropensityModel(0.4, estimator=PUSVC(lam=0.01), tol=100.0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_classifiers_keep_their_model(model):
    X, y = rows()
    if isinstance(model, OpenSetPUSVC):
        y = np.where(y == 1, 1, -1)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    assert not any(name.endswith("_") for name in vars(model))
    model.fit(X, y)
    before = dict(vars(model))
    wide = np.hstack([X, X])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(wide, y[:-1])
    assert vars(model) == before


def test_an_outlier_detector_keeps_its_model():
    X, y = rows()
    model = PUOutlierDetector(contamination=0.2).fit(X, y)
    scores = model.score_samples(X)
    with pytest.raises(ValueError, match="contamination"):
        model.set_params(contamination=2.0).fit(X[:, :2], y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.set_params(contamination=0.2).fit(X[:, :2], y[:-1])
    np.testing.assert_array_equal(model.score_samples(X), scores)


def test_an_encoder_keeps_its_columns():
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
    encoder = TableEncoder().fit(table)
    before = encoder.transform(table)
    with pytest.raises(ValueError, match="kinds must be"):
        encoder.set_params(kinds={"a": "colour"}).fit(table[["a"]])
    np.testing.assert_array_equal(encoder.transform(table), before)
