"""PUSVC as a user meets it: results, attributes, bad input, interruption."""

import pickle
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score

from tests.oracles import random_table, rbf
from usmo import PUSVC
from usmo.fitting import kernel as training
from usmo.kernels.matrix import KernelMatrix


@pytest.fixture(scope="module")
def table():
    X, y = random_table(0, n=150, p=30, d=4)
    order = np.random.default_rng(1).permutation(len(y))
    return X[order], y[order]


def test_decision_function_is_the_expansion_over_the_support(table):
    X, y = table
    model = PUSVC(0.4, gamma=0.3).fit(X, y)
    f = rbf(X, model.support_vectors_, 0.3) @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-10)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    np.testing.assert_array_equal(model.predict(X), np.where(f > 0, 1, 0))
    assert model.dual_coef_.sum() == pytest.approx(0.0, abs=1e-9)


def test_certificate_follows_from_the_model_alone(table):
    """The primal value recomputed from decision_function, labels and ‖f‖²."""
    X, y = table
    lam, prior = 1e-3, 0.4
    model = PUSVC(prior, lam=lam, gamma=0.3, tol=1e-6, threshold=0.0).fit(X, y)
    f = model.decision_function(X)
    norm = model.dual_coef_[0] @ rbf(model.support_vectors_, model.support_vectors_, 0.3) @ model.dual_coef_[0]
    u = f[y == 0]
    risk = -prior * f[y == 1].mean() + np.maximum(0, np.maximum(u, (1 + u) / 2)).mean() + lam * norm
    assert model.certificate_.primal == pytest.approx(risk / (2 * lam), rel=1e-9)
    assert 0 <= model.certificate_.relative_gap < 1e-6
    assert model.certificate_.convex


@pytest.mark.parametrize("scenario", ["case-control", "censored"])
def test_all_solvers_agree(table, scenario):
    X, y = table
    judge, *others = (
        PUSVC(0.4, lam=1e-3, scenario=scenario, solver=s, tol=1e-7).fit(X, y) for s in ("qp", "usmo", "blocks")
    )
    for other in others:
        np.testing.assert_allclose(other.decision_function(X), judge.decision_function(X), atol=1e-5)
        assert other.certificate_.primal == pytest.approx(judge.certificate_.primal, rel=1e-8)


def test_censored_is_the_problem_with_the_positives_among_the_unlabelled(table):
    X, y = table
    censored = PUSVC(0.5, scenario="censored", gamma=0.3, tol=1e-7).fit(X, y)
    both = np.vstack([X[y == 1], X])
    plain = PUSVC(0.5, gamma=0.3, tol=1e-7).fit(both, np.r_[np.ones(30), np.zeros(len(X))])
    np.testing.assert_allclose(censored.decision_function(X), plain.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_sparse_equals_dense(table, container, kernel):
    X, y = table
    X = X * (np.abs(X) > 0.5)
    dense = PUSVC(0.4, kernel=kernel, tol=1e-7).fit(X, y)
    thin = PUSVC(0.4, kernel=kernel, tol=1e-7).fit(container(X), y)
    np.testing.assert_allclose(thin.decision_function(container(X)), dense.decision_function(X), atol=1e-5)
    assert sparse.issparse(thin.support_vectors_)


def test_unsorted_duplicated_and_int64_sparse_indices_are_read_right(table):
    X, y = table
    plain = sparse.csr_matrix(X)
    odd = sparse.csr_matrix(
        (np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2).astype(np.int64), plain.indptr * 2),
        shape=X.shape,
    )
    for k in range(X.shape[0]):  # each row's entries in reverse order
        part = slice(odd.indptr[k], odd.indptr[k + 1])
        odd.indices[part], odd.data[part] = odd.indices[part][::-1].copy(), odd.data[part][::-1].copy()
    odd.indices, odd.indptr = odd.indices.astype(np.int64), odd.indptr.astype(np.int64)
    odd.has_sorted_indices = odd.has_canonical_format = False
    stored = odd.data.copy()
    expected = PUSVC(0.4, tol=1e-7).fit(X, y).decision_function(X)
    np.testing.assert_allclose(PUSVC(0.4, tol=1e-7).fit(odd, y).decision_function(odd), expected, atol=1e-5)
    np.testing.assert_array_equal(odd.data, stored)


