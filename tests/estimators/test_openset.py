"""OpenSetPUSVC: known classes, rows of none of them, probabilities and priors."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits

from usmo import PUSVC, LinearPUSVC, OpenSetPUSVC, load


def digits(known=(0, 1, 2, 3), labelled=40, seed=0):
    """Digits with some labels of the known classes; the truth is -1 for the other digits."""
    X, digit = load_digits(return_X_y=True)
    truth = np.where(np.isin(digit, known), digit, -1)
    y = np.full(len(digit), -1)
    rng = np.random.default_rng(seed)
    for k in known:
        y[rng.permutation(np.flatnonzero(digit == k))[:labelled]] = k
    return X / 16, y, truth


@pytest.fixture(scope="module")
def fitted():
    X, y, truth = digits()
    return X, y, truth, OpenSetPUSVC().fit(X, y)


def test_classes_and_rows_of_no_class_are_recognised(fitted):
    X, y, truth, model = fitted
    hidden = y == -1
    found = model.predict(X[hidden])
    assert (found == truth[hidden]).mean() > 0.93
    assert (found[truth[hidden] == -1] == -1).mean() > 0.93


def test_probabilities_sum_to_one_and_their_mean_is_near_the_share(fitted):
    X, y, truth, model = fitted
    chance = model.predict_proba(X[y == -1])
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    assert ((chance >= 0) & (chance <= 1)).all()
    shares = [np.mean(truth[y == -1] == k) for k in model.classes_]
    np.testing.assert_allclose(chance.mean(axis=0), shares, atol=0.06)


def test_rows_between_two_known_classes_are_not_taken_for_rows_of_none():
    """Two normal classes that overlap and a third, far off, that nobody labelled: the true probability is known."""
    rng = np.random.default_rng(0)
    centres, shares = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 8.0]]), np.array([0.45, 0.45, 0.1])
    kind = rng.choice(3, 1500, p=shares)
    X = np.concatenate([centres[np.repeat([0, 1], 100)], centres[kind]]) + rng.normal(size=(1700, 2))
    model = OpenSetPUSVC(priors=0.45).fit(X, np.repeat([0, 1, -1], [100, 100, 1500]))
    density = shares * np.exp(-0.5 * ((X[200:, None] - centres) ** 2).sum(axis=2))
    truth = density[:, -1] / density.sum(axis=1)
    none = model.predict_proba(X[200:])[:, -1]
    assert none.mean() == pytest.approx(truth.mean(), abs=0.1)
    assert np.abs(none - truth).mean() < 0.15


def test_each_class_has_its_own_prior_and_certificate(fitted):
    *_, model = fitted
    assert model.priors_.shape == (4,)
    assert model.none_prior_ == pytest.approx(1 - model.priors_.sum())
    assert all(each.certificate_.relative_gap < 1e-3 for each in model.estimators_)


def test_a_class_is_fitted_as_a_pu_problem_against_the_unlabelled_rows(fitted):
    """γ is that of all rows; a cache that holds few kernel rows changes no optimum."""
    X, y, _, model = fitted
    gamma = 1.0 / (X.shape[1] * X.var())
    rows = (y == 2) | (y == -1)
    alone = PUSVC(model.priors_[2], lam=1e-3, gamma=gamma, tol=1e-6).fit(X[rows], y[rows] == 2)
    for cache_size in ("auto", 0.1):
        exact = OpenSetPUSVC(
            PUSVC(lam=1e-3, tol=1e-6, cache_size=cache_size), priors=dict(enumerate(model.priors_))
        )
        exact.fit(X, y)
        np.testing.assert_allclose(exact.decision_function(X)[:, 2], alone.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(model.decision_function(X)[:, 2], alone.decision_function(X), atol=1e-2)


def test_classes_share_their_kernel_rows(fitted):
    X, y, _, model = fitted
    shared = [each.kernel_rows_ for each in model.estimators_]
    alone = []
    for k, prior in enumerate(model.priors_):
        rows = (y == k) | (y == -1)
        alone.append(PUSVC(prior, lam=1e-3).fit(X[rows], y[rows] == k).kernel_rows_)
    assert sum(shared) < 0.6 * sum(alone)


@pytest.mark.parametrize(
    "estimator",
    [
        PUSVC(kernel="forest", n_trees=20),
        PUSVC(kernel="linear", lam=0.01),
        PUSVC(approximation="nystroem", n_components=100),
        PUSVC(solver="usmo", lam=0.01),
        LinearPUSVC(lam=0.01),
    ],
    ids=lambda estimator: f"{getattr(estimator, 'kernel', 'columns')}-{estimator.solver}",
)
def test_other_kernels_and_solvers_recognise_classes_too(estimator):
    X, y, truth = digits(known=(0, 1), labelled=30)
    X, y, truth = X[:500], y[:500], truth[:500]
    model = OpenSetPUSVC(estimator, priors=0.1).fit(X, y)
    known = truth >= 0
    assert (model.predict(X)[known] == truth[known]).mean() > 0.85


def test_given_priors_are_used():
    X, y, _ = digits()
    model = OpenSetPUSVC(priors={0: 0.05, 3: 0.1}).fit(X, y)
    assert model.priors_[[0, 3]].tolist() == [0.05, 0.1]
    assert model.priors_[1] == OpenSetPUSVC().fit(X, y).priors_[1]


def test_texts_missing_values_and_sparse_tables_work():
    X, y, _ = digits()
    X, y = X[:600], y[:600]
    names = np.array([None if k < 0 else f"digit {k}" for k in y], dtype=object)
    gaps = np.where(y < 0, np.nan, y)
    model = OpenSetPUSVC(priors=0.1)
    by_number = clone(model).fit(X, y).predict(X)
    by_name = clone(model).set_params(none_label="other").fit(X, names)
    assert by_name.classes_.tolist() == ["digit 0", "digit 1", "digit 2", "digit 3", "other"]
    translated = [int(name.split()[1]) if name != "other" else -1 for name in by_name.predict(X)]
    np.testing.assert_array_equal(translated, by_number)
    np.testing.assert_array_equal(clone(model).fit(X, gaps).predict(X), by_number)
    sparse_found = OpenSetPUSVC(LinearPUSVC(), priors=0.1).fit(sparse.csr_array(X), y).predict(sparse.csr_array(X))
    assert set(sparse_found) <= {0, 1, 2, 3, -1}


@pytest.mark.parametrize(
    ("parameters", "labels", "message"),
    [
        ({}, lambda y: np.full(len(y), -1), "y must hold at least one labelled class"),
        ({}, lambda y: np.maximum(y, 0), "y must hold unlabelled rows"),
        ({"priors": {7: 0.1}}, lambda y: y, r"priors must name classes of y, got 7; y has \[0, 1, 2, 3\]"),
        ({"priors": 0.4}, lambda y: y, "priors must sum to at most 1, got 1.6"),
        ({"priors": "guess"}, lambda y: y, r"priors must be 'estimate' or lie in \(0, 1\), got 'guess'"),
        (
            {},
            lambda y: np.where((y == 3) & (np.arange(len(y)) != np.flatnonzero(y == 3)[0]), -1, y),
            r"needs at least 2 labelled positives .*; give priors=\{3: a number in \(0, 1\)\}",
        ),
        ({"none_label": 2}, lambda y: y, "none_label must not be one of the classes in y, got 2"),
        ({"none_label": "other"}, lambda y: y, "none_label must be a number like the classes in y, got 'other'"),
        ({"estimator": PUSVC(scenario="censored")}, lambda y: y, "estimator must have scenario='case-control'"),
    ],
)
def test_bad_input_is_named(parameters, labels, message):
    X, y, _ = digits()
    with pytest.raises(ValueError, match=message):
        OpenSetPUSVC(**parameters).fit(X, labels(y))


def test_a_saved_model_gives_the_same_probabilities(fitted, tmp_path):
    X, _, _, model = fitted
    model.save(tmp_path / "model.usmo")
    np.testing.assert_array_equal(load(tmp_path / "model.usmo").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("y", "none", "message"),
    [
        ([True, False] * 6, -1, "all numbers or all texts"),
        (["a", 1, -1] * 4, -1, "all numbers or all texts"),
        ([1, 2, -1] * 4, np.nan, "none_label must be a finite number"),
    ],
)
def test_labels_that_are_not_classes_are_refused(y, none, message):
    X = np.random.default_rng(0).normal(size=(12, 2))
    with pytest.raises(ValueError, match=message):
        OpenSetPUSVC(none_label=none).fit(X, np.array(y, dtype=object))
