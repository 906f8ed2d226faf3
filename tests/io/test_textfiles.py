"""CSV in all its dialects is read, and every broken text file is refused by line."""

import csv
import gzip

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import put
from usmo.io import TableError, labels, read


def numbers(rows, last=()):
    """A table of a number and a letter."""
    return "age,job\n" + "".join(f"{i},x\n" for i in range(rows)) + "".join(f"{line}\n" for line in last)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("\ufeffa,b\r\n1,x\r\n2,y\r\n", [(1, "x"), (2, "y")]),
        ("a,b\r1,x\r2,y\r", [(1, "x"), (2, "y")]),
        ("\n\na,b\n1,x\n\n2,y\n\n\n", [(1, "x"), (2, "y")]),
        ('a,b\n1,"x, y"\n2,"x\n""y"""\n', [(1, "x, y"), (2, 'x\n"y"')]),
        ('a,b\n1,5" pipe\n2,y', [(1, '5" pipe'), (2, "y")]),
        ("a;b\n1,5;x\n1.234,25;y\n", [("1,5", "x"), ("1.234,25", "y")]),
        ("a;b\n1,5;1.234\n2,5;5.678\n", [("1,5", "1.234"), ("2,5", "5.678")]),
        ("a;b\n1,5;1.234\n2,5;0.678\n", [("1,5", 1.234), ("2,5", 0.678)]),
        ("a;b\n1.5;x\n2.25;y\n", [(1.5, "x"), (2.25, "y")]),
        ('a,b\n"1,234.5",x\n2,y\n', [("1,234.5", "x"), ("2", "y")]),
        ("a,b\n1,007\n2,012\n", [(1, "007"), (2, "012")]),
        ("a\tb\n 1 ,5\tx\n2\t y\n", [("1 ,5", "x"), ("2", "y")]),
        ("a|b\n 1 |x\n+2| y\n", [(1, "x"), (2, "y")]),
        (
            "a,b\n1,N/a\n?,y\n-, NA \nnull,z\nnAN,\n",
            [(1, None), (None, "y"), (None, None), (None, "z"), (None, None)],
        ),
        ("a,b\n1,true\n2,false\n", [(1, True), (2, False)]),
        ("a,b\n1,2020-01-31\n2,x\n", [(1, "2020-01-31"), (2, "x")]),
        (" a ,\n1,x\n", [(1, "x")]),
        (",\n1,x\n2,y\n", [(1, "x"), (2, "y")]),
        ("Sales of May\n\nregion,2019,2020\nN,1,2\nS,3,4\n", [("N", 1, 2), ("S", 3, 4)]),
    ],
)  # fmt: skip
def test_dialects_of_csv_are_read(tmp_path, text, rows):
    assert read(put(tmp_path, text)).frame.rows() == rows


def test_quoted_separators_and_line_ends_do_not_need_the_csv_module(tmp_path, monkeypatch):
    monkeypatch.setattr("usmo.io.textfiles._read_with_csv_module", None)
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
    "few fields": ("a,b\n1,2\n3\n4,5\n", "line 3 has 1 fields where the header has 2"),
    "many fields": ('a,b\n1,"x\ny"\n3,4,5\n', "line 4 has 3 fields where the header has 2"),
    "equal sums": ("a,b,c\n1,2\n3,4,5,6\n", "line 2 has 2 fields where the header has 3"),
    "open quote": ('a,b\n1,x\n2,"y\n3,z\n', "line 3 cannot be read .*: close the quote"),
    "open quote at the end": ('a,b\n1,x\n2,"y', "line 3 cannot be read .*: close the quote"),
    "no header": ("5.1,3.5\n4.9,3.0\n", r"has no header line, it starts with 5\.1: put a line of column names"),
    "binary": (b"a,b\n\0\1\n", "is not text"),
    "infinite": ("a,b\n1,2\n3,-inf\n", "line 3: infinite value in column 'b': write a finite number"),
    "overflow": ("a,b\n1,2\n3,1e999\n", "line 3: infinite value in column 'b'"),
    "gzip unnamed": (gzip.compress(b"a,b\n1,2\n"), r"is compressed: rename it to .*data\.csv\.gz"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "message"), ERRORS.values(), ids=ERRORS)
def test_broken_csv_says_where_and_what_to_do(tmp_path, data, message):
    with pytest.raises(TableError, match=message) as caught:
        read(put(tmp_path, data))
    assert "\n" not in str(caught.value)


cells = st.one_of(
    st.text(alphabet=" ab\",;\n\t|x'é", max_size=6), st.integers(-99, 99).map(str), st.sampled_from(["NA", "2.5"])
)


@given(st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[cells] * width), min_size=1, max_size=8)))
def test_any_text_survives_csv_and_every_row_keeps_its_line(tmp_path_factory, rows):
    """Python's csv module writes the file; the number of line ends before each row is the oracle."""
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


def test_quoted_decimal_commas_decide_how_other_columns_are_read(tmp_path):
    (tmp_path / "t.csv").write_text('x,y\n"9,098","1,5"\n"11,234","2,5"\n')
    (tmp_path / "p.csv").write_text('x,y\n"9,098",1.5\n"11,234",2.5\n')
    assert [read(tmp_path / name).decimal for name in ("t.csv", "p.csv")] == [",", ""]
