"""Every format reads back what was written; every broken file is refused with what to do."""

import gzip
import io
import os
import subprocess
import sys
import zipfile

import numpy as np
import polars as pl
import pytest
import zstandard
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from tests.tables import put
from usmo.io import TableError, labels, read, write

FRAME = pl.DataFrame(
    {
        "id": ["a1", "a2", "a3"],
        "age": [38, None, 51],
        "income": [1.5, -2e3, None],
        "note": ['say "hi", ok', None, "two\nlines"],
    }
)


@pytest.mark.parametrize(
    "name",
    ["t.csv", "t.csv.gz", "t.csv.zst", "t.tsv", "t.tsv.zst", "t.jsonl", "t.ndjson", "t.jsonl.gz", "t.jsonl.zst",
     "t.parquet", "T.CSV"],
)  # fmt: skip
def test_what_is_written_is_read_back(tmp_path, name):
    write(FRAME, tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    assert read(tmp_path / name).frame.equals(FRAME)


def test_feather_is_read(tmp_path):
    FRAME.write_ipc(tmp_path / "t.feather", compression="lz4")
    assert read(tmp_path / "t.feather").frame.equals(FRAME)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_npz_gives_matrix_label_ids_and_names(tmp_path, form):
    X = np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 5.0]])
    S = sparse.csr_matrix(X)
    arrays = {"X": X} if form == "dense" else {
        "X_data": S.data, "X_indices": S.indices, "X_indptr": S.indptr, "X_shape": S.shape
    }  # fmt: skip
    np.savez(tmp_path / "t.npz", **arrays, y=[1, 0, 0], ids=["a", "b", "c"], feature_names=["left", "right"])
    sheet = read(tmp_path / "t.npz")
    assert sheet.names == ["ids", "y", "left", "right"]
    assert sparse.issparse(sheet.matrix) == (form == "sparse")
    np.testing.assert_array_equal(sheet.column("right"), [2, 0, 5])
    smaller = sheet.drop(["ids", "left"]).take([2, 0])
    assert smaller.names == ["y", "right"]
    np.testing.assert_array_equal(smaller.column("right"), [5, 2])
    np.testing.assert_array_equal(smaller.column("y"), [0, 1])


def test_svmlight_has_its_label_beside_the_matrix(tmp_path):
    X, y = sparse.random(20, 6, 0.5, random_state=0, format="csr"), np.arange(20) % 2 * 2 - 1
    dump_svmlight_file(X, y, str(tmp_path / "t.svm"), zero_based=False)
    sheet = read(tmp_path / "t.svm")
    assert sheet.names == ["label", "x0", "x1", "x2", "x3", "x4", "x5"]
    np.testing.assert_allclose(sheet.matrix.toarray(), X.toarray())
    np.testing.assert_array_equal(labels(sheet, "label", "+1"), y == 1)


