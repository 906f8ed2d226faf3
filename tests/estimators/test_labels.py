"""Negatives, costs, propensities and soft labels: against Clarabel on NumPy matrices, and against their definitions."""

import warnings

import numpy as np
import pytest

from tests.oracles import double_hinge, plain_optimum, rbf
from usmo import PUSVC, PUSVCCV, LinearPUSVC, RampPUSVC, fit_soft, path
from usmo.core.table import Table

SOLVERS = ("blocks", "usmo", "qp", "interior-point")


def row_weights(kind, prior, w, low, high, eta, scenario, e):
    """(weight as positive, weight as negative) of every row, written out from the risk. The second may be negative."""
    P, U, N = kind == 1, (kind == 0) | (scenario == "censored"), kind == -1
    eta = eta if N.any() else 0.0
    in_p = np.where(P, w / e, 0.0)
    if (e != 1.0).any():
        prior = in_p.sum() / w.sum()
    positive, negative = np.zeros(len(kind)), np.zeros(len(kind))
    positive[P] += high * prior * in_p[P] / in_p.sum()
    negative[U] += (1 - eta) * low * w[U] / w[U].sum()
    negative[P] -= (1 - eta) * low * prior * in_p[P] / in_p.sum()
    if N.any():
        negative[N] += eta * low * (1 - prior) * w[N] / w[N].sum()
    return positive, negative


