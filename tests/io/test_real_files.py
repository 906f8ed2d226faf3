"""Files as programs write them: what is recognised in each.

The folder ``files`` holds the text files. A case names a file, its number of rows, its columns (name, kind, notation
and the value of the first row, dates as ISO days with a fraction) and a part of what is said while reading.
"""

from __future__ import annotations

import io
import sqlite3
import zipfile
from datetime import date, datetime
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import numpy as np
import polars as pl
import pytest
import xlsxwriter

from tests.tables import put
from usmo.columns import TableEncoder
from usmo.io import read, write

FILES = Path(__file__).parent / "files"

CASES = [
    ("excel-english.csv", 14,
     "Customer ignored; Income number .$ 2310.5; Start date month-first 2020-03-20; "
     "Active boolean 1",
     ""),
    ("excel-german.csv", 14,
     "Kunde ignored; Einkommen number ,€ 2310.5; Beginn date day-first 2020-03-20; "
     "Ort category Köln",
     "cp1252"),
    ("excel-german-utf8-bom.csv", 14, "Menge number . 12; Preis number , 2310.5", ""),
    ("excel-french.csv", 14, "Montant number ,€ 2310.5; Taux number ,% 6; Actif boolean 1", "cp1252"),
    ("excel-swiss.csv", 14, "Betrag number .CHF 2310.5; Datum date day-first 2020-03-20", ""),
    ("excel-sep-line.csv", 14, "a number . 12; b number , 2310.5", ""),
    ("excel-unicode-text.txt", 14, "Stadt category Köln; Umsatz number , 2310.5", "UTF-16"),
    ("excel-title-padded.csv", 14,
     "Region category N; Units number . 12; Revenue number . 2310.5; Share number .% 12",
     "above the header"),
    ("excel-accounting.csv", 14, "Account category A; Balance number .$ -2310.5", ""),
    ('excel-errors.csv', 14, 'x number . 12; y number . 2310.5', "'#N/A' counts as missing in 'x'"),
    ("excel-mac-cr.csv", 14, "x number . 12; y number . 2310.5", ""),
    ("excel-month-names.csv", 14, "When date month-name 2020-03-20; Paid number . 12", ""),
    ("excel-long-date.csv", 14, "When date month-name 2020-03-20; n number . 12", ""),
    ('r-write-csv.csv', 14, 'column 1 ignored; age number . 32; income number . 2310.5; job category a',
     "'NA' counts as missing in 'income'"),
    ("r-write-csv2.csv", 14, "column 1 ignored; alter number . 32; einkommen number , 2310.5", ""),
    ("r-write-table.txt", 14, "row ignored; age number . 32; income number . 2310.5; job category a", ""),
    ("r-logical.csv", 14, "ok boolean 1; x number . 12", ""),
    ("r-posixct.csv", 14, "t date year-first 2020-03-20.5; x number . 12", ""),
    ("pandas-index.csv", 14, "column 1 ignored; age number . 32; score number . 2310.5", ""),
    ("pandas-unnamed.csv", 14, "Unnamed: 0 ignored; age number . 32", ""),
    ("pandas-float-ids.csv", 14, "customer_id number . 100000; x number . 12", ""),
    ("pandas-timezone.csv", 14, "at date year-first 2020-03-20; x number . 12", ""),
    ('pandas-duplicates.csv', 14, 'x number . 12; x_2 number . 2310.5; y category a', "'x_2'"),
    ("polars-null.csv", 14, "a number . None; b number . 2310.5", ""),
    ("jupyter-percent.tsv", 14, "rate number .% 18; n number . 12", ""),
    ("sap-list.txt", 14, "Material category M0; Menge number , 1200; Wert number , 2310.5", "above the header"),
    ("sap-dates.csv", 14, "BUDAT date compact 2020-03-20; DMBTR number , 2310.5", ""),
    ("sap-trailing-minus.csv", 14, "Konto category A; Saldo number , -2310.5", ""),
    ("sap-leading-zeros.csv", 14, "KUNNR category 0000000001; LAND category FR; NETWR number . 2310.5", ""),
    ("psql-aligned.txt", 14, "id number . 0; amount number . 2310.5; ok boolean 1", "below the table"),
    ('mysql-dump.tsv', 14, 'age number . 32; city category Köln', "counts as missing in 'age'"),
    ("oracle-sqlplus.csv", 14, "HIREDATE date month-name 2020-03-20; SAL number . 2310.5", "below the table"),
    ("sqlite-shell-pipe.txt", 14, "age number . 32; job category a; pay number . 2310.5", ""),
    ("mssql-guid.csv", 14, "RowGuid ignored; Qty number . 12", ""),
    ("postgres-copy.csv", 14, "ts date year-first 2020-03-20; v number . 12", ""),
    ("hive-text.csv", 14, "dt date year-month 2020-03-01; n number . 12", ""),
    ("qualtrics.csv", 14,
     "StartDate date year-first 2020-03-20.416667; Q1 number . 32; Q2 number . 1",
     "is no row of the table"),
    ("survey-words.csv", 24, "smoker boolean 1; age number . 32; weight number .kg 72", ""),
    ("survey-units-row.csv", 14, "age number . 32; height number . 162", "is no row of the table"),
    ('limesurvey.csv', 14, 'Antwort-ID ignored; Alter number . 32; Teilnahme boolean 1',
     "'keine Angabe' counts as missing"),
    ("spss-export.csv", 14, "geschl number . 1; alter number . 32; gewicht number , 72.5", ""),
    ('stata-outsheet.csv', 14, 'make category Buick; price number . 2310; rep78 number . 1', "'.' counts as missing"),
    ("sas-date9.csv", 14, "visit date month-name 2020-03-20; sbp number . 122", ""),
    ("redcap.csv", 14, "record_id ignored; dob date year-first 2020-03-20; bmi number . 21.2", ""),
    ("google-forms.csv", 14, "Timestamp date month-first 2020-03-20.75; Agree? boolean 1; Hours number . 12", ""),
    ("bank-german.csv", 14,
     "Buchungstag date day-first 2020-03-20; Betrag number , -2310.5; Währung category USD; "
     "Saldo number , 12310.5",
     "above the header"),
    ("bank-thousands.csv", 14, "Umsatz number , 12100; Faktor number , 3", ""),
    ("shop-prices.csv", 14, "price number , 12.5; stock number . 12", ""),
    ("stripe-export.csv", 14,
     "Created (UTC) date year-first 2020-03-20.5; Amount number . 2310.5; Currency category eur",
     ""),
    ("indian-lakh.csv", 14, "amount number .₹ 112100.5; n number . 12", ""),
    ("zip-codes.csv", 14, "Zip Code category 2139; income number . 2310", ""),
    ("phone-time.csv", 14, "duration number .h:mm 12.5; calls number . 12", ""),
    ("twitter-time.csv", 14, "created date month-name 2020-03-20.75; n number . 12", ""),
    ("lab-values.csv", 14, "crp number . 1.2; glucose number .mg/dl 92", ""),
    ("cyrillic.csv", 14, "город category Казань; доход number , 2310.5", "cp1251"),
    ("shift-jis.csv", 14, "都市 category 大阪; 人口 number . 12", "cp932"),
    ("polish.csv", 14, "miasto category Kraków; kwota number ,zł 2310.5", "cp1250"),
    ("log-export.jsonl", 14, "at date year-first 2020-03-20; cost number .$ 2310.5; ok boolean 1", ""),
]  # fmt: skip


