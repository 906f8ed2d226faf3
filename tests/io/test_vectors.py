"""Vectors of a .npy file beside a table."""

import numpy as np
import polars as pl
import pytest

from usmo.io import Sheet, TableError
from usmo.io.vectors import with_vectors


def test_vectors_become_a_column_of_the_table(tmp_path):
    np.save(tmp_path / "v.npy", np.arange(6, dtype=np.float32).reshape(3, 2))
    sheet = with_vectors(Sheet(pl.DataFrame({"a": [1, 2, 3]})), str(tmp_path / "v.npy"))
    assert sheet.names == ["a", "embeddings"]
    assert sheet.frame["embeddings"].to_list() == [[0, 1], [2, 3], [4, 5]]
    assert sheet.drop(["a"]).names == ["embeddings"]


@pytest.mark.parametrize(
    ("array", "table", "message"),
    [
        (np.zeros((2, 2)), {"a": [1, 2, 3]}, r"holds 2 numbers for 2 rows, t\.csv has 3 rows"),
        (np.zeros((3, 0)), {"a": [1, 2, 3]}, "holds 0 numbers for 3 rows"),
        (np.zeros(3), {"a": [1, 2, 3]}, r"must hold a matrix of numbers.*float64 of shape \(3,\)"),
        (np.array([["a"]] * 3), {"a": [1, 2, 3]}, r"must hold a matrix of numbers.*<U1"),
        (np.array([[{}]] * 3), {"a": [1, 2, 3]}, "is damaged or not a .npy file"),
        (np.zeros((3, 2)), {"embeddings": [1, 2, 3]}, "has a column 'embeddings' already"),
        (b"no array", {"a": [1, 2, 3]}, "is damaged or not a .npy file"),
        (b"\x93NUMPY\x01\x00v\x00" + b"x" * 118, {"a": [1, 2, 3]}, "is damaged or not a .npy file"),
        (None, {"a": [1, 2, 3]}, "no file"),
    ],
)
def test_files_that_do_not_fit_are_refused(tmp_path, array, table, message):
    path = tmp_path / "v.npy"
    if isinstance(array, bytes):
        path.write_bytes(array)
    elif array is not None:
        np.save(path, array)
    with pytest.raises(TableError, match=message):
        with_vectors(Sheet(pl.DataFrame(table), source="t.csv"), str(path))


def test_a_header_that_claims_more_than_the_file_holds_and_a_matrix_table_are_refused(tmp_path):
    np.save(tmp_path / "v.npy", np.zeros((3, 2)))
    data = (tmp_path / "v.npy").read_bytes().replace(b"(3, 2)", b"(3, 9)")
    (tmp_path / "w.npy").write_bytes(data)
    with pytest.raises(TableError, match="is damaged"):
        with_vectors(Sheet(pl.DataFrame({"a": [1, 2, 3]})), str(tmp_path / "w.npy"))
    with pytest.raises(TableError, match="is a matrix"):
        with_vectors(Sheet(np.eye(3)), str(tmp_path / "v.npy"))
    with pytest.raises(TableError, match="the limit is"):
        with_vectors(Sheet(pl.DataFrame({"a": [1, 2, 3]})), str(tmp_path / "v.npy"), max_bytes=10)