def random_task(seed):
    """A table with some of: negatives, weights, costs, propensities, both scenarios; and its risk by definition."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(12, 45)), int(rng.integers(1, 5))
    kind = np.zeros(n, int)
    kind[: rng.integers(1, 8)] = 1
    if seed % 2:
        kind[-int(rng.integers(1, 5)) :] = -1
    X = rng.normal(size=(n, d)) + kind[:, None]
    w = rng.uniform(0.2, 3.0, n) if seed % 3 == 0 else np.ones(n)
    scenario = "censored" if seed % 5 < 2 else "case-control"
    ratio = float(np.exp(rng.uniform(0, np.log(50)))) if seed % 4 else 1.0
    prior, eta = float(rng.uniform(0.05, 0.95)), float(rng.choice([0.0, 0.2, 0.7, 1.0]))
    e = np.ones(n)
    if scenario == "censored":
        least = float((kind == 1) @ w / w.sum())
        prior = max(prior, least)
        if seed % 2 == 0 and 1.2 * least < 1:
            e = rng.uniform(max(0.05, 1.2 * least), 1.0, n)
    options = {
        "lam": float(np.exp(rng.uniform(np.log(1e-3), 0))), "eta": eta, "scenario": scenario,
        "class_weight": {0: 1.0, 1: ratio} if ratio > 1 else None, "tol": 1e-5,
    }  # fmt: skip
    weights = row_weights(kind, prior, w, 1.0, ratio, eta, scenario, np.where(kind == 1, e, 1.0))
    return X, kind, w, prior, e, options, weights


def check_optimal(X, model, weights, lam, gamma):
    """The objective of a model by its definition, against the optimum of the dual by Clarabel."""
    positive, negative = weights
    K = X @ X.T if gamma is None else rbf(X, X, gamma)
    if gamma is None:
        f, penalty = X @ model.coef_[0], float(model.coef_[0] @ model.coef_[0])
    else:
        alpha = np.zeros(len(X))
        alpha[model.support_] = model.dual_coef_[0]
        f, penalty = K @ alpha, float(alpha @ K @ alpha)
    f = f + model.intercept_[0] + model.threshold_
    value = (positive @ double_hinge(f) + negative @ double_hinge(-f) + lam * penalty) / (2 * lam)
    b, c = positive / (2 * lam), (positive + negative) / (2 * lam)
    rows = c > 1e-12 * c.max()
    _, low = plain_optimum(K[np.ix_(rows, rows)], K[rows] @ b, c[rows], b.sum())
    best = -low - 0.5 * b @ K @ b
    certificate, size = model.certificate_, max(1.0, abs(best))
    dual = certificate.dual
    if gamma is not None:  # by its definition, too
        sigma = np.clip(b - alpha, 0.0, c)
        np.testing.assert_allclose(sigma, b - alpha, atol=1e-12 * c.max())
        dual = np.minimum(sigma, c - sigma).sum() - 0.5 * penalty
    assert best - dual <= 0.1 * model.tol * size  # the relative gap that a fit promises
    assert certificate.dual == pytest.approx(dual, rel=1e-10, abs=1e-10)
    assert certificate.primal == pytest.approx(value, rel=1e-10, abs=1e-10)
    assert -1e-12 * size <= certificate.gap == pytest.approx(value - dual, rel=1e-6, abs=1e-10 * size)
    assert value - best <= 1e-6 * size


@pytest.mark.parametrize("first", range(0, 200, 20))
@pytest.mark.filterwarnings("ignore:the decision function is constant")
def test_every_line_of_the_table_is_solved_exactly(first):
    for seed in range(first, first + 20):
        X, kind, w, prior, e, options, weights = random_task(seed)
        propensity = None if (e == 1.0).all() else e
        prior = "estimate" if propensity is not None else prior
        y = kind if (kind == -1).any() or (kind == 0).all() else (kind == 1).astype(int)
        solver = SOLVERS[seed % 4]
        if solver == "interior-point":
            model = LinearPUSVC(prior, **options)
            gamma = None
        else:
            gamma = 0.4
            model = PUSVC(prior, solver=solver, gamma=gamma, **options)
        model.fit(X, y, sample_weight=w, propensity=propensity)
        check_optimal(X, model, weights, options["lam"], gamma)


def test_a_censored_prior_below_the_share_of_labelled_rows_is_refused():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.r_[np.ones(10, int), np.zeros(30, int)]
    for model in (PUSVC(0.2, scenario="censored"), LinearPUSVC(0.2, scenario="censored")):
        with pytest.raises(ValueError, match=r"prior must be at least 0\.25 with scenario='censored'"):
            model.fit(X, y)
        with pytest.raises(ValueError, match=r"prior must be at least 0\.25 with scenario='censored'"):
            path(model, X, y, lams=[0.1], priors=[0.5, 0.2])
        model.set_params(prior=0.25).fit(X, y)


def test_soft_labels_choose_lambda_by_folds_and_check_parameters():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    q = 1 / (1 + np.exp(-2 * X[:, 0]))  # none is 0
    model = fit_soft(PUSVC(lam="cv"), X, q)
    assert model.lam_ in model.selection_.lams
    with pytest.raises(ValueError, match="class_weight must have a weight of class 1"):
        fit_soft(PUSVC(class_weight={0: 2.0, 1: 1.0}), X, q)
    with pytest.raises(ValueError, match="approximation='rff' needs kernel='rbf'"):
        fit_soft(PUSVC(kernel="poly", approximation="rff"), X, q)


@pytest.mark.parametrize("zeros", [0, 1, 30])
@pytest.mark.parametrize("grouped", [False, True])
def test_soft_labels_choose_lambda_by_folds_with_any_number_of_zeros(zeros, grouped):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2))
    q = np.where(np.arange(80) < zeros, 0.0, 1 / (1 + np.exp(-2 * X[:, 0])))
    model = fit_soft(LinearPUSVC(lam="cv"), X, q, groups=np.arange(80) // 2 if grouped else None)
    assert model.lam_ in model.selection_.lams


@pytest.mark.parametrize("grouped", [False, True])
def test_soft_labels_of_equal_rows_are_averaged_when_folds_choose_lambda(grouped):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(300, 2)).astype(float)
    q = np.where(rng.random(300) < X.sum(axis=1) / 6, 0.95, 0.05)
    group = X[:, 0] + (X[:, 1] > 1) if grouped else None
    _, cell = np.unique(X, axis=0, return_inverse=True)
    mean = (np.bincount(cell, weights=q) / np.bincount(cell))[cell]
    expected = fit_soft(LinearPUSVC(lam="cv", threshold=0.0), X, mean, groups=group)
    model = fit_soft(LinearPUSVC(lam="cv", threshold=0.0), X, q, groups=group)
    np.testing.assert_allclose(model.selection_.mean, expected.selection_.mean, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-6)


def test_soft_labels_are_solved_exactly():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, q, w = rng.normal(size=(30, 2)), rng.random(30), rng.uniform(0.5, 2, 30)
        lam = 0.02
        model = fit_soft(PUSVC(gamma=0.4, lam=lam, tol=1e-5, class_weight=None), X, q, sample_weight=w)
        check_optimal(X, model, (q * w / w.sum(), (1 - q) * w / w.sum()), lam, 0.4)
        assert model.prior_ == pytest.approx(q @ w / w.sum())


@pytest.mark.parametrize(("q", "message"), [
    (np.zeros(30), "not all 0 nor all 1"),
    (np.full(30, 1.5), "between 0 and 1"),
    (np.full(29, 0.5), "inconsistent numbers"),
])  # fmt: skip
def test_bad_soft_labels_are_refused(q, message):
    with pytest.raises(ValueError, match=message):
        fit_soft(PUSVC(), np.random.default_rng(0).normal(size=(30, 2)), q)


def mixture(rng, n, shift=1.5):
    truth = rng.random(n) < 0.3
    return rng.normal(size=n) + shift * truth, truth


def risk_terms(kind, prior, low, high, eta, scenario, e, f):
    positive, negative = row_weights(kind, prior, np.ones(len(kind)), low, high, eta, scenario, e)
    return positive @ double_hinge(f) + negative @ double_hinge(-f)


@pytest.mark.parametrize("case", ["PU", "costs", "PNU", "propensity"])
def test_risks_are_unbiased(case):
    """2,000 draws: the mean of the empirical risk that the fits minimise against the risk with all labels."""
    low, high = (1.0, 1.0) if case in ("PU", "propensity") else (0.7, 2.0)
    eta, decision = (0.4 if case == "PNU" else 0.0), lambda x: 0.8 * x - 0.5
    rng = np.random.default_rng(0)
    x, truth = mixture(rng, 1_000_000)
    f = decision(x)
    exact = high * 0.3 * double_hinge(f[truth]).mean() + low * 0.7 * double_hinge(-f[~truth]).mean()
    values = []
    for _ in range(2000):
        x, truth = mixture(rng, 60)
        e = np.clip(0.2 + 0.3 * (x > 1.0), 0.05, 1.0)
        if case == "propensity":
            kind = (truth & (rng.random(60) < e)).astype(int)
            if not kind.any():  # the weights are then all zero: the risk of calling every row negative
                values.append(double_hinge(-decision(x)).mean())
                continue
            values.append(
                risk_terms(kind, 0.3, 1.0, 1.0, 0.0, "censored", np.where(kind == 1, e, 1.0), decision(x))
            )
            continue
        extra = rng.normal(size=10) + 1.5, rng.normal(size=8)
        kind = np.r_[np.ones(10, int), np.zeros(60, int), np.full(8 if case == "PNU" else 0, -1)]
        rows = np.concatenate([extra[0], x, extra[1][: np.count_nonzero(kind == -1)]])
        values.append(risk_terms(kind, 0.3, low, high, eta, "case-control", np.ones(len(kind)), decision(rows)))
    assert abs(np.mean(values) - exact) <= 4 * np.std(values) / np.sqrt(len(values))


def test_weights_are_repetitions_for_every_kind():
    rng = np.random.default_rng(3)
    kind = np.r_[np.ones(6, int), np.zeros(30, int), -np.ones(5, int)]
    X = rng.normal(size=(41, 2)) + kind[:, None]
    w = rng.integers(1, 4, 41)
    for options in ({"class_weight": "balanced"}, {"eta": 0.5}, {"scenario": "censored", "eta": 0.3}):
        one = PUSVC(0.3, gamma=0.5, tol=1e-8, **options).fit(X, kind, sample_weight=w)
        other = PUSVC(0.3, gamma=0.5, tol=1e-8, **options).fit(np.repeat(X, w, axis=0), np.repeat(kind, w))
        np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-5)


def test_ways_of_writing_the_labels_agree():
    rng = np.random.default_rng(4)
    kind = np.r_[np.ones(6, int), np.zeros(30, int), -np.ones(5, int)]
    X = rng.normal(size=(41, 2)) + kind[:, None]
    expected = PUSVC(0.3).fit(X, kind)
    assert expected.classes_.tolist() == [-1, 1]
    with_nan = np.where(kind == 0, np.nan, kind)
    text = np.where(kind == 0, None, np.where(kind == 1, "yes", "no"))
    for y, classes in ((with_nan, [-1, 1]), (text, ["no", "yes"])):
        model = PUSVC(0.3).fit(X, y)
        np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
        assert model.classes_.tolist() == classes
        assert set(model.predict(X)) <= set(classes)
        assert model.eta_ == expected.eta_ > 0
    two = PUSVC(0.3).fit(X[kind >= 0], kind[kind >= 0])
    missing = PUSVC(0.3).fit(X[kind >= 0], np.where(kind[kind >= 0] == 1, 1.0, np.nan))
    np.testing.assert_array_equal(two.decision_function(X), missing.decision_function(X))
    assert missing.classes_.tolist() == [0, 1]
    assert not hasattr(two, "eta_")


@pytest.mark.parametrize(
    ("positive", "other"),
    [
        ("positive", "unlabeled"),
        ("p", "u"),
        ("Known", "unknown"),
    ],
)
def test_words_say_which_text_marks_positives_whatever_their_order(positive, other):
    rng = np.random.default_rng(4)
    y = np.r_[np.ones(8, int), np.zeros(30, int)]
    X = rng.normal(size=(38, 2)) + y[:, None]
    expected = PUSVC(0.3).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PUSVC(0.3).fit(X, np.where(y == 1, positive, other))
    assert model.classes_.tolist() == [other, positive]
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
    np.testing.assert_array_equal(model.predict(X) == positive, expected.predict(X) == 1)


@pytest.mark.parametrize(
    ("positive", "other"), [("relevant", "zz"), ("aa", "Unlabelled"), ("yes", "zz"), ("2", "1")]
)
def test_a_word_for_one_of_the_two_texts_decides_with_a_warning(positive, other):
    X, y = np.random.default_rng(4).normal(size=(12, 2)), [positive, other] * 6
    with pytest.warns(UserWarning, match=f"{positive!r} counts as labelled positive, {other!r} as unlabelled"):
        assert PUSVC(0.3).fit(X, y).classes_.tolist() == [other, positive]


def test_other_words_go_by_their_order_with_a_warning():
    X, y = np.random.default_rng(4).normal(size=(12, 2)), ["red", "blue"] * 6
    with pytest.warns(UserWarning, match="'red' counts as labelled positive, 'blue' as unlabelled"):
        PUSVC(0.3).fit(X, y)


@pytest.mark.parametrize(
    "y", [[-1, 0], [0, np.nan], [-1, np.nan], [-1, 0, 1, np.nan], [0, 1, 2], [1, 1], ["a", "b", "c"]]
)
def test_ambiguous_labels_are_refused_with_the_ways_to_write_them(y):
    y = np.array(y * 6)
    with pytest.raises(
        ValueError, match=r"(?s)y (holds|may hold).*-1, 0 and 1 for negative, unlabelled and positive"
    ):
        PUSVC(0.3).fit(np.arange(len(y), dtype=float)[:, None], y)


@pytest.mark.parametrize(("given", "message"), [
    ({0: 2, 1: 1}, "not convex"), ({0: 0, 1: 1}, "positive finite"), ({1: 2}, "must be None, 'balanced'"),
])  # fmt: skip
def test_bad_class_weights_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        PUSVC(0.3, class_weight=given).fit([[0.0], [1.0]], [0, 1])


def test_propensities_imply_the_prior_and_are_checked():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 2)), np.r_[np.ones(9, int), np.zeros(51, int)]
    model = LinearPUSVC(scenario="censored").fit(X, y, propensity=0.5)
    assert model.prior_ == pytest.approx(9 / 0.5 / 60)
    e = np.full(60, 0.5)
    e[9:] = np.nan  # ignored
    np.testing.assert_array_equal(model.coef_, LinearPUSVC(scenario="censored").fit(X, y, propensity=e).coef_)
    with pytest.warns(UserWarning, match="propensities below 0.01 were raised.*concerned: 1"):
        LinearPUSVC(scenario="censored").fit(np.vstack([X] * 4), np.r_[y[:1], np.zeros(239, int)], propensity=1e-4)
    for arguments, message in (
        ({"propensity": 0.1}, "implies 1.5 positives per row"),
        ({"propensity": 0.0}, r"must lie in \(0, 1\], got 0.0"),
        ({"propensity": np.ones(3)}, "one number per row, 60"),
    ):
        with pytest.raises(ValueError, match=message):
            LinearPUSVC(scenario="censored").fit(X, y, **arguments)
    with pytest.raises(ValueError, match="needs scenario='censored'"):
        LinearPUSVC().fit(X, y, propensity=0.5)
    with pytest.raises(ValueError, match="leave prior='estimate'"):
        LinearPUSVC(0.3, scenario="censored").fit(X, y, propensity=0.5)


def test_labels_not_at_random_need_their_propensity():
    """Obvious positives are labelled four times as often: with e the risk and the prior are those of all positives."""
    rng = np.random.default_rng(6)
    truth = rng.random(4000) < 0.3
    X = rng.normal(size=(4000, 2)) + 1.6 * truth[:, None]
    e = np.where(X[:, 0] > 1.6, 0.4, 0.1)
    y = (truth & (rng.random(4000) < e)).astype(int)
    model = LinearPUSVC(scenario="censored").fit(X, y, propensity=e)
    assert model.prior_ == pytest.approx(0.3, abs=0.06)
    naive = LinearPUSVC(0.3, scenario="censored").fit(X, y)
    tilt = [abs(np.diff(m.coef_[0] / np.linalg.norm(m.coef_[0]))[0]) for m in (model, naive)]
    assert tilt[0] < 0.5 * tilt[1]  # the truth weighs both columns alike


def test_path_and_search_take_every_kind_of_label():
    rng = np.random.default_rng(7)
    kind = np.r_[np.ones(12, int), np.zeros(80, int), -np.ones(9, int)]
    X = rng.normal(size=(101, 2)) + kind[:, None]
    model = PUSVC(0.3, class_weight="balanced", tol=1e-6)
    for priors in ([0.2, 0.6], [0.6, 0.2]):
        for one in path(model, X, kind, lams=[0.1, 0.01], priors=priors):
            alone = PUSVC(one.prior_, lam=one.lam, class_weight="balanced", tol=1e-6).fit(X, kind)
            np.testing.assert_allclose(one.decision_function(X), alone.decision_function(X), atol=1e-4)
    search = PUSVCCV(model, lams=[0.1, 0.01]).fit(X, kind)
    assert search.best_estimator_.certificate_.relative_gap < 1e-6
    chosen = PUSVC(scenario="censored", lam="cv").fit(X, (kind == 1).astype(int), propensity=0.4)
    assert chosen.prior_ == pytest.approx(12 / 0.4 / 101)


def test_ramp_loss_refuses_negatives():
    with pytest.raises(ValueError, match="known negatives"):
        RampPUSVC(0.3).fit(np.arange(6.0)[:, None], [1, 1, 0, 0, 0, -1])


def test_unlabelled_rows_need_no_dual_variable_if_eta_is_one():
    rng = np.random.default_rng(8)
    kind = np.r_[np.ones(10, int), np.zeros(200, int), -np.ones(10, int)]
    X = rng.normal(size=(220, 2)) + kind[:, None]
    model = PUSVC(0.3, eta=1.0).fit(X, kind)
    assert set(model.support_) <= set(np.flatnonzero(kind))
    share = (model.decision_function(X[kind == 0]) > 0).mean()
    assert share == pytest.approx(0.3, abs=0.02)  # the threshold is still that of the unlabelled rows


def test_negatives_in_the_censored_scenario_are_part_of_the_sample():
    table = Table(np.zeros((6, 1)), np.array([0, 1]), np.array([0]), np.array([1, 2, 3]), None, np.array([4, 5]))
    assert table.sample("censored").tolist() == [0, 1, 2, 3, 4, 5]
    assert table.sample("case-control").tolist() == [1, 2, 3]