def days(text):
    """Days since 1970 of an ISO day with a fraction, 2020-03-20.75."""
    return (date.fromisoformat(text[:10]) - date(1970, 1, 1)).days + float(f"0{text[10:]}")


def first_value(encoder, Z, schema):
    """The value of the first row of a column, computed back from the encoded table."""
    names = encoder.get_feature_names_out().tolist()
    if schema["kind"] == "category":
        hot = [category for category in schema["categories"] if Z[0, names.index(f"{schema['name']}={category}")]]
        return hot[0]
    if schema["missing"] and Z[0, names.index(f"{schema['name']}=(missing)")]:
        return None
    return Z[0, names.index(schema["name"])] * schema["scale"] + schema["mean"]


def check(path, rows, columns, note):
    sheet = read(path)
    assert sheet.n_rows == rows
    assert note in "\n".join(sheet.remarks())
    encoder = TableEncoder().fit(sheet)
    Z = encoder.transform(sheet)
    expected = [each.strip() for each in columns.split(";")]
    assert len(encoder.columns_) == len(expected), encoder.summary()
    for schema, each in zip(encoder.columns_, expected, strict=True):
        name = schema["name"]
        assert each.startswith(f"{name} "), f"{name} is not {each}"
        kind, *more = each[len(name) + 1 :].split(" ")
        assert schema["kind"] == kind, encoder.summary()
        if kind == "ignored":
            continue
        value = first_value(encoder, Z, schema)
        if kind in ("number", "date"):
            assert schema["notation"] == more[0], encoder.summary()
        if more[-1] == "None" or kind == "category":
            assert value == (None if more[-1] == "None" else more[-1])
        else:
            assert value == pytest.approx(days(more[-1]) if kind == "date" else float(more[-1]), abs=1e-5)


