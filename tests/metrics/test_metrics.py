"""The measures against the truth of two normal distributions, and the scorers inside scikit-learn."""

import doctest
import pickle

import numpy as np
import pytest
import sklearn
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
)
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.oracles import shuffled_table
from usmo import PUSVC, metrics
from usmo.metrics import prior_threshold, pu_scorer, risk_with_error

PRIOR, THRESHOLD, MEANS = 0.35, 0.2, (1.0, -0.7)
SCENARIOS = ["case-control", "censored"]
WITH_THRESHOLD = ("pu_recall", "pu_precision", "pu_f1", "pu_false_positive_rate", "pu_zero_one_risk", "lee_liu")
ALL = (*WITH_THRESHOLD, "pu_double_hinge_risk", "pu_roc_auc")


def draw(rng, scenario, n=1500):
    """Labels and decision values: positives N(1, 1), negatives N(-0.7, 1), 300 or half of them labelled."""
    positive = rng.random(n) < PRIOR
    f = rng.normal(size=n) + np.where(positive, *MEANS)
    if scenario == "censored":
        return (positive & (rng.random(n) < 0.5)).astype(int), f
    return np.r_[np.ones(300, int), np.zeros(n, int)], np.r_[rng.normal(size=300) + MEANS[0], f]


def truth():
    """The same quantities from the two densities."""
    r, fpr = (norm.sf(THRESHOLD - mean) for mean in MEANS)
    q = PRIOR * r + (1 - PRIOR) * fpr

    def loss(z):
        return max(-z, 0.0, (1 - z) / 2)

    hinge_p = quad(lambda x: loss(x) * norm.pdf(x - MEANS[0]), -12, 12, points=[-1, 1])[0]
    hinge_n = quad(lambda x: loss(-x) * norm.pdf(x - MEANS[1]), -12, 12, points=[-1, 1])[0]
    return {
        "pu_recall": r,
        "pu_precision": PRIOR * r / q,
        "pu_f1": 2 / (q / (PRIOR * r) + 1 / r),
        "pu_false_positive_rate": fpr,
        "pu_zero_one_risk": PRIOR * (1 - r) + (1 - PRIOR) * fpr,
        "pu_double_hinge_risk": PRIOR * hinge_p + (1 - PRIOR) * hinge_n,
        "pu_roc_auc": norm.cdf((MEANS[0] - MEANS[1]) / np.sqrt(2)),
        "lee_liu": r * r / q,
    }


def measured(name, y, f, scenario, **more):
    threshold = {"threshold": THRESHOLD} if name in WITH_THRESHOLD else {}
    return getattr(metrics, name)(y, f, prior=PRIOR, scenario=scenario, **threshold, **more)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_estimates_from_p_and_u_average_to_the_truth(scenario):
    rng = np.random.default_rng(0)
    draws = [draw(rng, scenario) for _ in range(300)]
    for name, true in truth().items():
        estimates = [measured(name, y, f, scenario) for y, f in draws]
        # a ratio of unbiased estimates is off by the order of 1/n
        ratio = 0.004 if name in ("pu_precision", "pu_f1", "lee_liu") else 0.0
        assert np.mean(estimates) == pytest.approx(true, abs=3.5 * np.std(estimates) / np.sqrt(300) + ratio), name


def test_truth_is_what_scikit_learn_measures_with_all_labels():
    rng = np.random.default_rng(1)
    positive = rng.random(200_000) < PRIOR
    f = rng.normal(size=200_000) + np.where(positive, *MEANS)
    said, true = f > THRESHOLD, truth()
    (tn, fp), _ = confusion_matrix(positive, said)
    by_labels = {
        "pu_recall": recall_score(positive, said),
        "pu_precision": precision_score(positive, said),
        "pu_f1": f1_score(positive, said),
        "pu_false_positive_rate": fp / (fp + tn),
        "pu_zero_one_risk": 1 - accuracy_score(positive, said),
        "pu_roc_auc": roc_auc_score(positive, f),
    }
    for name, value in by_labels.items():
        assert value == pytest.approx(true[name], abs=0.006), name


