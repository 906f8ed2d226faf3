"""The linear solver against the QP library and the other solvers, on hard inputs, and its account."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.fits import train
from tests.oracles import needs_data, optimum, paper_problem, random_problem
from usmo.core.problem import PUProblem
from usmo.core.shards import Here
from usmo.datasets import SMALL
from usmo.fitting.linear import certified, train_linear
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.row_blocks import ArrayFeatures, Blocks, column_means
from usmo.solvers import interior, linear
from usmo.solvers import interior_shards as interior_rows
from usmo.solvers import linear_shards as linear_rows

LINEAR = Kernel("linear")


def clouds(n, d, prior, p=100, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(p + n, d)) + 2.0 / np.sqrt(d) * np.r_[np.ones(p), rng.random(n) < prior][:, None]
    return X, np.arange(p), np.arange(p, p + n)


@needs_data
@pytest.mark.parametrize("name", [name for name in SMALL if name not in ("krvskp", "isolet")])
@pytest.mark.parametrize("lam", [1e-4, 1e-1])
def test_reaches_the_optimum_of_the_qp_library_on_the_papers_tables(name, lam):
    problem, matrix = paper_problem(name, "linear", lam)
    solution, proof = train(problem, matrix, solver="interior-point", tol=1e-5)
    assert solution.status == "optimal"
    best = optimum(problem, matrix)
    assert (oracle_dual(problem, matrix, solution.sigma) - best) / abs(best) <= 1e-7
    assert proof.relative_gap <= 1e-8
    assert proof.equality_residual <= 1e-12


def oracle_dual(problem, matrix, sigma):
    Z = matrix.X[problem.unlabelled].T @ sigma
    q = matrix.X[problem.positives].T @ problem.c1
    return 0.5 * Z @ Z - q @ Z - np.minimum(sigma, problem.c2 - sigma).sum()


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
    solution, _ = train(problem, matrix, solver="interior-point", tol=1e-5)
    best = optimum(problem, matrix)
    assert oracle_dual(problem, matrix, solution.sigma) - best <= 1e-7 * abs(best) + 1e-9


@pytest.mark.parametrize("prior", [1e-4, 0.1, 0.5, 0.9, 1 - 1e-4])
@pytest.mark.parametrize("lam", [1.0, 1e-2, 1e-4, 1e-6])
def test_gap_for_all_lambdas_and_priors(lam, prior):
    X, P, U = clouds(3000, 8, prior)
    fit = train_linear(PUProblem.from_prior(prior, lam, P, U), ArrayFeatures(X), tol=1e-5)
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
def test_hard_tables(name):
    X, P, U = clouds(2000, 8, 0.3)
    X = HARD[name](X)
    problem = PUProblem.from_prior(0.3, 1e-3, P, U)
    fit = train_linear(problem, ArrayFeatures(X))
    assert fit.solution.status == "optimal"
    assert fit.certificate.relative_gap <= 1e-6
    # what the certificate says is so, term by term in extended precision
    wide = (X.toarray() if sparse.issparse(X) else X).astype(np.longdouble)
    f = wide @ fit.coef.astype(np.longdouble) + fit.solution.beta
    primal = -(problem.c1 * f[P]).sum() + (problem.c2 * np.maximum(0, np.maximum(f[U], (1 + f[U]) / 2))).sum()
    primal += 0.5 * (fit.coef.astype(np.longdouble) ** 2).sum()
    assert float(primal) == pytest.approx(fit.certificate.primal, rel=1e-6, abs=1e-6)


def test_narrowing_gives_what_all_rows_at_once_give(monkeypatch):
    X, P, U = clouds(30_000, 6, 0.3)
    problem = PUProblem.from_prior(0.3, 1e-3, P, U)
    whole = train_linear(problem, ArrayFeatures(X), tol=1e-5)
    monkeypatch.setattr(linear, "_SAMPLE", 500)
    sizes = []
    real = linear_rows.choose

    def counted(shard, nearest):
        found = real(shard, nearest)
        sizes.append(len(shard.rows))
        return found

    monkeypatch.setattr(linear_rows, "choose", counted)
    narrowed = train_linear(problem, ArrayFeatures(X), tol=1e-5)
    assert sizes[0] < 5000
    assert narrowed.solution.status == "optimal"
    assert narrowed.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-8)
    np.testing.assert_allclose(narrowed.coef, whole.coef, atol=1e-5)


def test_a_misleading_sample_costs_rounds_but_not_the_optimum(monkeypatch):
    """The first half of the rows is another world; the sample is drawn from it alone."""
    rng = np.random.default_rng(0)
    X, P, U = clouds(20_000, 3, 0.3)
    X[100:10_000] = 5.0 * rng.normal(size=(9900, 3)) - 3.0
    problem = PUProblem.from_prior(0.3, 1e-3, P, U)
    whole = train_linear(problem, ArrayFeatures(X), tol=1e-5)
    monkeypatch.setattr(linear, "_SAMPLE", 300)

    class Biased:
        def choice(self, n, size, replace):
            return np.arange(size)

    monkeypatch.setattr(linear_rows.np.random, "default_rng", lambda seed: Biased())
    found = train_linear(problem, ArrayFeatures(X), tol=1e-5)
    assert found.solution.status == "optimal"
    assert found.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-8)


def test_any_decision_function_is_a_start():
    X, P, U = clouds(5000, 5, 0.3)
    problem = PUProblem.from_prior(0.3, 1e-3, P, U)
    cold = train_linear(problem, ArrayFeatures(X))
    for coef, beta in ((cold.coef, cold.solution.beta), (np.zeros(5), 0.0), (-100.0 * cold.coef, 50.0)):
        warm = train_linear(problem, ArrayFeatures(X), start=(coef, beta))
        assert warm.solution.status == "optimal"
        assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-6)
    by_sigma = train_linear(problem, ArrayFeatures(X), start=cold.solution.sigma)
    assert by_sigma.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-6)


def test_limits_end_the_fit_with_a_feasible_point():
    X, P, U = clouds(5000, 5, 0.3)
    problem = PUProblem.from_prior(0.3, 1e-3, P, U)
    for limits, status in (({"max_iter": 3}, "max_iter"), ({"max_time": 1e-9}, "max_time")):
        fit = train_linear(problem, ArrayFeatures(X), **limits)
        assert fit.solution.status == status
        assert fit.certificate.equality_residual <= 1e-12
        assert fit.certificate.gap >= 0
        assert fit.solution.iterations <= 3
    stopped = train_linear(problem, ArrayFeatures(X), tol=1e-9, progress=lambda record, sigma: True)
    assert stopped.solution.status in ("stopped", "optimal")


def test_standing_in_one_pass_is_what_the_problem_says():
    rng = np.random.default_rng(0)
    problem = PUProblem.from_prior(0.4, 1e-2, np.arange(5), np.arange(5, 105), rng.random(105) + 0.1)
    f = 2.0 * rng.normal(size=100)
    sigma = problem.c2 * rng.choice([0.0, 0.2, 0.5, 0.7, 1.0], 100)
    low, high, slack, concave, nonbound = linear_rows._standing(sigma, f, problem.c2)
    assert max(0.0, high - low) == pytest.approx(problem.kkt_violation(sigma, f))
    assert slack == pytest.approx(problem.gap(sigma, 0.0, f))
    assert concave == pytest.approx(problem.concave_part(sigma))
    assert nonbound == problem.at(sigma).nonbound.sum()


def test_start_lies_on_the_central_path():
    """Every product is μ, and y - z is f + 1 and f - 1."""
    rng = np.random.default_rng(0)
    X, h, mu = rng.normal(size=(50, 3)), rng.random(50) + 0.1, 1e-3
    w, beta = 30.0 * rng.normal(size=3), 0.5
    part = interior_rows.Part(Blocks(ArrayFeatures(X)), 2.0 * h)
    interior_rows.begin(part, w, beta, mu)
    a, b, za, ya, zb, yb = part.S
    f = X @ w + beta
    for side, z, y, shift in ((a, za, ya, 1.0), (b, zb, yb, -1.0)):
        assert ((side > 0) & (side < h)).all()
        np.testing.assert_allclose(side * z, mu, rtol=1e-9)
        np.testing.assert_allclose(y - z, f + shift, rtol=1e-9, atol=1e-9)


def test_normal_equations_are_the_sums_they_stand_for():
    rng = np.random.default_rng(0)
    X, h = rng.normal(size=(700, 4)), rng.random(700) + 0.1
    w, centre = rng.normal(size=4), X.mean(axis=0)
    part = interior_rows.Part(Blocks(ArrayFeatures(X), centre=centre), 2.0 * h)
    found = interior_rows.begin(part, w, 0.2, 1e-2)
    system, right, residual, products = interior._normal_equations(found, rng.normal(size=4), w, 30.0)
    a, b, za, ya, zb, yb = part.S
    E = 1 / (za / a + ya / (h - a)) + 1 / (zb / b + yb / (h - b))
    Z = np.c_[X - centre, np.ones(700)]
    np.testing.assert_allclose(system.M, Z.T @ (E[:, None] * Z) + np.diag([1, 1, 1, 1, 0]), rtol=1e-10)
    assert products == pytest.approx(4 * 700 * 1e-2, rel=1e-9)
    assert residual[-1] == pytest.approx(30.0 - (a + b).sum())
    np.testing.assert_allclose(system.M @ system.solve(right), right, atol=1e-9)


def test_results_do_not_depend_on_the_order_of_threads():
    X, P, U = clouds(60_000, 10, 0.3)
    problem = PUProblem.from_prior(0.3, 1e-3, P, U)
    fits = [train_linear(problem, ArrayFeatures(X)) for _ in range(3)]
    assert all((fit.coef == fits[0].coef).all() for fit in fits)
    assert all((fit.solution.sigma == fits[0].solution.sigma).all() for fit in fits)


def test_other_kernels_are_refused():
    problem, matrix = random_problem(0)
    with pytest.raises(ValueError, match=r"solver='interior-point' needs kernel='linear', got kernel='rbf'"):
        train(problem, matrix, solver="interior-point")
    wide = KernelMatrix(sparse.random(5000, 6000, density=1e-3, format="csr", random_state=0), LINEAR)
    problem = PUProblem.from_prior(0.5, 1e-3, np.arange(10), np.arange(10, 5000))
    with pytest.raises(ValueError, match=r"at most 4000 columns or rows, got 5000 rows and 6000 columns"):
        train(problem, wide, solver="interior-point")
    assert column_means(ArrayFeatures(wide.X)) is None


class Pickling(Here):
    """Shards as on a cluster: whatever goes to them and comes back is pickled; what comes back is counted."""

    def gather(self, work, *args):
        self.most = getattr(self, "most", {})
        work, args = pickle.loads(pickle.dumps((work, args)))
        found = super().gather(work, *args)
        name = args[1].__name__ if work.__name__ == "_inside" else work.__name__
        sizes = [len(pickle.dumps(part)) for part in found]
        self.most[name] = max(self.most.get(name, 0), *sizes)
        return pickle.loads(pickle.dumps(found))


@pytest.mark.parametrize("ends", [[0, 30_100], [0, 4000, 4001, 17_000, 30_100], [0, 100, 30_100]], ids=str)
@pytest.mark.parametrize("kind", ["dense", "sparse", "equal rows"])
def test_shards_give_what_one_table_gives(ends, kind, monkeypatch):
    """Also one that has all labelled rows and no other, and one of a single row."""
    X, P, U = clouds(30_000, 6, 0.3)
    if kind == "equal rows":
        X = np.round(X)
    if kind == "sparse":
        X = sparse.csr_matrix(np.where(np.abs(X) > 1.0, X, 0.0))
    weight = np.random.default_rng(1).random(len(U) + len(P)) + 0.5
    problem = PUProblem.from_prior(0.3, 1e-3, P, U, weight)
    whole = train_linear(problem, ArrayFeatures(X), tol=1e-5)
    monkeypatch.setattr(linear, "_SAMPLE", 500)
    centre = column_means(ArrayFeatures(X))
    shards = []
    for low, high in pairwise(ends):
        mine = [(rows >= low) & (rows < high) for rows in (P, U)]
        own = PUProblem(P[mine[0]] - low, U[mine[1]] - low, problem.c1[mine[0]], problem.c2[mine[1]])
        shards.append(linear_rows.Rows(ArrayFeatures(X[low:high]), own, centre))
    team = Pickling(*shards)
    reached = linear.solve(team, centre, tol=1e-5, gap_tol=1e-8)
    found = certified(team, reached, centre, 1e-5)
    assert found.status == "optimal"
    assert found.certificate.primal == pytest.approx(whole.certificate.primal, rel=1e-8)
    assert found.certificate.equality_residual <= 1e-12
    assert found.certificate.relative_gap <= 1e-8
    np.testing.assert_allclose(found.coef, whole.coef, atol=1e-5)
    assert found.beta == pytest.approx(whole.solution.beta, abs=1e-4)
    sigma = np.concatenate([shard.sigma for shard in shards])
    g = np.asarray(X @ found.coef).ravel()
    proof = problem.certificate(sigma, found.beta, g[P], g[U])
    assert proof.gap == pytest.approx(found.certificate.gap, rel=1e-3, abs=1e-8)
    r = X.shape[1]
    # what comes back from a shard: r² numbers for the normal equations, r for all else in an iteration
    assert team.most["move"] < 8 * (r + 3) * (r + 1) + 500
    assert max(team.most[name] for name in ("predict", "correct")) < 8 * 2 * (r + 1) + 500
    assert max(size for name, size in team.most.items() if name not in ("sample", "distances")) < 20_000


def test_rounding_of_the_sum_is_not_pushed_into_a_row_of_one_shard(monkeypatch):
    """All rows at σ = h is optimal; Σσ is right up to the rounding of all, which is much for a single shard."""
    monkeypatch.setattr(linear, "_SAMPLE", 500)
    rng = np.random.default_rng(0)
    X, n, ends = 0.1 * rng.normal(size=(100_100, 2)), 100_000, np.linspace(0, 100_000, 51).astype(int)
    weight = rng.random(n) + 0.5
    c2 = weight / weight.sum()
    c1 = np.full(100, 0.5 / 100)
    shards = [linear_rows.Rows(ArrayFeatures(X[n:]), PUProblem(np.arange(100), np.arange(0), c1, c2[:0]), None)]
    for low, high in pairwise(ends):
        own = PUProblem(np.arange(0), np.arange(high - low), c1[:0], c2[low:high])
        shards.append(linear_rows.Rows(ArrayFeatures(X[low:high]), own, None))
    reached = linear.solve(Here(*shards), None)
    assert reached.status == "optimal"
    assert len(reached.history) == 1
    assert reached.history[0].nonbound == 0
