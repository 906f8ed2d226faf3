"""Tables as they come, from the command line: what is said, and that new tables are read as the training table was."""

import json

import numpy as np
import polars as pl
import pytest
import xlsxwriter

from tests.cli.command_line import called, program, rows_of
from usmo.cli import main
from usmo.cli.task import row_names
from usmo.io import Sheet, read
from usmo.io.labels import label_kinds, label_remarks

FIXED = ["--label-column", "known", "--positive", "yes", "--prior", "0.3", "--lam", "0.1"]


def german(rows=80, seed=0, first="C000"):
    """A table of a German program: Windows-1252, a title, decimal commas, days first, a few odd cells."""
    rng = np.random.default_rng(seed)
    known = np.arange(rows) < rows // 4
    income = 3000 + 1500 * known + 400 * rng.normal(size=rows)
    lines = ["Übersicht der Kunden", "", "Größe;Einkommen;Beginn;PLZ;Fehlt;known"]
    for i in range(rows):
        money = f"{income[i]:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".") + " €"
        day = f"{i % 28 + 1:02d}.{i % 12 + 1:02d}.2020"
        label = "yes" if known[i] else ""
        gap = -999 if i % 7 == 0 else i % 5
        lines.append(f"{rng.integers(150, 200)} cm;{'>50' if i == 9 else money};{day};0{i % 3}123;{gap};{label}")
    return "\r\n".join(lines).encode("cp1252")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "kunden.csv").write_bytes(german())
    return tmp_path


def said_by(capfd, *arguments):
    capfd.readouterr()
    assert main([str(each) for each in arguments]) == 0
    return capfd.readouterr().err


def test_what_was_decided_is_said_and_new_rows_are_read_alike(folder, capfd):
    model, output = folder / "m.usmo", folder / "out.xlsx"
    said = said_by(
        capfd, "rank", folder / "kunden.csv", *FIXED, "--missing", "-999", "--model", model, "--output", output
    )
    for part in (
        "read as cp1252", "2 lines above the header are left out: 'Übersicht der Kunden'",
        "'-999' counts as missing in 'Fehlt'", "Größe: number in cm",
        "Einkommen: number in €, decimal comma (1 missing", "1 are not numbers and count as missing: '>50'",
        "Beginn: date, day first", "PLZ: 3 categories", "Fehlt: number (12 missing",
    ):  # fmt: skip
        assert part in said, part
    ranking = read(output).frame
    assert ranking.height == 60
    scores = rows_of(called(capfd, "predict", model, folder / "kunden.csv"))
    first = ranking.row(0, named=True)
    key = "row" if "row" in first else "id"
    assert float(scores[int(first[key]) - 1]["score"]) == pytest.approx(first["score"])
    (folder / "neu.csv").write_text(
        "Größe;Einkommen;Beginn;PLZ;Fehlt\n170 cm;3.000;01.02.2020;00123;-999\n1;x;1.2.20;01123;2\n"
    )
    said = said_by(capfd, "predict", model, folder / "neu.csv", "--output", folder / "neu.out.csv")
    assert "count as missing: 1 in 'Einkommen' ('x')" in said


def test_kinds_and_folders_are_options_of_every_command(folder, capfd):
    (folder / "parts").mkdir()
    for k in range(2):
        (folder / "parts" / f"{k}.csv").write_bytes(german(seed=k))
    options = [*FIXED, "--kind", "PLZ=ignore", "--kind", "Fehlt=category", "--encoding", "cp1252", "--dry-run"]
    for command in ("rank", "fit"):
        extra = ["--model", folder / "m.usmo"] if command == "fit" else []
        plan = json.loads(called(capfd, command, folder / "parts", *options, *extra))
        assert plan["rows"] == 160
        assert "PLZ: ignored, as asked" in plan["columns"]
        assert "Fehlt: 6 categories" in plan["columns"]
    assert json.loads(called(capfd, "prior", folder / "parts" / "*.csv", *FIXED[:4], "--dry-run"))["rows"] == 160


MAYBE = "count as unlabelled, as empty cells do; if they are known negatives, say so with --negative"