@pytest.mark.parametrize("loss", ["double hinge", "zero-one"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_standard_error_is_the_spread_over_draws(scenario, loss):
    rng = np.random.default_rng(2)
    draws = []
    for _ in range(500):
        y, f = draw(rng, scenario, n=400)
        kept = (np.cumsum(y) <= 60) | (y == 0) if scenario == "case-control" else np.ones(len(y), bool)
        draws.append(
            risk_with_error(y[kept], f[kept], prior=PRIOR, scenario=scenario, threshold=THRESHOLD, loss=loss)
        )
    risks, errors = np.transpose(draws)
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(np.std(risks), rel=0.1)


def test_standard_error_in_the_case_control_scenario_is_the_sum_of_two_variances():
    y, f = draw(np.random.default_rng(3), "case-control")
    u = f[y == 0]
    b = np.maximum(0, np.maximum(u, (1 + u) / 2))
    expected = np.sqrt(PRIOR**2 * f[y == 1].var(ddof=1) / 300 + b.var(ddof=1) / len(b))
    risk, error = risk_with_error(y, f, prior=PRIOR)
    assert error == pytest.approx(expected)
    assert risk == pytest.approx(metrics.pu_double_hinge_risk(y, f, prior=PRIOR))
    zero_one, _ = risk_with_error(y, f, prior=PRIOR, loss="zero-one", threshold=THRESHOLD)
    assert zero_one == pytest.approx(metrics.pu_zero_one_risk(y, f, prior=PRIOR, threshold=THRESHOLD))


def test_standard_error_with_spread_weights_is_the_spread_over_draws():
    rng = np.random.default_rng(4)
    draws = []
    for _ in range(500):
        y, f = draw(rng, "censored", n=400)
        draws.append(
            risk_with_error(y, f, prior=PRIOR, scenario="censored", sample_weight=rng.exponential(size=400))
        )
    risks, errors = np.transpose(draws)
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(np.std(risks), rel=0.1)


def test_one_labelled_row_has_a_risk_but_no_standard_error():
    risk, error = risk_with_error([1, 0, 0], [1.0, 0.0, -2.0], prior=0.5)
    assert risk == pytest.approx(-0.5 + 0.25)
    assert np.isnan(error)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("name", [*ALL, "risk_with_error"])
def test_a_weight_is_a_number_of_equal_rows(name, scenario):
    rng = np.random.default_rng(5)
    y, f = draw(rng, scenario, n=80)
    f = np.round(f, 1)  # ties
    weight = rng.integers(0, 4, size=len(y))
    by_weight = measured(name, y, f, scenario, sample_weight=weight)
    by_rows = measured(name, np.repeat(y, weight), np.repeat(f, weight), scenario)
    assert by_weight == pytest.approx(by_rows, rel=1e-12)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("name", [*ALL, "risk_with_error"])
def test_only_the_ratios_of_weights_matter(name, scenario):
    y, f = draw(np.random.default_rng(6), scenario, n=80)
    weight = np.full(len(y), 0.37)
    assert measured(name, y, f, scenario, sample_weight=weight) == pytest.approx(measured(name, y, f, scenario))


def test_auc_of_p_against_u_is_that_of_scikit_learn_with_ties_and_weights():
    rng = np.random.default_rng(7)
    y, f = draw(rng, "case-control", n=200)
    f, weight = np.round(f, 1), rng.random(len(y))
    auc_pu = PRIOR / 2 + (1 - PRIOR) * metrics.pu_roc_auc(y, f, prior=PRIOR, sample_weight=weight)
    assert auc_pu == pytest.approx(roc_auc_score(y, f, sample_weight=weight))


def test_bounded_measures_are_clipped_and_risks_are_not():
    y, apart = np.repeat([1, 0], [5, 20]), np.repeat([1.0, -1.0], [5, 20])
    assert metrics.pu_precision(y, apart, prior=0.5) == 1.0
    assert metrics.pu_f1(y, apart, prior=0.5) == 1.0
    assert metrics.pu_false_positive_rate(y, apart, prior=0.5) == 0.0
    assert metrics.pu_roc_auc(y, apart, prior=0.5) == 1.0
    assert metrics.pu_roc_auc(y, -apart, prior=0.5) == 0.0
    assert metrics.pu_false_positive_rate(y, -apart, prior=0.5) == 1.0
    assert metrics.pu_zero_one_risk(y, apart, prior=0.5) == pytest.approx(-0.5)
    assert metrics.pu_zero_one_risk(y, apart, prior=0.5, nonnegative=True) == 0.0
    assert metrics.pu_double_hinge_risk(y, 10 * apart, prior=0.5) == pytest.approx(-5.0)


def test_a_model_that_calls_nothing_positive_has_no_precision_f1_or_criterion():
    y, f = np.repeat([1, 0], [5, 20]), np.full(25, -1.0)
    for name in ("pu_recall", "pu_precision", "pu_f1", "pu_false_positive_rate", "lee_liu"):
        assert getattr(metrics, name)(y, f, prior=0.5) == 0.0


def test_labels_are_two_values_of_any_kind():
    y, f = draw(np.random.default_rng(8), "case-control", n=50)
    expected = metrics.pu_f1(y, f, prior=PRIOR)
    for other in (2 * y - 1, y.astype(bool), y + 3.0, np.where(y, "yes", "no")):
        assert metrics.pu_f1(other, f, prior=PRIOR) == expected


@pytest.mark.parametrize("name", [*ALL, "risk_with_error"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"f": [0.0, np.nan, 1.0]}, "f must be finite.* row 1"),
        ({"f": [0.0, 1.0]}, "one label per decision value, 2"),
        ({"f": [[0.0], [1.0], [2.0]]}, "one dimension"),
        ({"y": [1, 1, 1]}, "only one class"),
        ({"y": [0, 1, 2]}, r"3 values \(0, 1, 2\)"),
        ({"y": [0.0, 1.0, np.inf]}, "y must hold labels, got infinity"),
        ({"prior": 1.2}, r"prior must lie in \(0, 1\), got 1.2"),
        ({"prior": 0.0}, r"prior must lie in \(0, 1\), got 0.0"),
        ({"prior": np.nan}, r"prior must lie in \(0, 1\)"),
        ({"scenario": "other"}, "scenario must be .* got 'other'"),
        ({"sample_weight": [1.0, 0.0, 0.0]}, "only one class: no unlabelled row"),
        ({"sample_weight": [1.0, -1.0, 1.0]}, "[Nn]egative"),
        ({"sample_weight": [1.0, 1.0]}, "sample_weight"),
    ],
)
def test_bad_input_is_named(name, change, message):
    given = {"y": [1, 0, 0], "f": [1.0, 0.5, 0.0], "prior": 0.3, "scenario": "case-control", **change}
    with pytest.raises(ValueError, match=message):
        getattr(metrics, name)(given.pop("y"), given.pop("f"), **given)