def test_precomputed_and_callable_equal_the_named_kernel(table):
    X, y = table
    named = PUSVC(0.4, gamma=0.3, tol=1e-7).fit(X, y)
    K = rbf(X, X, 0.3)
    stored = PUSVC(0.4, kernel="precomputed", tol=1e-7).fit(K, y)
    called = PUSVC(0.4, kernel=lambda A, B: rbf(A, B, 0.3), tol=1e-7).fit(X, y)
    np.testing.assert_allclose(stored.decision_function(K), named.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(called.decision_function(X), named.decision_function(X), atol=1e-5)
    assert PUSVC(kernel="precomputed").fit(K, y).prior_ < 1  # the prior is estimated from the kernel's columns


def test_linear_kernel_has_coef(table):
    X, y = table
    model = PUSVC(0.4, kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0], atol=1e-12)
    np.testing.assert_allclose(model.coef_[0], X[model.support_].T @ model.dual_coef_[0], atol=1e-10)
    assert not hasattr(PUSVC(0.4).fit(X, y), "coef_")


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True), ("a", "b"), (2.0, 3.0)])
def test_greater_value_marks_positives_and_predict_returns_the_values(table, labels):
    X, y = table
    named = np.where(y == 1, labels[1], labels[0])
    text = pytest.warns(UserWarning, match="y holds text") if isinstance(labels[0], str) else nullcontext()
    with text:
        model = PUSVC(0.4).fit(X, named)
    assert model.classes_.tolist() == list(labels)
    np.testing.assert_array_equal(model.predict(X) == labels[1], PUSVC(0.4).fit(X, y).predict(X) == 1)


def test_zero_weight_equals_absence_and_two_equals_twice(table):
    X, y = table
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    weight[:2] = 1.0
    repeated = np.repeat(np.arange(len(y)), weight.astype(int))
    one = PUSVC(tol=1e-8).fit(X, y, sample_weight=weight)
    two = PUSVC(tol=1e-8).fit(X[repeated], y[repeated])
    assert one.prior_ == pytest.approx(two.prior_, rel=1e-9)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-5)
    assert not np.isin(np.flatnonzero(weight == 0), one.support_).any()


def test_scale_of_the_weights_does_not_matter(table):
    X, y = table
    weight = np.random.default_rng(0).random(len(y)) + 0.1
    one, two = (PUSVC(0.4, tol=1e-8).fit(X, y, sample_weight=s * weight) for s in (1.0, 1e6))
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-5)


def test_permuted_rows_give_the_same_model_even_with_the_prior_estimated(table):
    X, y = table
    order = np.random.default_rng(3).permutation(len(y))
    one, two = PUSVC(tol=1e-8).fit(X, y), PUSVC(tol=1e-8).fit(X[order], y[order])
    assert one.prior_ == pytest.approx(two.prior_, rel=1e-9)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-5)


def test_prediction_in_small_tiles_is_the_same(table, monkeypatch):
    X, y = table
    model = PUSVC(0.4).fit(X, y)
    whole = model.decision_function(X)
    monkeypatch.setattr("usmo.kernels.matrix._SIDE", 8)
    monkeypatch.setattr("usmo.kernels.matrix.TILE_BYTES", 512)
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-12)


def test_warm_start_from_the_optimum_takes_no_steps(table):
    X, y = table
    model = PUSVC(0.4, tol=1e-5, warm_start=True).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < 0.05 * first
    nearby = model.set_params(lam=1.2e-3).fit(X, y)
    cold = PUSVC(0.4, tol=1e-5, lam=1.2e-3).fit(X, y)
    assert nearby.n_iter_ < cold.n_iter_
    assert nearby.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=1e-5)
    model.fit(X[:100], y[:100])  # another number of rows: a cold start
    assert model.certificate_.relative_gap < 1e-3


@pytest.mark.parametrize(("solver", "steps"), [("usmo", 5), ("blocks", 1), ("qp", 2)])
def test_max_iter_warns_with_the_gap_reached(table, solver, steps):
    X, y = table
    with pytest.warns(
        ConvergenceWarning, match=r"max_iter ended the fit: .*relative duality gap \d.*Raise max_iter, or scale"
    ):
        model = PUSVC(0.4, lam=1e-4, max_iter=steps, solver=solver, tol=1e-8).fit(X, y)
    assert model.n_iter_ == steps
    assert model.certificate_.kkt_violation > 1e-8
    assert model.certificate_.equality_residual <= 1e-12