@pytest.mark.parametrize(
    ("values", "options", "remarks"),
    [
        (["yes", None, None], {}, []),
        ([1, 0, 0], {"positive": "1"}, []),
        (["yes", "no", "no"], {}, []),
        (["yes", "Yes", "YES ", "y", None], {},
         ["'Yes' (1 row), 'YES ' (1 row), 'y' (1 row) count as positive, as 'yes' does"]),
        (["yes", "yess", None], {}, ["'yess' (1 row) count as unlabelled; misspelt 'yes'? Then correct them"]),
        (["yes", "no", "no", None], {}, [f"'no' (2 rows) {MAYBE} no"]),
        (["yes", "maybe", "-1", None], {}, [f"'maybe' (1 row), '-1' (1 row) {MAYBE} -1"]),
        (["yes", "no", "open"], {},
         ["'no' (1 row), 'open' (1 row) count as unlabelled; 'no' may mean known negatives: --negative no"]),
        (["yes", "No", "no", None], {"negative": "no"}, ["'No' (1 row) count as negative, as 'no' does"]),
        ([1, -1, 0, 0], {"positive": "1"},
         ["'0' (2 rows), '-1' (1 row) count as unlabelled; '-1' may mean known negatives: --negative -1"]),
        (["yes", "unknown", None], {}, []),
    ],
)  # fmt: skip
def test_values_of_the_label_column_are_listed_with_what_they_count_as(values, options, remarks):
    sheet = Sheet(pl.DataFrame({"known": values}))
    positive, negative = options.get("positive", "yes"), options.get("negative")
    kinds = label_kinds(sheet, "known", positive, negative)
    found = label_remarks(sheet, "known", positive, negative, kinds)
    assert found == [f"known: {remark}" for remark in remarks]


@pytest.mark.parametrize(("first", "kind"), [(2**63, "csv"), (2**63, "parquet"), (10**25, "csv")])
def test_whole_numbers_beyond_64_bits_name_the_rows(tmp_path, capfd, first, kind):
    ids = [first + 7 * i for i in range(60)]
    known = ["yes" if i < 20 else "" for i in range(60)]
    frame = pl.DataFrame({"id": ids, "x": [i % 17 for i in range(60)], "known": known}, strict=False)
    path = tmp_path / f"t.{kind}"
    frame.write_csv(path) if kind == "csv" else frame.cast({"id": pl.UInt64}).write_parquet(path)
    for options in ([], ["--id-column", "id"]):
        rows = rows_of(called(capfd, "rank", path, *FIXED, "--top", "5", *options))
        assert [int(row["id"]) for row in rows] == [ids[int(row["row"]) - 1] for row in rows]


def test_ids_beside_missing_ones_stay_whole():
    assert row_names(Sheet(pl.DataFrame({"id": [2**62, None]})), "id") == [str(2**62), ""]


def test_remarks_on_labels_are_complete_beside_known_negatives_and_can_be_pasted():
    def said(values, negative=None, **options):
        sheet = Sheet(pl.DataFrame({"y": values}))
        kinds = label_kinds(sheet, "y", "yes", negative)
        return label_remarks(sheet, "y", "yes", negative, kinds, **options)

    assert said(["yes", "no", "maybe"], "no") == ["y: 'maybe' (1 row) count as unlabelled"]
    assert said(["yes", "not relevant", None])[0].endswith("--negative 'not relevant'")
    assert said(["yes", "no", "maybe", None], others="negative") == [
        "y: 1 row without a value count as negative",
        "y: 'no' (1 row), 'maybe' (1 row) count as negative",
    ]
    assert said(["yes", "no"], others="negative") == []


def test_a_wide_table_has_a_line_for_its_first_columns(tmp_path, capfd):
    columns = {f"c{k}": [(i * (k + 3)) % 17 for i in range(60)] for k in range(100)}
    pl.DataFrame({**columns, "known": ["yes" if i < 20 else "" for i in range(60)]}).write_csv(tmp_path / "t.csv")
    said = said_by(capfd, "rank", tmp_path / "t.csv", *FIXED, "--dry-run")
    assert len(said.splitlines()) < 30
    assert "and 80 more columns" in said


def test_a_quiet_command_hides_what_the_reader_of_workbooks_remarks(tmp_path):
    """It says that it cannot determine the type of an empty column."""
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["x", "empty", "known"])
        for i in range(60):
            sheet.write_row(i + 1, 0, [i % 7, None, "yes" if i < 20 else "no"])
    done = program("rank", tmp_path / "t.xlsx", *FIXED, "--dry-run", "--quiet")
    assert (done.returncode, done.stderr) == (0, b"")
