"""Integer weights are repetitions of rows, weight zero is absence, and the order of the rows has no effect."""

import inspect

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import estimator_checks

from tests.tables import WEIGHT_SCALES, weighted_rows
from usmo import PUSVC, PUSVCCV, LinearPUSVC

TIGHT = {"tol": 1e-9}
"""The last fit is compared too, and rows in another order change it within its tolerance."""

MODELS = [
    PUSVC(lam="cv", **TIGHT),
    PUSVC(0.4, lam="cv", scenario="censored", **TIGHT),
    PUSVC(0.4, lam="cv", kernel="linear", **TIGHT),
    LinearPUSVC(0.4, lam="cv", **TIGHT),
    PUSVCCV(PUSVC(0.4, **TIGHT), gammas=[0.5, 2.0], folds=2, random_state=1),
    PUSVCCV(LinearPUSVC(**TIGHT), rule="min"),
    PUSVC(0.4, lam="cv", kernel="forest", n_trees=10, **TIGHT),
    PUSVCCV(PUSVC(0.4, kernel="forest+rbf", n_trees=10, **TIGHT), gammas=[0.5, 2.0], folds=2),
    PUSVC(0.4, approximation="nystroem", n_components=8, **TIGHT),
    PUSVC(0.4, lam="cv", approximation="nystroem", n_components=4, **TIGHT),
]


def table(seed=0, n=60):
    """A table in which some rows are equal, and integer weights of which some are zero."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < n // 3).astype(int)
    X = rng.normal(size=(n, 3)) + y[:, None]
    X[::4] = np.round(X[::4])
    return X, y, rng.integers(0, 4, n), rng


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_weighted_and_repeated_rows_give_the_same_model(model, container):
    X, y, weight, rng = table()
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    fitted = model.fit(container(X), y, weight)
    one = fitted.decision_function(X), fitted.predict_proba(X), getattr(fitted, "selection_", None)
    fitted = model.fit(container(X[rows]), y[rows])
    np.testing.assert_allclose(one[0], fitted.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(one[1], fitted.predict_proba(X), atol=1e-6)
    if one[2] is not None:
        assert one[2].lam == fitted.selection_.lam
        np.testing.assert_allclose(one[2].mean, fitted.selection_.mean, rtol=1e-9)
        np.testing.assert_allclose(one[2].error, fitted.selection_.error, rtol=1e-9)


@pytest.mark.skipif(
    "y.flat[0]" in inspect.getsource(estimator_checks._enforce_estimator_tags_y),
    reason="this version of scikit-learn takes the class of the first row for one class, and compares other labels",
)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("model", [PUSVC(lam="cv"), PUSVCCV(), PUSVCCV(LinearPUSVC())], ids=str)
def test_scikit_learn_finds_weights_equivalent_to_repetitions(model, kind):
    getattr(estimator_checks, f"check_sample_weight_equivalence_on_{kind}_data")(type(model).__name__, model)


def test_selection_on_a_sample_of_a_large_table(monkeypatch):
    monkeypatch.setattr("usmo.fitting.folds._KERNEL_ROWS", 30)
    X, y, weight, rng = table(1, 300)
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    one = PUSVC(0.4, lam="cv").fit(X, y, weight).selection_
    two = PUSVC(0.4, lam="cv").fit(X[rows], y[rows]).selection_
    np.testing.assert_array_equal(X[one.rows], X[rows][two.rows])
    np.testing.assert_array_equal(one.weight, two.weight)
    np.testing.assert_allclose(one.mean, two.mean, rtol=1e-9)
    assert one.weight.sum() == 60


def test_equal_rows_share_a_fold():
    """Labels by coin: held-out risk cannot fall below that of f = 0 unless copies of a row are in two folds."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(60, 20)), 5, axis=0)
    y = np.repeat((np.arange(60) < 25).astype(int), 5)
    selection = PUSVC(0.4, gamma=1.0, lam="cv").fit(X, y).selection_
    assert selection.lam == max(selection.lams)
    assert len(selection.rows) == 60
    assert selection.weight.sum() == 300


@pytest.mark.parametrize("weight", [None, np.r_[6.0, np.zeros(5), np.ones(12)]])
def test_one_distinct_positive_is_in_every_fold(weight):
    X = np.r_[np.ones((6, 2)), np.arange(24.0).reshape(12, 2) / 10]
    y = np.r_[np.ones(6), np.zeros(12)]
    model = PUSVC(0.3, lam="cv").fit(X, y, weight)
    assert np.count_nonzero(model.selection_.rows < 6) == 3
    assert model.selection_.weight.sum() == pytest.approx(18)


def test_a_precomputed_kernel_matrix_is_selected_by_row_numbers():
    X, y, _, _ = table()
    X += np.random.default_rng(5).normal(scale=1e-3, size=X.shape)
    model = PUSVC(0.4, lam="cv", kernel="precomputed").fit(X @ X.T, y)
    assert sorted(model.selection_.rows) == list(range(60))
    np.testing.assert_array_equal(model.selection_.weight, 1.0)


def test_comparison_of_an_approximation_counts_weights():
    X, y, weight, rng = table(2, 200)
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    model = PUSVC(0.4, approximation="nystroem", n_components=6)
    one = model.fit(X, y, weight).approximation_
    two = model.fit(X[rows], y[rows]).approximation_
    assert one.n_compared == two.n_compared
    assert one.objective == pytest.approx(two.objective, rel=1e-6)
    assert one.mean_difference == pytest.approx(two.mean_difference, rel=1e-6)
    assert one.changed == pytest.approx(two.changed)


def test_the_chosen_lambda_depends_on_ratios_of_weights_only():
    X, y, weight = weighted_rows()
    expected = LinearPUSVC(0.3, lam="cv").fit(X, y, weight)
    for scale in WEIGHT_SCALES:
        assert LinearPUSVC(0.3, lam="cv").fit(X, y, scale * weight).lam_ == expected.lam_
