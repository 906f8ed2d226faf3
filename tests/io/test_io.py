"""Tables in and out of files: every format gives back what was written, every broken table says what to do."""

import csv
import gzip
import io
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from usmo.io import Sheet, TableError, labels, need_column, parse_numbers, read, write

FRAME = pl.DataFrame(
    {
        "id": ["a1", "a2", "a3"],
        "age": [38, None, 51],
        "income": [1.5, -2e3, None],
        "note": ['say "hi", ok', None, "two\nlines"],
    }
)


def put(folder, text, name="data.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def numbers(rows, last=()):
    """A table of a number and a letter."""
    return "age,job\n" + "".join(f"{i},x\n" for i in range(rows)) + "".join(f"{line}\n" for line in last)


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
    parts = {"X": X} if form == "dense" else {
        "X_data": S.data, "X_indices": S.indices, "X_indptr": S.indptr, "X_shape": S.shape
    }  # fmt: skip
    np.savez(tmp_path / "t.npz", **parts, y=[1, 0, 0], ids=["a", "b", "c"], feature_names=["left", "right"])
    sheet = read(tmp_path / "t.npz")
    assert sheet.names == ["ids", "y", "left", "right"]
    assert sparse.issparse(sheet.matrix) == (form == "sparse")
    np.testing.assert_array_equal(sheet.column("right"), [2, 0, 5])
    part = sheet.drop(["ids", "left"]).take([2, 0])
    assert part.names == ["y", "right"]
    np.testing.assert_array_equal(part.column("right"), [5, 2])
    np.testing.assert_array_equal(part.column("y"), [0, 1])


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


def test_standard_output_gets_the_same_text_as_a_file(tmp_path, capfdbinary):
    write(FRAME, tmp_path / "t.csv")
    write(FRAME, "-")
    assert capfdbinary.readouterr().out == (tmp_path / "t.csv").read_bytes()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("\ufeffa,b\r\n1,x\r\n2,y\r\n", [(1, "x"), (2, "y")]),
        ("a,b\r1,x\r2,y\r", [(1, "x"), (2, "y")]),
        ("\n\na,b\n1,x\n\n2,y\n\n\n", [(1, "x"), (2, "y")]),
        ('a,b\n1,"x, y"\n2,"x\n""y"""\n', [(1, "x, y"), (2, 'x\n"y"')]),
        ('a,b\n1,5" pipe\n2,y', [(1, '5" pipe'), (2, "y")]),
        ("a;b\n1,5;x\n1.234,25;y\n", [(1.5, "x"), (1234.25, "y")]),
        ("a;b\n1.5;x\n2.25;y\n", [(1.5, "x"), (2.25, "y")]),
        ('a,b\n"1,234.5",x\n2,y\n', [(1234.5, "x"), (2.0, "y")]),
        ("a\tb\n 1 ,5\tx\n2\t y\n", [("1 ,5", "x"), ("2", "y")]),
        ("a|b\n 1 |x\n+2| y\n", [(1, "x"), (2, "y")]),
        (
            "a,b\n1,N/a\n?,y\n-, NA \nnull,z\nnAN,\n",
            [(1, None), (None, "y"), (None, None), (None, "z"), (None, None)],
        ),
        ("a,b\n1,true\n2,false\n", [(1, True), (2, False)]),
        ("a,b\n1,2020-01-31\n2,x\n", [(1, "2020-01-31"), (2, "x")]),
        (" a ,\n1,x\n", [(1, "x")]),
    ],
)  # fmt: skip
def test_dialects_of_csv(tmp_path, text, rows):
    assert read(put(tmp_path, text)).frame.rows() == rows


def test_quoted_separators_and_line_ends_do_not_need_the_slow_reader(tmp_path, monkeypatch):
    monkeypatch.setattr("usmo.io.textfiles._read_slowly", None)
    monkeypatch.setattr("usmo.io.textfiles._SCAN_BYTES", 7)
    assert read(put(tmp_path, 'a,b\n1,"x, y"\n2,"x\n""y"""\n')).frame.rows() == [(1, "x, y"), (2, 'x\n"y"')]


def test_a_late_decimal_does_not_turn_numbers_into_text(tmp_path):
    sheet = read(put(tmp_path, "a\n" + "1\n" * 12_000 + "1.5\nNaN\n"))
    assert sheet.frame["a"].dtype == pl.Float64
    assert sheet.frame["a"].sum() == 12_001.5