def test_bad_threshold_and_loss_are_named():
    for name in WITH_THRESHOLD:
        with pytest.raises(ValueError, match="threshold must be finite"):
            getattr(metrics, name)([1, 0], [1.0, 0.0], prior=0.3, threshold=np.inf)
    with pytest.raises(ValueError, match=r"loss must be .* got 'log'"):
        risk_with_error([1, 0], [1.0, 0.0], prior=0.3, loss="log")


def test_threshold_by_the_prior_leaves_that_share_above_it():
    f = np.random.default_rng(9).normal(size=1000)
    for prior in (0.003, 0.2, 0.5, 0.999):
        assert np.mean(f > prior_threshold(f, prior)) == pytest.approx(prior, abs=1e-9)


def test_threshold_by_the_prior_takes_the_nearest_share_that_ties_allow():
    f = [0.0, 1.0, 1.0, 1.0, 2.0]
    assert prior_threshold(f, 0.25) == 1.5  # shares above: 1, 0.8, 0.2, 0
    assert prior_threshold(f, 0.6) == 0.5
    assert prior_threshold(f, 0.5) == 1.5  # 0.2 and 0.8 are as near: the smaller
    assert prior_threshold(f, 0.05) == 2.0
    assert np.all(np.array(f) > prior_threshold(f, 0.95))
    assert prior_threshold([3.0, 3.0], 0.4) == 3.0
    low, high = 1.0, np.nextafter(1.0, 2.0)
    assert low <= prior_threshold([low, high], 0.5) < high
    assert prior_threshold([-1.7e308, 1.7e308], 0.5) == 0.0


def test_threshold_by_the_prior_counts_weights_as_rows():
    rng = np.random.default_rng(10)
    f, weight = np.round(rng.normal(size=60), 1), rng.integers(0, 4, size=60)
    for prior in (0.1, 0.37, 0.8):
        assert prior_threshold(f, prior, sample_weight=weight) == prior_threshold(np.repeat(f, weight), prior)
    with pytest.raises(ValueError, match="prior must lie"):
        prior_threshold(f, 1.0)
    with pytest.raises(ValueError, match="f_u must be finite"):
        prior_threshold([np.inf, 1.0], 0.3)
    with pytest.raises(ValueError, match="at least one row"):
        prior_threshold([], 0.3)


@pytest.fixture(scope="module")
def table():
    return shuffled_table(3, n=120, p=40, d=2)