def test_standard_input_is_csv_unless_a_format_is_given(monkeypatch):
    def given_bytes(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    given_bytes(b"a,b\n1,x\n")
    assert read("-").frame.rows() == [(1, "x")]
    given_bytes(b'{"a": 1, "b": "x"}\n')
    assert read("-", format="jsonl").frame.rows() == [(1, "x")]
    given_bytes(gzip.compress(b"a,b\n1,x\n"))
    assert read("-").frame.rows() == [(1, "x")]


FILES = {
    "t.csv.gz": (b"a,b\n1,2\n", r"is not compressed with gz: remove \.gz from its name"),
    "cut.csv.gz": (gzip.compress(os.urandom(999))[:-20], "is damaged or cut off"),
    "cut.csv.zst": (zstandard.compress(os.urandom(999))[:-20], "is damaged or cut off"),
    "bad.csv.zst": (zstandard.compress(b"a,b")[:4] + b"\xff" * 30, "is damaged or cut off"),
    "t.parquet": (b"PAR1" + b"junk" * 20 + b"PAR1", "is damaged or not a Parquet file"),
    "t.feather": (b"ARROW1" + b"junk" * 20, "is damaged or not a Feather file"),
    "t.npz": (b"PK\x03\x04junk", r"is damaged or not a \.npz file"),
    "t.svm": (b"1 1:2\n-1 2:x\n", "line 2 is not 'label index:value"),
    "t.jsonl": (b'{"a": 1}\n\n{"a":\n', r"line 3 is not JSON \(Expecting value, column 6\)"),
    "list.jsonl": (b'{"a": 1}\n[2]\n', r"line 2 holds no \{\.\.\.\}"),
    "t.xlsx": (b"PK", r"t\.xlsx is damaged or not a workbook"),
    "t.sav": (b"PK", r"unknown file type of .*t\.sav': accepted are \.csv .*\.parquet.*; save the table as CSV"),
    "t": (b"a", "unknown file type"),
    "t.parquet.gz": (b"a", "unknown file type"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_broken_file_of_any_format_is_refused(tmp_path, name):
    data, message = FILES[name]
    with pytest.raises(TableError, match=message) as caught:
        read(put(tmp_path, data, name))
    assert "\n" not in str(caught.value)


def test_truncated_binary_files_are_refused(tmp_path):
    frame = pl.DataFrame({"a": np.arange(50.0), "b": [str(i) for i in range(50)]})
    for name, save in (("t.parquet", frame.write_parquet), ("t.feather", frame.write_ipc)):
        save(tmp_path / name)
        whole = (tmp_path / name).read_bytes()
        for share in (0.1, 0.5, 0.9, 0.99):
            with pytest.raises(TableError, match="is damaged"):
                read(put(tmp_path, whole[: int(share * len(whole))], name))


@pytest.mark.parametrize("packing", ["uncompressed", "lz4", "zstd"])
def test_forged_sizes_in_feather_files_do_not_end_the_process(tmp_path, packing):
    """Polars ends the process if it cannot allocate a buffer, also a buffer of categories before any row is read."""
    stream = io.BytesIO()
    categories = pl.Series("job", ["admin", "a smith with a long name"] * 6, dtype=pl.Categorical)
    pl.DataFrame({"a": np.arange(12.0), "job": categories}).write_ipc(stream, compression=packing)
    data, refused = stream.getvalue(), 0
    for at in range(0, len(data) - 8, 8):
        try:
            read(put(tmp_path, data[:at] + (2**52).to_bytes(8, "little") + data[at + 8 :], "t.feather"))
        except TableError as error:
            refused += "a column of" in str(error) or "decompressed columns" in str(error)
    assert refused > 3


def test_npz_with_damaged_headers_or_text_is_refused(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(2), feature_names=["a", "b"])
    with np.load(tmp_path / "t.npz") as stored:
        entries = {name: stored.zip.read(name) for name in stored.zip.namelist()}
    names = entries["feature_names.npy"]
    for damaged, message in [
        (names[:-4] + b"\0\0\0\xff", "text with the character number"),
        (names.replace(b"}", b"\0"), "is damaged or not a .npz file of plain arrays"),
    ]:
        with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
            for name, entry in entries.items():
                archive.writestr(name, damaged if name == "feature_names.npy" else entry)
        with pytest.raises(TableError, match=message):
            read(tmp_path / "t.npz")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"A": [1]}, "holds A but no 'X': name the matrix X"),
        ({"X": [1.0]}, r"X must be a matrix of numbers, got float64 of shape \(1,\)"),
        ({"X": [["a"]]}, "X must be a matrix of numbers"),
        ({"X": [[1.0]], "y": [1, 0]}, "y must hold one value per row of X"),
        ({"X": [[1.0, 2.0]], "feature_names": ["a", "a"]}, "feature_names must be 2 different names"),
        ({"X": [[1.0, np.inf]]}, "row 1: infinite value in column 'x1'"),
        ({"X_data": [1.0], "X_indices": [7], "X_indptr": [0, 1], "X_shape": [1, 2]}, "are not a CSR matrix"),
        ({"X_indices": [0], "X_indptr": [0, 2**40, 0], "X_shape": [2, 1]}, "not a CSR matrix .X_indptr falls"),
        (
            {"X_indices": [0], "X_indptr": [0, 2**63 - 1, -2, 1], "X_shape": [3, 1]},
            "not a CSR matrix .X_indptr falls",
        ),
    ],
)
def test_npz_without_a_table_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(TableError, match=message):
        read(tmp_path / "t.npz")


def test_missing_file_folder_and_format_are_named(tmp_path):
    put(tmp_path, "a\n1\n", "customers.csv")
    with pytest.raises(TableError, match=r"no file '.*custmers\.csv': did you mean 'customers\.csv'\?"):
        read(tmp_path / "custmers.csv")
    with pytest.raises(TableError, match=r"no file '.*nowhere.*': check the path"):
        read(tmp_path / "nowhere" / "t.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match="is a folder without tables: name a file"):
        read(tmp_path / "empty")
    with pytest.raises(TableError, match=r"no file matches '.*\*\.parquet'"):
        read(tmp_path / "*.parquet")
    with pytest.raises(TableError, match="unknown format 'excel': accepted are"):
        read(tmp_path / "customers.csv", format="excel")


def test_library_is_loaded_at_the_first_table_only():
    code = """
import sys
import usmo.io
assert "polars" not in sys.modules
sys.modules["polars"] = None
try:
    usmo.io.read("t.csv")
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == 'tables are read and written with Polars: pip install "usmo-learn[tables]"'