def test_columns_named_as_text_stay_as_written(tmp_path):
    sheet = read(put(tmp_path, "id,known,x\n007,1,1\nNA,,2\n010,1,3\n"), text=["id", "known", "elsewhere"])
    assert sheet.column("id").tolist() == ["007", "NA", "010"]
    assert labels(sheet, "known", "1.0").tolist() == [True, False, True]
    assert sheet.frame["x"].dtype == pl.Int64


ERRORS = {
    "empty": ("", r"data\.csv is empty: it needs a header line"),
    "blank": (" \n\n", "is empty"),
    "header only": ("a,b\n", "holds a header line but no rows: add the rows"),
    "mixed": (numbers(15, ["n/a?,x"]), r"data\.csv: line 17: 'n/a\?' in column 'age' stands among numbers"),
    "a word for missing": (numbers(40, ["unknown,x"] * 30), "line 42: 'unknown' in column 'age' stands among"),
    "mixed after quoted lines": ('age,job\n1,"a\nb"\n' + numbers(15, ["?!,x"])[8:], r"line 19: '\?!' in column"),
    "second header": ("age,job\nyears,text\n" + numbers(15)[8:], "line 2: 'years' in column 'age' looks like a"),
    "few fields": ("a,b\n1,2\n3\n4,5\n", "line 3 has 1 fields where the header has 2"),
    "many fields": ('a,b\n1,"x\ny"\n3,4,5\n', "line 4 has 3 fields where the header has 2"),
    "equal sums": ("a,b,c\n1,2\n3,4,5,6\n", "line 2 has 2 fields where the header has 3"),
    "open quote": ('a,b\n1,x\n2,"y\n3,z\n', "line 3 cannot be read .*: close the quote"),
    "open quote at the end": ('a,b\n1,x\n2,"y', "line 3 cannot be read .*: close the quote"),
    "twice": ("a,b,a\n1,2,3\n", "several columns named 'a': give every column"),
    "no header": ("5.1,3.5\n4.9,3.0\n", r"has no header line, it starts with 5\.1: put a line of column names"),
    "latin": (b"a,b\n1,caf\xe9\n", r"line 2 is not UTF-8 text \(byte 0xe9\): .* iconv -f WINDOWS-1252 -t UTF-8 "),
    "latin header": (b"a,caf\xe9\n1,2\n", "line 1 is not UTF-8 text"),
    "utf-16": ("a,b\n1,2\n".encode("utf-16"), "is UTF-16, not UTF-8 text: iconv -f UTF-16"),
    "binary": (b"a,b\n\0\1\n", "is no text"),
    "infinite": ("a,b\n1,2\n3,-inf\n", "line 3: infinite value in column 'b': write a finite number"),
    "overflow": ("a,b\n1,2\n3,1e999\n", "line 3: infinite value in column 'b'"),
    "gzip unnamed": (gzip.compress(b"a,b\n1,2\n"), r"is compressed: rename it to .*data\.csv\.gz"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "message"), ERRORS.values(), ids=ERRORS)
def test_broken_csv_says_where_and_what_to_do(tmp_path, data, message):
    with pytest.raises(TableError, match=message) as caught:
        read(put(tmp_path, data))
    assert "\n" not in str(caught.value)