NAMES = {
    "recall": (metrics.pu_recall, 1),
    "precision": (metrics.pu_precision, 1),
    "f1": (metrics.pu_f1, 1),
    "false_positive_rate": (metrics.pu_false_positive_rate, -1),
    "zero_one_risk": (metrics.pu_zero_one_risk, -1),
    "double_hinge_risk": (metrics.pu_double_hinge_risk, -1),
    "roc_auc": (metrics.pu_roc_auc, 1),
    "lee_liu": (metrics.lee_liu, 1),
}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scorer_is_the_measure_with_the_prior_and_scenario_of_the_model(table, scenario):
    X, y = table
    model = make_pipeline(StandardScaler(), PUSVC(0.4, scenario=scenario, lam=0.01)).fit(X, y)
    weight = np.random.default_rng(1).random(len(y))
    for name, (measure, sign) in NAMES.items():
        scorer = pu_scorer(name)
        f = model.decision_function(X)
        assert scorer(model, X, y) == sign * measure(y, f, prior=0.4, scenario=scenario)
        expected = sign * measure(y, f, prior=0.4, scenario=scenario, sample_weight=weight)
        assert scorer(model, X, y, sample_weight=weight) == expected
        other = pu_scorer(name, prior=0.2, scenario="censored")
        assert other(model, X, y) == sign * measure(y, f, prior=0.2, scenario="censored")


def test_scorers_serve_cross_validation_and_grid_search(table):
    X, y = table
    folds = StratifiedKFold(3)
    model = PUSVC(0.4, lam=0.01)
    scores = cross_val_score(model, X, y, cv=folds, scoring=pu_scorer("roc_auc"))
    by_hand = [
        metrics.pu_roc_auc(y[held], model.fit(X[rest], y[rest]).decision_function(X[held]), prior=0.4)
        for rest, held in folds.split(X, y)
    ]
    np.testing.assert_array_equal(scores, by_hand)

    several = {name: pu_scorer(name) for name in NAMES}
    search = GridSearchCV(model, {"lam": [1e-3, 1e-1, 1e3]}, cv=folds, scoring=several, refit="zero_one_risk")
    search.fit(X, y)
    for name in NAMES:
        assert np.isfinite(search.cv_results_[f"mean_test_{name}"]).all()
    # so much regularisation leaves one class for all rows
    assert search.best_params_["lam"] < 1e3
    assert pu_scorer("f1")(search, X, y) == pu_scorer("f1")(search.best_estimator_, X, y)
    search.fit(X, y, sample_weight=np.random.default_rng(3).random(len(y)))
    assert np.isfinite(search.cv_results_["mean_test_f1"]).all()


def test_weights_reach_the_scorer_by_metadata_routing(table):
    X, y = table
    weight = np.random.default_rng(2).integers(1, 4, size=len(y)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        model = PUSVC(0.4, lam=0.01).set_fit_request(sample_weight=False)
        weighted = pu_scorer("recall").set_score_request(sample_weight=True)
        got = cross_val_score(model, X, y, cv=2, scoring=weighted, params={"sample_weight": weight})
    expected = [
        metrics.pu_recall(
            y[held], model.fit(X[rest], y[rest]).decision_function(X[held]), sample_weight=weight[held]
        )
        for rest, held in StratifiedKFold(2).split(X, y)
    ]
    np.testing.assert_array_equal(got, expected)


def test_scorer_takes_probabilities_where_there_is_no_decision_function(table):
    X, y = table
    model = GaussianNB(priors=[0.5, 0.5]).fit(X, y)
    expected = metrics.pu_recall(y, model.predict_proba(X)[:, 1], threshold=0.5)
    assert pu_scorer("recall")(model, X, y) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"prior must be given .* GaussianNB has no prior_"):
        pu_scorer("f1")(model, X, y)
    assert 0 < pu_scorer("f1", prior=0.4)(model, X, y) <= 1


def test_scorer_can_be_pickled_compared_and_read():
    scorer = pu_scorer("f1", prior=0.3, scenario="censored")
    assert pickle.loads(pickle.dumps(scorer)) == scorer
    assert repr(scorer) == "pu_scorer('f1', prior=0.3, scenario='censored')"
    assert repr(pu_scorer("recall")) == "pu_scorer('recall')"
    with pytest.raises(ValueError, match=r"name must be one of 'recall', .*; got 'accuracy'"):
        pu_scorer("accuracy")
    with pytest.raises(ValueError, match="prior must lie"):
        pu_scorer("f1", prior=2)
    with pytest.raises(ValueError, match="scenario must be"):
        pu_scorer("f1", scenario="x")


def test_documented_names_are_those_there_are():
    for name in NAMES:
        assert f'"{name}"' in pu_scorer.__doc__
    assert set(NAMES) == set(metrics.MEASURES)


def test_docstring_example_runs():
    results = doctest.testmod(metrics.scorers)
    assert results.attempted >= 6
    assert results.failed == 0
