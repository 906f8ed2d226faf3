"""Tables and labels that PUSVC accepts: sparse formats, data frames, label values, weights, scales."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse

from tests.oracles import rbf, shuffled_table
from usmo import PUSVC


@pytest.fixture(scope="module")
def table():
    return shuffled_table(0, n=150, p=30, d=4)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_sparse_equals_dense(table, container, kernel):
    X, y = table
    X = X * (np.abs(X) > 0.5)
    dense = PUSVC(0.4, kernel=kernel, tol=1e-7).fit(X, y)
    by_csr = PUSVC(0.4, kernel=kernel, tol=1e-7).fit(container(X), y)
    np.testing.assert_allclose(by_csr.decision_function(container(X)), dense.decision_function(X), atol=1e-5)
    assert sparse.issparse(by_csr.support_vectors_)


def test_unsorted_duplicated_and_int64_sparse_indices(table):
    X, y = table
    plain = sparse.csr_matrix(X)
    odd = sparse.csr_matrix(
        (np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2).astype(np.int64), plain.indptr * 2),
        shape=X.shape,
    )
    for k in range(X.shape[0]):  # the entries of each row in reverse order
        part = slice(odd.indptr[k], odd.indptr[k + 1])
        odd.indices[part], odd.data[part] = odd.indices[part][::-1].copy(), odd.data[part][::-1].copy()
    odd.indices, odd.indptr = odd.indices.astype(np.int64), odd.indptr.astype(np.int64)
    odd.has_sorted_indices = odd.has_canonical_format = False
    stored = odd.data.copy()
    expected = PUSVC(0.4, tol=1e-7).fit(X, y).decision_function(X)
    np.testing.assert_allclose(PUSVC(0.4, tol=1e-7).fit(odd, y).decision_function(odd), expected, atol=1e-5)
    np.testing.assert_array_equal(odd.data, stored)


def test_model_of_dense_rows_far_from_the_origin_predicts_sparse_rows(table):
    X, y = table
    model = PUSVC(0.4, gamma=1.0).fit(X + 1e4, y)
    for container in (sparse.csr_matrix, sparse.csr_array):
        np.testing.assert_allclose(
            model.decision_function(container(X + 1e4)), model.decision_function(X + 1e4), atol=1e-6
        )


def test_callable_may_return_a_sparse_block(table):
    X, y = table
    one = PUSVC(0.4, kernel=lambda A, B: sparse.csr_matrix(rbf(A, B, 0.3)), tol=1e-6).fit(X, y)
    two = PUSVC(0.4, gamma=0.3, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True), ("a", "b"), (2.0, 3.0)])
def test_greater_value_marks_positives_and_predict_returns_the_values(table, labels):
    X, y = table
    named = np.where(y == 1, labels[1], labels[0])
    text = pytest.warns(UserWarning, match="y holds text") if isinstance(labels[0], str) else nullcontext()
    with text:
        model = PUSVC(0.4).fit(X, named)
    assert model.classes_.tolist() == list(labels)
    np.testing.assert_array_equal(model.predict(X) == labels[1], PUSVC(0.4).fit(X, y).predict(X) == 1)


def test_column_names_of_data_frames_are_kept(table):
    pandas = pytest.importorskip("pandas")
    X, y = table
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = PUSVC(0.4).fit(frame, pandas.Series(y))
    assert model.feature_names_in_.tolist() == list("abcd")


def test_weight_zero_equals_absence_and_weight_two_equals_two_rows(table):
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
    one, two = (PUSVC(0.4, tol=1e-8).fit(X, y, sample_weight=scale * weight) for scale in (1.0, 1e6))
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-5)


def test_weights_of_any_size_and_float32_of_any_scale(table):
    X, y = table
    plain = PUSVC(0.4, tol=1e-6).fit(X, y)
    for size in (1e308, 1e-307):
        heavy = PUSVC(0.4, tol=1e-6).fit(X, y, sample_weight=np.full(len(y), size))
        np.testing.assert_allclose(heavy.decision_function(X), plain.decision_function(X), atol=1e-4)
    for size in (1e25, 1e-25):
        scaled = PUSVC(0.4).fit((X * size).astype(np.float32), y)
        f = scaled.decision_function((X * size).astype(np.float32))
        np.testing.assert_allclose(f, plain.decision_function(X), atol=1e-2)


def test_permuted_rows_give_the_same_estimated_prior_and_model(table):
    X, y = table
    order = np.random.default_rng(3).permutation(len(y))
    one, two = PUSVC(tol=1e-8).fit(X, y), PUSVC(tol=1e-8).fit(X[order], y[order])
    assert one.prior_ == pytest.approx(two.prior_, rel=1e-9)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-5)