@pytest.mark.parametrize(("name", "rows", "columns", "note"), CASES, ids=[case[0] for case in CASES])
def test_text_files_of_real_programs_are_recognised(name, rows, columns, note):
    check(FILES / name, rows, columns, note)


def test_every_file_has_a_case():
    assert sorted(case[0] for case in CASES) == sorted(path.name for path in FILES.iterdir())


N = 12
TABLE = {
    "price": [f"${1000 * i + 500:,}.25" for i in range(N)],
    "day": [f"{i + 13}.05.2020" for i in range(N)],
    "city": ["Bonn", "Trier"] * 6,
}
COLUMNS = "price number .$ 500.25; day date day-first 2020-05-13; city category Bonn"


def workbook(*, title=False, sheets=("Data",)):
    """A workbook with numbers, dates, booleans and text."""
    stream = io.BytesIO()
    with xlsxwriter.Workbook(stream, {"in_memory": True}) as book:
        day = book.add_format({"num_format": "dd.mm.yyyy"})
        for name in sheets:
            sheet, top = book.add_worksheet(name), 3 * title
            if title:
                sheet.write(0, 0, "Sales of 2020")
            sheet.write_row(top, 0, ["amount", "when", "ok", "code", "note", "amount"])
            for i in range(N):
                sheet.write(top + 1 + i, 0, 1.5 * i)
                sheet.write_datetime(top + 1 + i, 1, datetime(2020, 3, 20 - i), day)
                sheet.write_boolean(top + 1 + i, 2, i % 2 == 0)
                sheet.write(top + 1 + i, 3, f"00{i % 3}")
                sheet.write(top + 1 + i, 4, "n.a." if i == 3 else i % 5)
                sheet.write(top + 1 + i, 5, i % 4)
    return stream.getvalue()


def ods():
    """A sheet of OpenDocument as LibreOffice writes it: typed cells, repeated empty rows and columns."""
    rows = [["number", "day", "word"], *([float(i % 5), f"2020-03-{i + 1:02d}", "ab"[i % 2]] for i in range(N))]

    def cell(value, column):
        kind = "float" if isinstance(value, float) else "date" if column == 1 and value[:2] == "20" else "string"
        stored = {"float": f'office:value="{value}"', "date": f'office:date-value="{value}"'}.get(kind, "")
        return f'<table:table-cell office:value-type="{kind}" {stored}><text:p>{value}</text:p></table:table-cell>'

    body = "".join(f"<table:table-row>{''.join(map(cell, row, range(3)))}</table:table-row>" for row in rows)
    space = "urn:oasis:names:tc:opendocument:xmlns"
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="{space}:office:1.0" '
        f'xmlns:table="{space}:table:1.0" xmlns:text="{space}:text:1.0" office:version="1.2"><office:body>'
        f'<office:spreadsheet><table:table table:name="Sheet1">{body}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", f'<manifest:manifest xmlns:manifest="{space}:manifest:1.0"/>')
        archive.writestr("content.xml", content)
    return stream.getvalue()


CELLS = (
    "amount number . 0; when date year-first 2020-03-20; ok boolean 1; code category 000; note number . 0; "
    "amount_2 number . 0"
)


def test_workbooks_are_read(tmp_path):
    check(put(tmp_path, workbook(), "plain.xlsx"), N, CELLS, "'n.a.' counts as missing in 'note'")
    check(
        put(tmp_path, workbook(title=True), "title.xlsx"),
        N,
        CELLS,
        "above the header are left out: 'Sales of 2020'",
    )
    check(
        put(tmp_path, workbook(sheets=("Data", "More")), "two.xlsx"), N, CELLS, "sheet 'Data' is read, not 'More'"
    )
    assert read(f"{tmp_path}/two.xlsx?table=More").n_rows == N
    check(
        put(tmp_path, ods(), "libre.ods"),
        N,
        "number number . 0; day date year-first 2020-03-01; word category a",
        "",
    )


def test_text_in_workbooks_is_never_a_formula(tmp_path):
    hostile = ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "http://a.b"]
    write({"cell": hostile, "x": [1.5, None, 2.0, float("nan"), 3.0, 4.0]}, tmp_path / "t.xlsx")
    with zipfile.ZipFile(tmp_path / "t.xlsx") as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in sheet
    assert "hyperlink" not in sheet
    assert read(tmp_path / "t.xlsx", text=["cell"]).column("cell").tolist() == hostile