@pytest.mark.parametrize("solver", ["usmo", "blocks"])
def test_max_time_keeps_the_best_so_far_with_its_certificate(table, solver):
    X, y = table
    with pytest.warns(ConvergenceWarning, match="max_time ended the fit: .*Raise max_time, or scale"):
        model = PUSVC(0.4, max_time=1e-9, solver=solver).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.certificate_.gap > 0


def test_pickled_model_predicts_the_same(table):
    X, y = table
    model = PUSVC(0.4).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.certificate_ == model.certificate_


def test_data_frames_keep_their_names(table):
    pandas = pytest.importorskip("pandas")
    X, y = table
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = PUSVC(0.4).fit(frame, pandas.Series(y))
    assert model.feature_names_in_.tolist() == list("abcd")


def test_finds_the_hidden_positives():
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.3
    X = rng.normal(size=(400, 2)) + np.where(truth, 2.0, -2.0)[:, None]
    y = (truth & (rng.random(400) < 0.3)).astype(int)
    model = PUSVC(random_state=0).fit(X, y)
    hidden = y == 0
    assert roc_auc_score(truth[hidden], model.decision_function(X[hidden])) > 0.99
    assert np.mean(model.predict(X[hidden]) == truth[hidden]) > 0.95
    low, high = model.prior_interval_
    assert low <= truth[hidden].mean() <= high


BAD_PARAMETERS = [
    (
        {"prior": 1.2},
        r"'prior' parameter of PUSVC must be a float in the range \(0.0, 1.0\) or a str among .*1\.2",
    ),
    ({"prior": 0.0}, "'prior'.*Got 0.0"),
    ({"prior": 1}, "'prior'.*Got 1"),
    ({"prior": "guess"}, "'prior'.*'guess'"),
    ({"lam": 0.0}, "'lam'.*Got 0.0"),
    ({"lam": -1.0}, "'lam'.*Got -1.0"),
    ({"lam": np.nan}, "'lam'.*Got nan"),
    ({"kernel": "gauss"}, "'kernel'.*'gauss'"),
    ({"gamma": "wide"}, "'gamma'.*'wide'"),
    ({"gamma": 0.0}, "'gamma'.*Got 0.0"),
    ({"degree": -1}, "'degree'.*Got -1"),
    ({"coef0": np.inf}, "'coef0'.*Got inf"),
    ({"scenario": "both"}, "'scenario'.*'both'"),
    ({"solver": "smo"}, "'solver'.*'smo'"),
    ({"tol": 0.0}, "'tol'.*Got 0.0"),
    ({"max_iter": 0}, "'max_iter'.*Got 0"),
    ({"cache_size": -5}, "'cache_size'.*Got -5"),
    ({"warm_start": "yes"}, "'warm_start'.*'yes'"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS, ids=[str(p) for p, _ in BAD_PARAMETERS])
def test_bad_parameters_are_named_with_what_is_accepted(table, parameters, message):
    model = PUSVC().set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(*table)
    with pytest.raises(NotFittedError):
        model.predict(table[0])


def _bad_tables():
    X, y = np.random.default_rng(0).normal(size=(10, 3)), np.arange(10) % 2
    nan, inf = X.copy(), X.copy()
    nan[3, 1], inf[3, 1] = np.nan, np.inf
    return {
        "nan": (nan, y, None, "contains NaN"),
        "infinite": (inf, y, None, "infinity"),
        "sparse nan": (sparse.csr_matrix(nan), y, None, "contains NaN"),
        "no unlabelled": (X, np.ones(10), None, r"only one class: \[1.0\]"),
        "no positives": (X, np.zeros(10), None, r"only one class: \[0.0\]"),
        "three values": (X, np.arange(10) % 3, None, "y must hold two values.*got 3 values"),
        "continuous y": (X, np.linspace(0, 1, 10), None, "Unknown label type"),
        "lengths": (X, y[:9], None, "inconsistent numbers of samples"),
        "one dimension": (X[:, 0], y, None, "Expected 2D array"),
        "empty": (X[:0], y[:0], None, "0 sample"),
        "no columns": (X[:, :0], y, None, "0 feature"),
        "text": (X.astype(str) + "x", y, None, "could not convert"),
        "complex": (X + 1j, y, None, "Complex data"),
        "negative weight": (X, y, np.r_[-1.0, np.ones(9)], "Negative values in data passed to `sample_weight`"),
        "nan weight": (X, y, np.r_[np.nan, np.ones(9)], "sample_weight contains NaN"),
        "weight of wrong length": (X, y, np.ones(9), "sample_weight.shape"),
        "weights without positives": (X, y, 1.0 - y, "no labelled positive row has a positive weight"),
        "weights without unlabelled": (X, y, 1.0 * y, "no unlabelled row has a positive weight"),
    }


@pytest.mark.parametrize("case", list(_bad_tables()))
def test_bad_tables_are_refused_and_leave_nothing_behind(case):
    X, y, weight, message = _bad_tables()[case]
    model = PUSVC(0.5)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sample_weight=weight)
    assert set(vars(model)) == set(PUSVC().get_params())


