"""``groups=``: no group lies on both sides of any division of the rows, whatever is chosen or estimated by it."""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.priors.estimates import estimator
from usmo import PUSVC, PUSVCCV, LinearPUSVC, OpenSetPUSVC, PUOutlierDetector, RampPUSVC, fit_soft, path
from usmo.fitting import folds
from usmo.priors import ESTIMATORS, Consensus


def grouped_table(n=150, groups=25, seed=0):
    """Rows of a group lie close together, so that a division that splits groups would be too hopeful.

    The first column is the number of the row, so that a table without other columns still names its rows.
    """
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, n)
    positive = rng.random(groups) < 0.5
    X = rng.normal(size=(groups, 3))[group] + 1.5 * positive[group, None] + 0.1 * rng.normal(size=(n, 3))
    y = (positive[group] & (rng.random(n) < 0.5)).astype(int)
    return X, y, group


@pytest.fixture
def divisions(monkeypatch):
    """Group labels by fold of every division that the choice of λ and of kernels makes."""
    seen = []
    deal = folds.deal

    def spy(table, *args):
        sample = deal(table, *args)
        seen.append((table.groups[sample.origin], sample.fold))
        return sample

    monkeypatch.setattr("usmo.fitting.select.deal", spy)
    monkeypatch.setattr("usmo.fitting.kernel_choice.deal", spy)
    return seen


def assert_whole(divisions, count):
    assert len(divisions) == count
    for group, fold in divisions:
        assert len(np.unique(fold)) >= 2
        for g in np.unique(group):
            assert len(np.unique(fold[group == g])) == 1


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that notes which rows it was trained on and which it scored; column 0 is the row's group."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y):
        self.classes_, self.train_ = np.array([False, True]), np.unique(X[:, 0])
        return self

    def decision_function(self, X):
        self.seen.append((self.train_, np.unique(X[:, 0])))
        return X[:, 1]


FITS = {
    "PUSVC": (lambda X, y, g: PUSVC(0.4, lam="cv").fit(X, y, groups=g), 1),
    "linear": (lambda X, y, g: LinearPUSVC(0.4, lam="cv").fit(X, y, groups=g), 1),
    "search": (lambda X, y, g: PUSVCCV(PUSVC(0.4), lams=[0.1, 0.01], gammas=[0.5, 1.0]).fit(X, y, groups=g), 1),
    "kernels": (lambda X, y, g: PUSVCCV(PUSVC(0.4), kernels=["linear", "rbf"], lams="auto").fit(X, y, groups=g), 1),
    "precomputed": (lambda X, y, g: PUSVC(0.4, lam="cv", kernel="precomputed").fit(X @ X.T, y, groups=g), 1),
    "negatives": (lambda X, y, g: PUSVC(0.4, lam="cv").fit(X, np.where(np.arange(150) % 9, y, -1), groups=g), 1),
    "censored": (lambda X, y, g: PUSVC(0.6, lam="cv", scenario="censored").fit(X, y, groups=g), 1),
    "soft": (lambda X, y, g: fit_soft(PUSVC(lam="cv"), X, 0.7 * y, groups=g), 1),
    "outliers": (
        lambda X, y, g: PUOutlierDetector(PUSVC(lam="cv"), contamination=0.3).fit(X, y, groups=g), 1,
    ),
    "open set": (
        lambda X, y, g: OpenSetPUSVC(PUSVC(lam="cv"), priors=0.3).fit(X, np.where(y, g % 2, -1), groups=g), 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FITS))
def test_no_group_is_on_both_sides_where_lambda_or_a_kernel_is_chosen(name, divisions):
    X, y, group = grouped_table()
    fit, count = FITS[name]
    if name == "outliers":
        # its background rows have groups of their own, beyond those of the table
        fit(X, y, group)
        assert divisions[0][0].max() > group.max()
    else:
        fit(X, y, group)
    assert_whole(divisions, count)


def test_no_group_is_on_both_sides_where_the_prior_is_estimated():
    X, y, group = grouped_table()
    Recorder.seen.clear()
    table = np.c_[group, X]
    Consensus(classifier=Recorder(), n_bootstrap=0).fit(table, y, groups=group)
    assert len(Recorder.seen) == 60  # five folds, twelve times
    for trained, scored in Recorder.seen:
        assert len(np.intersect1d(trained, scored)) == 0
    divisions = {tuple(scored) for _, scored in Recorder.seen}
    assert len(divisions) > 5  # every repetition divides in its own way


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_estimators_of_the_prior_accept_groups(name):
    X, y, group = grouped_table()
    if name in ("known-negatives", "negatives-only"):
        y = np.where(np.arange(len(y)) % 4 == 3, -1, y)
    estimate = estimator(name, 2).fit(X, y, groups=group)
    assert 0 < estimate.prior_ < 1
    alone = estimator(name, 2).fit(X, y)
    each = estimator(name, 2).fit(X, y, groups=np.arange(len(y)))
    assert (each.prior_, each.interval_) == (alone.prior_, alone.interval_)
    if name != "km2":  # it divides no rows
        assert estimate.prior_ != alone.prior_


