"""The parts of a report: nearest positives and columns, bars, numbers in words."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from tests.oracles import random_table
from usmo import LinearPUSVC
from usmo.report import figures
from usmo.report.explanations import nearest_positives, raising_columns
from usmo.report.formatting import chance, number, percent, score
from usmo.system.words import quantity


@pytest.mark.parametrize("form", [np.asarray, np.float32, sparse.csr_matrix, sparse.csr_array])
def test_nearest_positives_are_those_of_brute_force(form):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, (80, 5)).astype(float) + 1000.0  # many ties, far from the origin
    X[7], X[60] = X[3], X[3]
    rows, positives = np.arange(0, 40), np.arange(40, 80)
    D = cdist(X[rows], X[positives])
    for row, found in zip(D, nearest_positives(form(X), rows, positives), strict=True):
        order = np.lexsort((np.arange(40), row))[:3]
        np.testing.assert_allclose(found.distances, row[order], atol=1e-9)
        assert (np.diff(found.distances) >= 0).all()
    assert nearest_positives(form(X), rows[3:4], positives)[0].distances[0] == 0.0


def test_nearest_positives_of_a_kernel_matrix_are_those_of_its_feature_space():
    X = np.random.default_rng(0).normal(size=(30, 4))
    rows, positives = np.arange(10), np.arange(10, 30)
    plain = nearest_positives(X, rows, positives)
    for K in (X @ X.T, sparse.csr_matrix(X @ X.T)):
        for a, b in zip(plain, nearest_positives(K, rows, positives, precomputed=True), strict=True):
            assert a.rows.tolist() == b.rows.tolist()
            np.testing.assert_allclose(a.distances, b.distances, atol=1e-6)


def test_fewer_positives_than_three_are_all_named():
    X = np.arange(5.0)[:, None]
    found = nearest_positives(X, np.array([0, 1]), np.array([3, 4]))
    assert [f.rows.tolist() for f in found] == [[3, 4], [3, 4]]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_raising_columns_add_up_to_the_score_above_average(form):
    X, known = random_table(0, n=120, p=40, d=3)
    known = known == 1
    linear = LinearPUSVC(0.4).fit(X, known)
    f, unlabelled = linear.decision_function(X), np.flatnonzero(~known)
    best = unlabelled[[int(np.argmax(f[unlabelled]))]]
    ((*found,),) = raising_columns(form(X), linear.coef_[0], best, unlabelled)
    added = linear.coef_[0] * (X[best[0]] - X[unlabelled].mean(axis=0))
    assert added.sum() == pytest.approx(f[best[0]] - f[unlabelled].mean())
    assert [value for _, value in found] == pytest.approx(sorted(added[added > 0], reverse=True)[:3])
    assert [added[j] for j, _ in found] == pytest.approx([value for _, value in found])


def test_bars_count_every_row_once_and_part_at_the_threshold():
    rng = np.random.default_rng(0)
    f_p, f_u = np.r_[rng.normal(1, 1, 50), 0.0], np.r_[rng.normal(-1, 0.5, 500), 1e6, 0.0]
    edges, beyond = figures.bins(f_p, f_u)
    assert 0.0 in edges
    assert beyond >= 1
    at = int(np.flatnonzero(edges == 0.0)[0])
    for f in (f_p, f_u):
        counts = figures.rows_per_bin(f, edges)
        assert counts.sum() == len(f)
        assert counts[at:].sum() == (f > 0).sum()


@pytest.mark.parametrize("f", [np.zeros(3), np.full(3, 2.5), np.array([-1e-9, 0.0, 1e-300]), np.array([-3.0])])
def test_bars_of_equal_or_few_scores_have_room(f):
    edges, _ = figures.bins(f, f)
    assert (np.diff(edges) > 0).all()
    assert np.isfinite(edges).all()
    assert figures.rows_per_bin(f, edges).sum() == len(f)


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0, "0 %"), (1, "100 %"), (0.123, "12 %"), (0.0444, "4.4 %"), (8.8e-6, "0.00088 %"), (0.9999, "99.99 %"),
        (0.996, "99.6 %"),
    ],
)  # fmt: skip
def test_shares_are_said_in_words(share, said):
    assert percent(share).replace("\xa0", " ") == said


def test_numbers_are_said_in_words():
    assert (quantity(1, "row"), quantity(1757, "row")) == ("1 row", "1,757 rows")
    assert (number(-1.2e-13, 2), number(float("nan")), score(-0.25), score(12345.678)) == (
        "−1.2e−13", "–", "−0.250", "1.235e4"
    )  # fmt: skip
    assert (chance(0.999), chance(0.001), chance(0.5)) == (">\xa00.99", "<\xa00.01", "0.50")
