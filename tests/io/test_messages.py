"""Messages about odd files are short, name file and line, and hold no character that a terminal acts on."""

import json

import numpy as np
import polars as pl
import pytest

from tests.tables import put
from usmo.columns import TableEncoder
from usmo.io import Sheet, TableError, labels, need_column, parse_numbers, read

LONG, DIGITS = "x" * 2_000_000, "9" * 100_000
NUMBERS = "a,b\n" + "".join(f"{i},y\n" for i in range(30))
ESCAPES = "\x1b]0 title\x07\x9b31m\u202e"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", f"{NUMBERS}{DIGITS},y\n", "line 32: infinite value in column 'a'"),
        ("t.csv", f'{NUMBERS}"{LONG}\n', "line 32 cannot be read .*field larger than .*: close the quote, .*shorten"),
        ("t.csv", f"{LONG},b\n1,2\n", "the header line cannot be read .*field larger than .*shorten the field"),
        ("t.csv", f"{'h' * 99_000},{'h' * 99_000}\n1,2\n", None),
        ("t.csv", f"1.5,{LONG[:99_000]}\n1,2\n", None),
        ("t.csv", f"1.5,0.{DIGITS}\n1,2\n", r"has no header line, it starts with 1\.5"),
        ("t.jsonl", '{"a": 1}\n{"a": ' + "[" * 9000 + "]" * 9000 + "}\n", "line 2 holds .* in more than 64 levels"),
        ("t.jsonl", '{"a": ' * 1000 + "1" + "}" * 1000 + "\n", "line 1 holds .* in more than 64 levels"),
        ("t.jsonl", '{"a": ' + "[" * 9000 + "\n", "line 1 holds .* in more than 64 levels"),
        ("t.jsonl", json.dumps({"a": '["{\\' * 99, "b": [[1]] * 99}) + "\n", None),
        ("t.jsonl", f'{{"a": 1}}\n\n{{"a": {DIGITS}}}\n', r"line 3 holds 9{80}…, which is not a finite number"),
        ("t.jsonl", '{"a": 1}\n{"a": 1e999}\n', "line 2 holds 1e999, which is not a finite number"),
        ("t.jsonl", '{"a": 1}\n{"a": NaN}\n', "line 2 holds NaN, which is not a finite number"),
        ("t.jsonl", '{"a": 1}\n{"a": 2}\n{"a": [3]}\n{"a": true}\n', r"line \d cannot be read as JSON \("),
        ("t.svm", f"1 1:2\n-1 {DIGITS}:1\n", r"line 2 is not 'label index:value \.\.\.' with indices below 2,147"),
        ("t.svm", f"1 1:2\n-1 1:{DIGITS}x\n", "line 2 is not 'label index:value"),
    ],
)  # fmt: skip
def test_deep_records_huge_numbers_and_long_cells_are_named_in_short(tmp_path, name, text, message):
    path = put(tmp_path, text, name)
    if message is None:
        assert read(path).n_rows == 1
        return
    with pytest.raises(TableError, match=message) as caught:
        read(path)
    shown = str(caught.value)
    assert shown.startswith(str(path))
    assert len(shown) < len(str(path)) + 300
    assert shown.isprintable()


def test_numbers_of_a_million_digits_are_parsed():
    """A regular expression that tries every split of the digits would take hours."""
    texts = ["9" * 1_000_000 + "x", "9" * 1_000_000, "1." + "9" * 1_000_000 + "x", "1," + "9" * 1_000_000 + "x"]
    assert np.isnan(parse_numbers(texts)[0]).tolist() == [True, False, True, True]


def refusals(folder):
    """Calls that fail with text of a table in the message."""
    names = [f"{ESCAPES}{name}" for name in "abcd"]
    columns = dict(zip(names, ([1.0, 2.0], ["x", ESCAPES], [ESCAPES] * 2, [float("inf"), 1.0]), strict=True))
    sheet = Sheet(pl.DataFrame(columns), source=f"{ESCAPES}.csv")
    finite = {name: columns[name] for name in names[:3]}
    encoder = TableEncoder().fit(pl.DataFrame(finite))
    np.savez(folder / "t.npz", **{ESCAPES: [1]})
    data = f"{ESCAPES},{ESCAPES}\n1,2\n"
    return [
        lambda: need_column(sheet, "zzz", "--label-column"),
        lambda: sheet.column(f"{names[0]}z"),
        lambda: labels(sheet, names[1], "zzz"),
        lambda: TableEncoder().fit(sheet),
        lambda: TableEncoder().fit(sheet.drop([names[0], names[1], names[3]])),
        lambda: encoder.transform(pl.DataFrame({**finite, names[0]: [ESCAPES] * 2})),
        lambda: encoder.transform(pl.DataFrame({**finite, names[1]: [f"{ESCAPES}new"] * 2})),
        lambda: encoder.transform(pl.DataFrame({**finite, names[0]: [[1], [2]]})),
        lambda: encoder.transform(sheet.drop(names[:2])),
        lambda: read(folder / "t.npz"),
        lambda: read(folder / f"{ESCAPES}.csv"),
        lambda: read(put(folder, data, f"{ESCAPES}.csv")).column(f"{ESCAPES}_3"),
        lambda: read(put(folder, f'{{"{ESCAPES}": 1}}\n[]', f"{ESCAPES}.jsonl")),
    ]


def test_no_message_holds_a_character_that_a_terminal_acts_on(tmp_path):
    calls = refusals(tmp_path)
    for k, call in enumerate(calls):
        with pytest.raises(TableError) as caught:
            call()
        assert str(caught.value).isprintable(), k


def test_summary_and_warning_of_the_encoder_are_printable():
    table = pl.DataFrame({f"{ESCAPES}a": [1.0, 2.0], ESCAPES: ["x", "x"]})
    encoder = TableEncoder().fit(table)
    assert all(line.isprintable() for line in encoder.summary())
    with pytest.warns(UserWarning, match="are ignored") as caught:
        encoder.transform(table.with_columns(pl.lit(1).alias(f"{ESCAPES}c")))
    assert str(caught[0].message).isprintable()