@pytest.mark.parametrize("make", [lambda: PUSVC(lam="cv"), lambda: PUSVCCV(PUSVC(), lams=[0.1, 0.01, 0.001])])
def test_groups_of_one_row_each_change_nothing_and_larger_ones_do(make):
    X, y, group = grouped_table()
    X[::7] = np.round(X[::7])
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    alone, each = make().fit(X, y, weight), make().fit(X, y, weight, groups=np.arange(len(y))[::-1])
    np.testing.assert_array_equal(alone.decision_function(X), each.decision_function(X))
    assert make().fit(X, y, weight, groups=group).selection_.mean.tolist() != alone.selection_.mean.tolist()


def test_weights_are_repetitions_and_the_order_of_rows_has_no_effect_with_groups():
    X, y, group = grouped_table()
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 4, len(y))
    rows = rng.permutation(np.repeat(np.arange(len(y)), weight))
    one = PUSVC(lam="cv").fit(X, y, weight, groups=group)
    two = PUSVC(lam="cv").fit(X[rows], y[rows], groups=group[rows])
    assert one.prior_ == pytest.approx(two.prior_, rel=1e-9)
    np.testing.assert_allclose(one.selection_.mean, two.selection_.mean, rtol=1e-3)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=5e-3)


def test_held_out_groups_are_judged_less_hopefully_than_held_out_rows():
    """Rows of a group are nearly equal: a division of rows tells how well groups are recognised that were seen."""
    X, y, group = grouped_table(n=300, groups=30, seed=3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 20))[group] + 0.01 * rng.normal(size=(300, 20))  # nothing to learn but the group
    rows, groups = (PUSVC(0.3, lam="cv").fit(X, y, groups=g).selection_.mean.min() for g in (None, group))
    assert groups > rows + 0.1


def test_groups_reach_fit_through_scikit_learns_metadata_routing(divisions):
    X, y, group = grouped_table()
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(StandardScaler(), PUSVC(0.4, lam="cv"))
        model.fit(X, y, groups=group)
        assert_whole(divisions, 1)
        divisions.clear()
        cross_validate(model, X, y, cv=GroupKFold(3), params={"groups": group}, scoring=lambda *_: 0.0)
        assert_whole(divisions, 3)
        unasked = make_pipeline(StandardScaler(), PUSVC(0.4, lam="cv").set_fit_request(groups=False))
        divisions.clear()
        with pytest.raises(TypeError, match="groups"):
            unasked.fit(X, y, groups=group)


def test_groups_are_checked_even_where_nothing_is_divided_but_not_learnt_from():
    X, y, group = grouped_table()
    plain = PUSVC(0.4).fit(X, y)
    np.testing.assert_array_equal(
        PUSVC(0.4).fit(X, y, groups=group).decision_function(X), plain.decision_function(X)
    )
    assert PUSVC(0.4).fit(X, y, groups=group).n_features_in_ == 3
    for model in (
        PUSVC(0.4),
        LinearPUSVC(0.4),
        RampPUSVC(0.4),
        PUSVCCV(PUSVC(0.4)),
        PUOutlierDetector(),
        Consensus(),
    ):
        with pytest.raises(ValueError, match="groups must hold one group per row, 150; got shape"):
            model.fit(X, y, groups=group[:-1])
    with pytest.raises(ValueError, match="groups must hold one group per row"):
        path(PUSVC(0.4), X, y, lams=[0.1], groups=group[:-1])


def test_one_group_of_positives_is_refused_where_rows_are_divided_and_two_make_two_folds():
    X, y, group = grouped_table()
    one = np.where(y == 1, 99, group)
    with pytest.raises(
        ValueError, match=r"^the estimate of the prior divides the rows by groups .* got 1 group with labelled"
    ):
        PUSVC().fit(X, y, groups=one)
    with pytest.raises(ValueError, match=r'rows; give prior as a number in \(0, 1\) instead of prior="estimate"$'):
        PUSVC().fit(X, y, groups=one)
    with pytest.raises(ValueError, match=r"needs at least 2 of either kind, got 1 group .*; give lam as a number"):
        PUSVC(0.4, lam="cv").fit(X, y, groups=one)
    PUSVC(0.4).fit(X, y, groups=one)
    with pytest.warns(
        UserWarning, match="uses 2 folds instead of 3: the table has 2 groups with labelled positives"
    ):
        PUSVC(0.4, lam="cv").fit(X, y, groups=np.where(y == 1, 99 + np.arange(len(y)) % 2, group))