def test_numbers_in_workbooks_have_no_format_of_their_own(tmp_path):
    table = {
        "year": [2019, 1946],
        "probability": [0.00001, 0.25],
        "loss": [-1.5, None],
        "day": [date(2024, 5, 6)] * 2,
    }
    write(pl.DataFrame(table), tmp_path / "t.xlsx")
    with zipfile.ZipFile(tmp_path / "t.xlsx") as archive:
        sheet, styles = (
            ElementTree.fromstring(archive.read(f"xl/{name}.xml")) for name in ("worksheets/sheet1", "styles")
        )
    own = {"m": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    formats = [each.get("numFmtId") for each in styles.findall("m:cellXfs/m:xf", own)]
    cells = {cell.get("r"): cell for cell in sheet.findall(".//m:c", own)}
    shown = {place: formats[int(cell.get("s", "0"))] for place, cell in cells.items() if place[1:] != "1"}
    assert {shown[place] for place in ("A2", "A3", "B2", "B3", "C2")} == {"0"}  # General
    assert shown["D2"] != "0"  # else a date is a number


def test_workbooks_keep_all_digits_of_long_integers(tmp_path):
    table = {
        "card": [4539123456789013, None],
        "low": [-(10**15), 1],
        "count": [10**15 - 1, 3],
        "none": [None, None],
    }
    frame = pl.DataFrame(table, schema=dict.fromkeys(table, pl.Int64))
    write(frame, tmp_path / "t.xlsx")
    with zipfile.ZipFile(tmp_path / "t.xlsx") as archive:
        sheet, texts = (archive.read(f"xl/{name}.xml").decode() for name in ("worksheets/sheet1", "sharedStrings"))
    assert "<t>4539123456789013</t>" in texts
    assert "<t>-1000000000000000</t>" in texts
    assert "<v>999999999999999</v>" in sheet


def test_archives_and_databases_are_read(tmp_path):
    text = pl.DataFrame(TABLE).write_csv().encode()
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("folder/table.csv", text)
        archive.writestr("__MACOSX/folder/._table.csv", b"junk")
        archive.writestr("README.md", b"about")
    check(tmp_path / "t.zip", N, COLUMNS, "")
    for connect, name in ((sqlite3.connect, "t.sqlite"), (duckdb.connect, "t.duckdb")):
        connection = connect(str(tmp_path / name))
        connection.execute('CREATE TABLE "a b" (price TEXT, day TEXT, city TEXT)')
        connection.executemany('INSERT INTO "a b" VALUES (?, ?, ?)', list(zip(*TABLE.values(), strict=True)))
        connection.commit()
        connection.close()
        check(tmp_path / name, N, COLUMNS, "")
        before = (tmp_path / name).read_bytes()
        kind = name.removeprefix("t.")
        assert read(f"{kind}:///{tmp_path}/{name}?table=a b").n_rows == N
        assert (tmp_path / name).read_bytes() == before


def test_folders_and_patterns_are_one_table(tmp_path):
    frame = pl.DataFrame(TABLE)
    (tmp_path / "parts").mkdir()
    for k in range(3):
        write(frame[4 * k : 4 * k + 4], tmp_path / "parts" / f"part-{k}.csv")
        frame[4 * k : 4 * k + 4].write_parquet(tmp_path / f"part-{k}.parquet")
    put(tmp_path / "parts", "about", "notes.md")
    check(tmp_path / "parts", N, COLUMNS, "")
    check(tmp_path / "part-*.parquet", N, COLUMNS, "")
    sheet = read(tmp_path / "parts" / "part-*.csv")
    assert sheet.place(5).endswith("part-1.csv: line 3")
    assert read(tmp_path / "part-*.parquet").place(5).endswith("part-1.parquet: row 2")


def test_a_new_file_is_read_in_the_notation_of_the_training_file(tmp_path):
    """The new file alone would be read otherwise: 1.500 as 1.5, 3/4/2020 as 3 April, 007 as 7."""
    rows = [f"{i + 1}.000,5;{i % 9 + 1}/{13 + i}/2020;{'007' if i % 2 else '012'}" for i in range(N)]
    train = put(tmp_path, "a;b;c\n" + "\n".join(rows), "train.csv")
    new = put(tmp_path, "a;b;c\n1.500;3/4/2020;007\n", "new.csv")
    encoder = TableEncoder().fit(read(train))
    assert [schema["notation"] for schema in encoder.columns_[:2]] == [",", "month-first"]
    Z = encoder.transform(read(new, text=encoder.unparsed()))
    a, b = encoder.columns_[:2]
    assert Z[0, 0] * a["scale"] + a["mean"] == pytest.approx(1500)
    assert Z[0, 1] * b["scale"] + b["mean"] == pytest.approx(days("2020-03-04"))
    assert np.flatnonzero(Z[0, 2:]).tolist() == [0]
