"""Broken and hostile files: each is refused with one line that says what to do, and nothing is executed or changed."""

from __future__ import annotations

import io
import os
import re
import sqlite3
import struct
import zipfile

import polars as pl
import pytest
import xlsxwriter

from tests.tables import put
from usmo.columns import TableEncoder
from usmo.io import TableError, read, write


def book(*sheets):
    """A workbook with a sheet for each list of rows."""
    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream, {"in_memory": True}) as made:
        for rows in sheets:
            sheet = made.add_worksheet()
            for i, row in enumerate(rows):
                sheet.write_row(i, 0, row)
    return stream.getvalue()


def packed(files, **options):
    """A zip archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data, **options)
    return stream.getvalue()


def encrypted(data):
    """An archive whose entry is marked as encrypted."""
    local, central = data.index(b"PK\x03\x04"), data.index(b"PK\x01\x02")
    changed = bytearray(data)
    changed[local + 6] |= 1
    changed[central + 8] |= 1
    return bytes(changed)


def oversized(data, size=2**31 - 1):
    """An archive that claims its entry to be larger than it is."""
    changed, central = bytearray(data), data.index(b"PK\x01\x02")
    changed[central + 24 : central + 28] = struct.pack("<I", size)
    return bytes(changed)


GOOD = b"a,b\n1,x\n2,y\n"
FILES = {
    "page.csv": (b"<!DOCTYPE html><html><table><tr><td>1</td></tr></table>", "a page in HTML or XML: export the table"),
    "login.csv": (b"  <html><body>Please log in</body></html>", "a page in HTML or XML"),
    "feed.csv": (b'<?xml version="1.0"?><rows><row a="1"/></rows>', "a page in HTML or XML"),
    "paper.csv": (b"%PDF-1.7\n" + b"x" * 99, "it is a PDF: save the table"),
    "letter.csv": (b"{\\rtf1 text}", "it is a text document"),
    "sheet.csv": (book([["a"], [1]]), "a zip archive or a workbook: name it .zip, .xlsx or .ods"),
    "old.csv": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 99, "an old workbook: name it .xls"),
    "frame.csv": (b"PAR1" + b"\0" * 99, "a Parquet file: name it .parquet"),
    "arrow.csv": (b"ARROW1" + b"\0" * 99, "a Feather file: name it .feather"),
    "base.csv": (b"SQLite format 3\0" + b"\0" * 99, "an SQLite database: name it .sqlite"),
    "array.csv": (b"\x93NUMPY\x01\0" + b"\0" * 99, "a NumPy array"),
    "spss.csv": (b"$FL2@(#) SPSS DATA FILE" + b"\0" * 99, "an SPSS file: save the table as CSV"),
    "stata.csv": (b"<stata_dta><header>", "a Stata file: save the table as CSV"),
    "bz.csv": (b"BZh91AY" + b"\0" * 99, "compressed with bzip2: decompress it"),
    "xz.csv": (b"\xfd7zXZ\0" + b"\0" * 99, "compressed with xz: decompress it"),
    "seven.csv": (b"7z\xbc\xaf\x27\x1c" + b"\0" * 99, "a 7-Zip archive: unpack it"),
    "odd-utf16.csv": (b"\xff\xfea\0,\0b", "cannot be read as utf-16"),
    "junk.csv": (bytes(range(1, 256)) * 4 + b"\0" * 9, "is not text"),
    "numbers.csv": (b"1.5,2.5\n3.5,4.5\n", "has no header line, it starts with 1.5"),
    "cut.csv": (b"a,b,c\n1,2,3\n4,5\n", "line 3 has 2 fields where the header has 3"),
    "cut-word.csv": (b"a,b,c\n1,2,3\nmore\n", "line 3 has 1 fields where the header has 3"),
    "ragged-title.csv": (b"Report of May\n\na,b,c\n1,2,3\n4,5,6\n7,8\n9,9,9\n",
                         "line 6 has 2 fields where the header has 3"),
    "comma-unquoted.csv": (b"value\n0,5\n1,5\n2,5\n", "line 2 has 2 fields where the header has 1"),
    "prose-unquoted.csv": (b"text\n" + b"Well, this is it, ok\n" * 9, "line 2 has 3 fields where the header has 1"),
    "footer-within.csv": (b"a,b\n1,2\nTotal of page 1\n3,4\n", "line 3 has 1 fields where the header has 2"),
    "only-title.csv": (b"Report of May\n", "holds a header line but no rows"),
    "sep-only.csv": (b"sep=;\r\na;b\r\n", "holds a header line but no rows"),
    "infinite.csv": (b"a,b,c\n1,inf,2\n2,3,-inf\n",
                     "line 2: infinite value in column 'b'; line 3: infinite value in column 'c'.*"
                     "--ignore b --ignore c"),
    "empty.xlsx": (book([]), "has no sheet with cells in it"),
    "header.xlsx": (book([["a", "b"]]), "holds column names but no rows"),
    "damaged.xlsx": (book([["a"], [1]])[:-300], "is damaged or not a workbook"),
    "text.xlsx": (GOOD, "is damaged or not a workbook"),
    "two.zip": (packed({"a.csv": GOOD, "b.csv": GOOD}),
                r"holds 2 tables \('a.csv', 'b.csv'\): name one, as in .*\?table=FILE"),
    "none.zip": (packed({"readme.md": b"x"}), r"holds no table \('readme.md'\)"),
    "empty.zip": (packed({}), r"holds no table \(nothing\)"),
    "damaged.zip": (packed({"a.csv": GOOD})[:-9], "is damaged or not a zip archive.*copy it again"),
    "secret.zip": (encrypted(packed({"a.csv": GOOD})), "is damaged or not a zip archive.*unpack it first"),
    "claims.zip": (oversized(packed({"a.csv": GOOD})), "the decompressed bytes need 2.1 GB|is damaged"),
    "inner.zip": (packed({"a.csv": b"a,b\n1\n"}), r"inner.zip: a.csv: line 2 has 1 fields"),
    "text.sqlite": (b"not a database at all" * 50, "cannot be read as a sqlite database"),
    "text.duckdb": (b"not a database at all" * 50, "cannot be read as a duckdb database"),
    "table.dta": (b"x", "unknown file type of .*; save the table as CSV"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_broken_file_gets_one_line_that_says_what_to_do(tmp_path, name):
    data, message = FILES[name]
    path = put(tmp_path, data, name)
    with pytest.raises(TableError, match=message) as caught:
        read(path)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < len(str(path)) * 2 + 400
    assert path.read_bytes() == data
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(
    "address",
    ["http://a.b/t.csv", "https://a.b/t.csv", "HTTPS://a.b/t.csv", "s3://bucket/t.parquet", "ftp://a.b/t"],
)
def test_addresses_on_the_network_are_refused(address):
    with pytest.raises(TableError, match=f"{re.escape(address)} is an address on the network: download it first"):
        read(address)


def test_tables_that_do_not_exist_are_listed(tmp_path):
    put(tmp_path, book([["a"], [1]], [["b"], [2]]), "t.xlsx")
    put(tmp_path, packed({"a.csv": GOOD}), "t.zip")
    connection = sqlite3.connect(tmp_path / "t.sqlite")
    connection.execute("CREATE TABLE one (a)")
    connection.execute("CREATE VIEW two AS SELECT * FROM one")
    connection.close()
    for source, message in [
        ("t.xlsx?table=x", r"no sheet 'x' in .*t.xlsx: it has 'Sheet1', 'Sheet2'"),
        ("t.zip?table=x", r"no file 'x' in .*t.zip: it has 'a.csv'"),
        ("t.sqlite?table=x'; DROP TABLE one; --", "no table .*: it has 'one', 'two'"),
        ("t.sqlite", r"has 2 tables \('one', 'two'\): name one, as in .*t.sqlite\?table=NAME"),
        ("t.sqlite?table=one", "holds column names but no rows"),
        ("none.sqlite", "no file"),
    ]:
        with pytest.raises(TableError, match=message):
            read(f"{tmp_path}/{source}")


def test_parts_with_other_columns_are_named(tmp_path):
    put(tmp_path, GOOD, "1.csv")
    put(tmp_path, b"a,c\n1,x\n", "2.csv")
    with pytest.raises(TableError, match=r"no column 'b' in .*2.csv.*, which .*1.csv has"):
        read(tmp_path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    bomb = packed({"a.csv": b"a,b\n" + b"1,2\n" * 3_000_000})
    assert len(bomb) < 100_000
    for name in ("bomb.zip", "bomb.xlsx"):
        with pytest.raises(TableError, match=r"decompressed (bytes|sheets) need 12\.0 MB .*raise max_bytes"):
            read(put(tmp_path, bomb, name), max_bytes=1e7)


def test_a_sheet_too_large_for_excel_is_refused(tmp_path):
    with pytest.raises(TableError, match="1,048,576 rows of 1 columns are too many for a sheet"):
        write(pl.DataFrame({"a": pl.zeros(1_048_576, eager=True)}), tmp_path / "t.xlsx")
    assert not os.listdir(tmp_path)


def test_all_columns_that_stop_a_run_are_named_at_once():
    table = pl.DataFrame(
        {"a": ["x", "y", "z"], "b": [[1], [2], [3]], "c": [1.0, float("inf"), 2.0], "d": [1, 2, 4]}
    )
    with pytest.raises(TableError) as caught:
        TableEncoder(kinds={"a": "number", "b": "category"}).fit(table)
    for part in (
        "'a' holds no numbers",
        "--kind a=ignore",
        "'b' of type",
        "--kind b=ignore",
        "in column 'c' is infinite",
        "--ignore c",
    ):
        assert part in str(caught.value)