def test_other_bad_calls(table):
    X, y = table
    model = PUSVC(0.4).fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but PUSVC is expecting 4"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        model.decision_function(np.full((1, 4), np.nan))
    with pytest.raises(ValueError, match=r"X must be a square kernel matrix .* got shape \(180, 4\)"):
        PUSVC(0.4, kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="needs at least 2 labelled positives and 2 unlabelled rows, got 1 and 2"):
        PUSVC().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    with pytest.raises(ValueError, match="the kernel overflows"):
        PUSVC(0.4, kernel="poly", degree=300, gamma=1e3, coef0=1.0).fit(X * 1e3, y)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_interrupted_fit_keeps_the_earlier_model_or_none(table, error):
    X, y = table
    calls = []

    def kernel(A, B):
        calls.append(1)
        if len(calls) > stop_after:
            raise error("stop")
        return rbf(A, B, 0.3)

    stop_after = 5
    model = PUSVC(0.4, kernel=kernel)
    with pytest.raises(error):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    stop_after = 10**9
    before = model.fit(X, y).decision_function(X)
    stop_after = len(calls) + 5
    with pytest.raises(error):
        model.fit(np.hstack([X, X]), y)
    stop_after = 10**9
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize("solver", ["usmo", "blocks"])
def test_ctrl_c_stops_compiled_loops(solver):
    """SIGINT during a fit that would take minutes ends it by KeyboardInterrupt."""
    script = textwrap.dedent("""
        import sys, numpy as np
        from usmo import PUSVC
        rng = np.random.default_rng(0)
        X = rng.normal(size=(1500, 60)) * np.logspace(0, -5, 60)
        y = (np.arange(1500) < 50).astype(int)
        PUSVC(0.4, kernel="linear").fit(X, y)  # compiled from here on
        print("ready", flush=True)
        model = PUSVC(0.4, kernel="linear", lam=1e-8, tol=1e-12, verbose=2, solver="SOLVER")
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            print("interrupted", hasattr(model, "dual_coef_"))
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", script.replace("SOLVER", solver)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    process.stderr.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == "interrupted False\n", err[-2000:]


def test_certificate_is_computed_apart_from_the_solver(table, monkeypatch):
    """A solver that returns wrong values of G is found out."""
    from usmo.solvers import usmo

    X, y = table
    honest = usmo.solve

    def lying(*args, **options):
        from dataclasses import replace

        found = honest(*args, **{**options, "tol": 0.5})
        return replace(found, G=0.0 * found.G + 1e9, status="optimal")

    training.compile_once()
    monkeypatch.setattr(usmo, "solve", lying)
    with pytest.warns(ConvergenceWarning, match="short of tol"):
        model = PUSVC(0.4, lam=1e-3, solver="usmo", tol=1e-6, threshold=0.0).fit(X, y)
    matrix = KernelMatrix(X, model._kernel)
    used = np.arange(len(X))
    alpha = np.zeros(len(X))
    alpha[model.support_] = model.dual_coef_[0]
    f = matrix.block(used, used) @ alpha + model.intercept_[0]
    u = f[y == 0]
    norm = alpha @ (f - model.intercept_[0])
    risk = -0.4 * f[y == 1].mean() + np.maximum(0, np.maximum(u, (1 + u) / 2)).mean() + 1e-3 * norm
    assert model.certificate_.primal == pytest.approx(risk / 2e-3, rel=1e-9)
    assert model.certificate_.kkt_violation > 1e-3


def test_verbose_2_prints_a_line_per_pass_to_stderr_and_1_is_quiet_without_a_terminal(table, capsys):
    X, y = table
    model = PUSVC(0.4, verbose=2).fit(X, y)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.strip().splitlines()) == len(model.history_)
    PUSVC(0.4, verbose=1).fit(X, y)
    assert capsys.readouterr() == ("", "")
