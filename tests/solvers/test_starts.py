"""Starting points are feasible for every problem, and near the optimum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fits import train
from tests.oracles import dual, fresh_G, needs_data, paper_problem, random_problem
from usmo.solvers import starts


def check_feasible(problem, sigma):
    assert (sigma >= 0).all()
    assert (sigma <= problem.c).all()
    assert abs(float(problem.imbalance(sigma))) <= 1e-12 * problem.total


priors = st.one_of(st.floats(1e-6, 1 - 1e-6), st.sampled_from([1e-6, 0.5, 1 - 1e-6, 0.8, 0.95]))


@given(st.integers(0, 1000), st.integers(1, 60), st.integers(1, 5), priors, st.sampled_from([1e-6, 1e-2, 10.0]))
def test_paper_start_is_feasible_for_every_size_and_prior(seed, n, p, prior, lam):
    problem, matrix = random_problem(seed, n=n, p=p, prior=prior, lam=lam)
    check_feasible(problem, starts.paper(problem, matrix))
    check_feasible(problem, starts.uniform(problem))


@given(st.integers(0, 1000), st.integers(1, 30), priors)
def test_starts_are_feasible_with_weights(seed, n, prior):
    weight = np.random.default_rng(seed).exponential(size=n + 4) + 1e-6
    problem, matrix = random_problem(seed, n=n, p=4, prior=prior, weight=weight)
    check_feasible(problem, starts.paper(problem, matrix))
    check_feasible(problem, starts.previous(problem, np.random.default_rng(seed).random(n)))


@pytest.mark.parametrize("prior", [0.1, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("n", [50, 1000, 20000])
def test_five_groups_satisfy_equation_initial(n, prior):
    (n1, n2, n3, n4, n5), s2, s4 = starts.group_sizes(n, prior)
    assert n1 + n2 + n3 + n4 + n5 == n
    assert min(n1, n2, n3, n4, n5) >= 1
    assert max(n2, n4) <= np.log(n) + 1
    assert 0 < s2 < 0.5 < s4 < 1
    # the rest, which repair moves, is a small share of the sum
    assert abs(prior * n - (s2 * n2 + 0.5 * n3 + s4 * n4 + n5)) <= 3 + 2 * np.log(n)


def test_no_groups_for_few_rows_or_an_extreme_prior():
    assert starts.group_sizes(5, 0.5) is None
    assert starts.group_sizes(1000, 1e-6) is None


def test_one_class_scores_rank_positives_first():
    problem, matrix = random_problem(0, n=200, p=40, prior=0.5)
    order = np.argsort(starts.one_class_scores(problem, matrix))
    centre = matrix.X[problem.b_rows].mean(axis=0)
    distance = np.linalg.norm(matrix.X[problem.c_rows] - centre, axis=1)
    assert distance[order[-50:]].mean() < distance[order[:50]].mean()


@needs_data
@pytest.mark.parametrize("name", ["isolet", "ionosphere", "house"])
def test_paper_start_is_better_than_the_uniform_one(name):
    problem, matrix = paper_problem(name, "linear", 1e-2)
    assert dual(problem, matrix, starts.paper(problem, matrix)) < dual(problem, matrix, starts.uniform(problem))


def test_thresholds_of_the_optimal_decision_function_give_the_optimal_sigma_of_bound_rows():
    problem, matrix = random_problem(5, n=400, p=20, lam=1e-2)
    best = train(problem, matrix, tol=1e-8)[0]
    sigma = starts.from_scores(problem, fresh_G(problem, matrix, best.sigma) + 17.0)
    check_feasible(problem, sigma)
    bound = ~problem.at(best.sigma).nonbound
    assert np.mean(sigma[bound] == best.sigma[bound]) > 0.95
    assert dual(problem, matrix, sigma) < dual(problem, matrix, starts.uniform(problem))