FILES = {
    "t.csv.gz": (b"a,b\n1,2\n", r"is not compressed with gz: take \.gz off its name"),
    "cut.csv.gz": (gzip.compress(os.urandom(999))[:-20], "is damaged or cut off"),
    "cut.csv.zst": (zstandard.compress(os.urandom(999))[:-20], "is damaged or cut off"),
    "bad.csv.zst": (zstandard.compress(b"a,b")[:4] + b"\xff" * 30, "is damaged or cut off"),
    "t.parquet": (b"PAR1" + b"junk" * 20 + b"PAR1", "is damaged or no Parquet file"),
    "t.feather": (b"ARROW1" + b"junk" * 20, "is damaged or no Feather file"),
    "t.npz": (b"PK\x03\x04junk", r"is damaged or no \.npz file"),
    "t.svm": (b"1 1:2\n-1 2:x\n", "line 2 is not 'label index:value"),
    "t.jsonl": (b'{"a": 1}\n\n{"a":\n', r"line 3 is not JSON \(Expecting value, column 6\)"),
    "list.jsonl": (b'{"a": 1}\n[2]\n', r"line 2 holds no \{\.\.\.\}"),
    "mixed.jsonl": (b'{"a": 1}\n' * 12 + b'{"a": "x"}\n', "line 13: 'x' in column 'a' stands among numbers"),
    "t.xlsx": (b"PK", r"unknown file type of .*t\.xlsx': accepted are \.csv .*\.parquet.*; save the sheet as CSV"),
    "t": (b"a", "unknown file type"),
    "t.parquet.gz": (b"a", "unknown file type"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_broken_file_of_any_format_is_refused(tmp_path, name):
    data, message = FILES[name]
    with pytest.raises(TableError, match=message) as caught:
        read(put(tmp_path, data, name))
    assert "\n" not in str(caught.value)


def test_every_cut_of_a_binary_file_is_refused(tmp_path):
    frame = pl.DataFrame({"a": np.arange(50.0), "b": [str(i) for i in range(50)]})
    for name, save in (("t.parquet", frame.write_parquet), ("t.feather", frame.write_ipc)):
        save(tmp_path / name)
        whole = (tmp_path / name).read_bytes()
        for share in (0.1, 0.5, 0.9, 0.99):
            with pytest.raises(TableError, match="is damaged"):
                read(put(tmp_path, whole[: int(share * len(whole))], name))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"A": [1]}, "holds A, no 'X': name the matrix X"),
        ({"X": [1.0]}, r"X must be a matrix of numbers, got float64 of shape \(1,\)"),
        ({"X": [["a"]]}, "X must be a matrix of numbers"),
        ({"X": [[1.0]], "y": [1, 0]}, "y must hold one value per row of X"),
        ({"X": [[1.0, 2.0]], "feature_names": ["a", "a"]}, "feature_names must be 2 different names"),
        ({"X": [[1.0, np.inf]]}, "row 1: infinite value in column 'x1'"),
        ({"X_data": [1.0], "X_indices": [7], "X_indptr": [0, 1], "X_shape": [1, 2]}, "make no CSR matrix"),
    ],
)
def test_npz_that_is_no_table_is_refused(tmp_path, parts, message):
    np.savez(tmp_path / "t.npz", **parts)
    with pytest.raises(TableError, match=message):
        read(tmp_path / "t.npz")


def test_missing_file_folder_and_format_are_named(tmp_path):
    put(tmp_path, "a\n1\n", "customers.csv")
    with pytest.raises(TableError, match=r"no file '.*custmers\.csv': did you mean 'customers\.csv'\?"):
        read(tmp_path / "custmers.csv")
    with pytest.raises(TableError, match=r"no file '.*nowhere.*': check the path"):
        read(tmp_path / "nowhere" / "t.csv")
    with pytest.raises(TableError, match="is a folder: name a file in it"):
        read(tmp_path)
    with pytest.raises(TableError, match="unknown format 'excel': accepted are"):
        read(tmp_path / "customers.csv", format="excel")


def test_need_column_names_the_nearest(tmp_path):
    sheet = read(put(tmp_path, "known,age\nyes,1\n"))
    need_column(sheet, "age", "--id-column")
    with pytest.raises(
        TableError, match=r"--label-column: no column 'knwon' in .*: did you mean 'known'\? \(columns: k"
    ):
        need_column(sheet, "knwon", "--label-column")
    with pytest.raises(TableError, match=r"no column 'zzz' in .*data\.csv \(columns: known, age\)"):
        sheet.drop(["zzz"])


@pytest.mark.parametrize(
    ("values", "positive", "expected"),
    [
        (["yes", "no", None], "yes", [True, False, False]),
        ([1, 0, None], "1", [True, False, False]),
        ([1, 0, None], "1.0", [True, False, False]),
        ([1.0, -1.0, float("nan")], "+1", [True, False, False]),
        ([True, False, None], "true", [True, False, False]),
        ([True, False, None], "1", [True, False, False]),
        ([1, 0, 0], "True", [True, False, False]),
        (["1", "2", "?"], "1.0", [True, False, False]),
        (["TRUE", "FALSE", ""], "true", [True, False, False]),
        ([" yes", "yes ", "n"], "yes", [True, True, False]),
    ],
)
def test_labels_compare_by_meaning(values, positive, expected):
    assert labels(Sheet(pl.DataFrame({"known": values})), "known", positive).tolist() == expected


