"""The linear solver against the QP library and itself: optima, hard tables, starts, limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.fits import train, train_linear
from tests.oracles import needs_data, optimum, paper_problem, random_problem
from tests.solvers.clouds import clouds
from usmo.core.labels import pu_problem
from usmo.datasets import SMALL
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures, column_means
from usmo.solvers import linear
from usmo.solvers.linear_shards import LinearShard

LINEAR = Kernel("linear")


@needs_data
@pytest.mark.parametrize("name", [name for name in SMALL if name not in ("krvskp", "isolet")])
@pytest.mark.parametrize("lam", [1e-4, 1e-1])
def test_reaches_the_optimum_of_the_qp_library_on_the_papers_tables(name, lam):
    problem, matrix = paper_problem(name, "linear", lam)
    solution, certificate = train(problem, matrix, solver="interior-point", tol=1e-5)
    assert solution.status == "optimal"
    best = optimum(problem, matrix)
    assert (oracle_dual(problem, matrix, solution.sigma) - best) / abs(best) <= 1e-7
    assert certificate.relative_gap <= 1e-8
    assert certificate.equality_residual <= 1e-12


def oracle_dual(problem, matrix, sigma):
    Z = matrix.X[problem.c_rows].T @ sigma
    q = matrix.X[problem.b_rows].T @ problem.b
    return 0.5 * Z @ Z - q @ Z - np.minimum(sigma, problem.c - sigma).sum()


@settings(max_examples=60)
@given(
    st.integers(0, 10_000),
    st.integers(1, 60),
    st.integers(1, 6),
    st.integers(1, 5),
    st.floats(0.02, 0.98),
    st.sampled_from([1e-6, 1e-4, 1e-2, 1.0]),
    st.booleans(),
    st.booleans(),
)
def test_reaches_the_optimum_on_random_problems(seed, n, p, d, prior, lam, weighted, repeated):
    weight = np.random.default_rng(seed).exponential(size=n + p) + 0.01 if weighted else None
    problem, matrix = random_problem(seed, n=n, p=p, d=d, prior=prior, lam=lam, kernel=LINEAR, weight=weight)
    if repeated:
        matrix.X[p + n // 2 :] = matrix.X[p : p + n - n // 2]
    solution = train(problem, matrix, solver="interior-point", tol=1e-5)[0]
    best = optimum(problem, matrix)
    assert oracle_dual(problem, matrix, solution.sigma) - best <= 1e-7 * abs(best) + 1e-9


@pytest.mark.parametrize("prior", [1e-4, 0.1, 0.5, 0.9, 1 - 1e-4])
@pytest.mark.parametrize("lam", [1.0, 1e-2, 1e-4, 1e-6])
def test_gap_for_all_lambdas_and_priors(lam, prior):
    X, P, U = clouds(3000, 8, prior)
    fit = train_linear(pu_problem(prior, lam, P, U), ArrayFeatures(X), tol=1e-5)
    assert fit.solution.status == "optimal"
    assert fit.certificate.relative_gap <= 1e-8


HARD = {
    "scaled columns": lambda X: X * np.logspace(-4, 4, X.shape[1]),
    "columns far from zero": lambda X: X + 1e6,
    "constant columns": lambda X: np.c_[X, np.full((len(X), 2), 7.0)],
    "repeated rows": lambda X: np.round(X),
    "repeated columns": lambda X: np.c_[X, X],
    "float32": lambda X: X.astype(np.float32),
    "more columns than rows": lambda X: np.c_[X, np.random.default_rng(0).normal(size=(len(X), 2500))],
    "sparse, thin": lambda X: sparse.random(len(X), 300, density=0.01, random_state=0, format="csr"),
    "sparse, denser": lambda X: sparse.csr_matrix(np.where(X > 1.0, X, 0.0)),
    "one column": lambda X: X[:, :1],
    "no signal": lambda X: np.ones_like(X),
}


@pytest.mark.parametrize("name", HARD)
def test_badly_scaled_degenerate_and_sparse_tables(name):
    X, P, U = clouds(2000, 8, 0.3)
    X = HARD[name](X)
    problem = pu_problem(0.3, 1e-3, P, U)
    fit = train_linear(problem, ArrayFeatures(X))
    assert fit.solution.status == "optimal"
    assert fit.certificate.relative_gap <= 1e-6
    # the primal of the certificate, term by term in extended precision
    wide = (X.toarray() if sparse.issparse(X) else X).astype(np.longdouble)
    f = wide @ fit.coef.astype(np.longdouble) + fit.solution.beta
    primal = -(problem.b * f[P]).sum() + (problem.c * np.maximum(0, np.maximum(f[U], (1 + f[U]) / 2))).sum()
    primal += 0.5 * (fit.coef.astype(np.longdouble) ** 2).sum()
    assert float(primal) == pytest.approx(fit.certificate.primal, rel=1e-6, abs=1e-6)


def test_rounds_on_some_rows_give_the_optimum_of_all_rows_at_once(monkeypatch):
    X, P, U = clouds(30_000, 6, 0.3)
    problem = pu_problem(0.3, 1e-3, P, U)
    whole = train_linear(problem, ArrayFeatures(X), tol=1e-5)
    monkeypatch.setattr(linear, "_SAMPLE", 500)
    sizes = []
    choose = LinearShard.choose

    def counted(shard, nearest):
        sums = choose(shard, nearest)
        sizes.append(len(shard.chosen))
        return sums

    monkeypatch.setattr(LinearShard, "choose", counted)
    narrowed = train_linear(problem, ArrayFeatures(X), tol=1e-5)
    assert sizes[0] < 5000
    assert narrowed.solution.status == "optimal"
    assert narrowed.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-8)
    np.testing.assert_allclose(narrowed.coef, whole.coef, atol=1e-5)


def test_misleading_sample_does_not_change_the_optimum(monkeypatch):
    """The first half of the rows is distributed differently, and the sample is drawn from it alone."""
    rng = np.random.default_rng(0)
    X, P, U = clouds(20_000, 3, 0.3)
    X[100:10_000] = 5.0 * rng.normal(size=(9900, 3)) - 3.0
    problem = pu_problem(0.3, 1e-3, P, U)
    whole = train_linear(problem, ArrayFeatures(X), tol=1e-5)
    monkeypatch.setattr(linear, "_SAMPLE", 300)

    class Biased:
        def choice(self, n, size, replace):
            return np.arange(size)

    monkeypatch.setattr(np.random, "default_rng", lambda seed: Biased())
    fit = train_linear(problem, ArrayFeatures(X), tol=1e-5)
    assert fit.solution.status == "optimal"
    assert fit.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-8)


def test_any_decision_function_can_be_the_start():
    X, P, U = clouds(5000, 5, 0.3)
    problem = pu_problem(0.3, 1e-3, P, U)
    cold = train_linear(problem, ArrayFeatures(X))
    for coef, beta in ((cold.coef, cold.solution.beta), (np.zeros(5), 0.0), (-100.0 * cold.coef, 50.0)):
        warm = train_linear(problem, ArrayFeatures(X), start=(coef, beta))
        assert warm.solution.status == "optimal"
        assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-6)
    by_sigma = train_linear(problem, ArrayFeatures(X), start=cold.solution.sigma)
    assert by_sigma.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-6)


def test_limits_end_the_fit_with_a_feasible_point():
    X, P, U = clouds(5000, 5, 0.3)
    problem = pu_problem(0.3, 1e-3, P, U)
    for limits, status in (({"max_iter": 3}, "max_iter"), ({"max_time": 1e-9}, "max_time")):
        fit = train_linear(problem, ArrayFeatures(X), **limits)
        assert fit.solution.status == status
        assert fit.certificate.equality_residual <= 1e-12
        assert fit.certificate.gap >= 0
        assert fit.solution.iterations <= 3
    stopped = train_linear(problem, ArrayFeatures(X), tol=1e-9, progress=lambda record, sigma: True)
    assert stopped.solution.status in ("stopped", "optimal")


def test_results_do_not_depend_on_the_order_of_threads():
    X, P, U = clouds(60_000, 10, 0.3)
    problem = pu_problem(0.3, 1e-3, P, U)
    fits = [train_linear(problem, ArrayFeatures(X)) for _ in range(3)]
    assert all((fit.coef == fits[0].coef).all() for fit in fits)
    assert all((fit.solution.sigma == fits[0].solution.sigma).all() for fit in fits)


def test_other_kernels_and_large_wide_tables_are_refused():
    problem, matrix = random_problem(0)
    with pytest.raises(ValueError, match=r"solver='interior-point' needs kernel='linear', got kernel='rbf'"):
        train(problem, matrix, solver="interior-point")
    wide = KernelMatrix(sparse.random(5000, 6000, density=1e-3, format="csr", random_state=0), LINEAR)
    problem = pu_problem(0.5, 1e-3, np.arange(10), np.arange(10, 5000))
    with pytest.raises(ValueError, match=r"at most 4000 columns or rows, got 5000 rows and 6000 columns"):
        train(problem, wide, solver="interior-point")
    assert column_means(ArrayFeatures(wide.X)) is None
