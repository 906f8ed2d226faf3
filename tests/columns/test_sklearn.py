"""TableEncoder is a scikit-learn transformer."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.tables import SMALL
from usmo.columns import TableEncoder
from usmo.io import Sheet, TableError


@parametrize_with_checks([TableEncoder(), TableEncoder(max_categories=2, unknown="ignore")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "name",
    ["get_feature_names_out_error", "transformer_get_feature_names_out", "transformer_get_feature_names_out_pandas",
     "param_validation", "set_output_transform"],
)  # fmt: skip
def test_checks_that_scikit_learn_runs_on_its_own_transformers(name):
    """Not those of column order, and of a matrix for a data frame: the encoder takes columns by their names."""
    getattr(estimator_checks, f"check_{name}")("TableEncoder", TableEncoder())


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame, lambda columns: Sheet(pl.DataFrame(columns))])
def test_a_data_frame_gives_its_names_and_a_matrix_none(frame):
    encoder = TableEncoder().fit(frame(SMALL))
    assert encoder.n_features_in_ == 4
    assert encoder.feature_names_in_.tolist() == list(SMALL)
    assert encoder.feature_names_in_.dtype == object
    for X in (np.eye(3), sparse.csr_matrix(np.eye(3))):
        encoder.fit(X)
        assert encoder.n_features_in_ == 3
        assert not hasattr(encoder, "feature_names_in_")
    assert not hasattr(TableEncoder(), "feature_names_in_")


def test_columns_of_a_data_frame_are_found_by_name_and_output_keeps_the_names():
    table = pd.DataFrame(SMALL)
    encoder = TableEncoder().set_output(transform="pandas")
    Z = encoder.fit_transform(table)
    assert Z.columns.tolist() == encoder.get_feature_names_out().tolist() == ["age", "job=a", "job=b", "on", "day"]
    pd.testing.assert_frame_equal(encoder.transform(table[table.columns[::-1]]), Z)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], r"got shape \(2,\): Reshape your data"),
        (np.ones((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
        (np.ones((0, 3)), r"0 sample\(s\)"),
        ([[1 + 2j]], "Complex data not supported"),
        (
            [["x" * 10_000]],
            r"not numbers \(could not convert string to float: .{50,90}\): give it as a data frame",
        ),
        ([[1.0], [np.inf]], "infinite values"),
        (sparse.csr_matrix([[np.nan, 0]]), "nan in a CSR matrix"),
    ],
)
def test_matrices_that_cannot_be_encoded_are_refused(X, message):
    with pytest.raises(TableError, match=message):
        TableEncoder().fit(X)