def test_labels_that_cannot_be_learnt_from_are_refused():
    sheet = Sheet(
        pl.DataFrame({"known": ["yes"] * 3 + ["no", "NA"] + [f"v{i}" for i in range(12)], "one": [1] * 17})
    )
    message = (
        r"no row has 'yess' in column 'known' of the table: did you mean 'yes'\? \(values: 'yes' in 3 rows, 'no'"
    )
    with pytest.raises(TableError, match=message + r".*'v7' in 1 rows and 4 more\)"):
        labels(sheet, "known", "yess")
    with pytest.raises(TableError, match="no row has 'NA'"):
        labels(sheet, "known", "NA")
    with pytest.raises(TableError, match="all 17 rows have '1' in column 'one' of the table: add rows"):
        labels(sheet, "one", "1")


def test_rows_keep_their_line_through_take_and_filter(tmp_path):
    sheet = read(put(tmp_path, 'a,b\n1,"x\ny"\n2,\n3,z\n'))
    assert [sheet.place(i) for i in range(3)] == ["line 2", "line 4", "line 5"]
    assert sheet.filter([False, True, True]).take([1]).drop(["b"]).place(0) == "line 5"
    assert Sheet(FRAME).take([2]).place(0) == "row 3"
    with pytest.raises(ValueError, match="mask must hold 3 booleans, got int64"):
        sheet.filter([0, 1, 1])


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    put(tmp_path, "old\n")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TableError, match=r"cannot be written \(No space left on device\)"):
        write(FRAME, tmp_path / "data.csv")
    assert os.listdir(tmp_path) == ["data.csv"]
    assert (tmp_path / "data.csv").read_text() == "old\n"
    with pytest.raises(TableError, match="cannot be written"):
        write(FRAME, tmp_path / "nowhere" / "t.csv")
    with pytest.raises(TableError, match="npz is not written: accepted are csv, tsv, parquet, jsonl"):
        write(FRAME, tmp_path / "t.npz")


def test_writing_follows_links_and_does_not_replace_devices(tmp_path):
    path = put(tmp_path, "old\n")
    (tmp_path / "link.csv").symlink_to(path)
    write({"a": [1, 2]}, tmp_path / "link.csv")
    assert path.read_text() == "a\n1\n2\n"
    assert (tmp_path / "link.csv").is_symlink()
    write([{"a": 1}], "/dev/null", format="csv")
    assert not os.path.isfile("/dev/null")


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
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "tables are read and written with Polars: pip install 'usmo[tables]'"


cells = st.one_of(
    st.text(alphabet=" ab\",;\n\t|x'é", max_size=6), st.integers(-99, 99).map(str), st.sampled_from(["NA", "2.5"])
)


@given(st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[cells] * width), min_size=1, max_size=8)))
def test_any_text_survives_csv_and_every_row_knows_its_line(tmp_path_factory, rows):
    """Python's csv module writes, with the quotes that are needed; its line numbers are the oracle."""
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    names = [f"c{i}" for i in range(len(rows[0]))]
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow(names)
        lines = []
        for row in rows:
            stream.flush()
            lines.append(path.read_bytes().count(b"\n") + 1)
            writer.writerow(row)
    sheet = read(path, text=names)
    assert [tuple(cell or "" for cell in row) for row in sheet.frame.rows()] == rows
    assert [sheet.place(i) for i in range(len(rows))] == [f"line {line}" for line in lines]


def test_numbers_in_text_take_the_notation_that_fits_the_column():
    def parsed(*texts, comma=False):
        return parse_numbers(texts, comma=comma)[0].tolist()

    assert parsed("1", "-2.5", "1e3", ".5") == [1, -2.5, 1000, 0.5]
    assert parsed("1,234", "5") == [1234, 5]
    assert parsed("1,234", "5", comma=True) == [1.234, 5]
    assert parsed("1.234,5", "2,25") == [1234.5, 2.25]
    assert np.isnan(parsed("1_000", "x", "nan", "0x1", "")).all()
