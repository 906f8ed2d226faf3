"""What the encoder learns of a column: a record of its kind and of what encoding it needs, as plain values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np

from usmo.columns.frames import Values, View
from usmo.columns.scaling import location
from usmo.io import MIXED, TableError, mostly_numbers, parse_numbers
from usmo.io.numerals import truth
from usmo.io.sheet import cell

_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:\.(\d{1,6})\d*)?(Z|[+-]\d\d:?\d\d)?)?",
    re.ASCII | re.IGNORECASE,
)

_ID_ROWS, _ID_SHARE = 10, 0.9
"""Rows with a value from which on, and share of different texts above which, a column looks like ids."""


def learn(name: str, view: View, max_categories: int) -> dict[str, Any]:
    """The record of one column."""
    values, comma = view.column(name), False

    def ignored(why: str) -> dict[str, Any]:
        return {"name": name, "kind": "ignored", "why": why}

    if values.kind == "text":
        if not values.texts:
            return ignored("all missing")
        values, comma = _recognise(name, values, view)
    if values.codes is not None:
        return _learn_text(name, values, max_categories, ignored)
    if values.numbers is None:
        return ignored(f"holds values of type {values.kind}")
    x = finite(values.numbers, name, view)
    missing = int(np.isnan(x).sum())
    present = x[~np.isnan(x)]
    if not len(present):
        return ignored("all missing")
    if not missing and present.min() == present.max():
        return ignored("constant")
    if values.integer and len(x) >= _ID_ROWS and not missing and (np.diff(x) == 1).all():
        return ignored(f"counts the rows from {x[0]:.0f}: looks like an id")
    median, mean, scale = location(x)
    if values.kind == "boolean":
        median, mean, scale = float(present.mean() > 0.5), 0.0, 1.0
    record = {"name": name, "kind": values.kind, "median": median, "mean": mean, "scale": scale}
    return {**record, "missing": missing > 0, "n_missing": missing, "comma": bool(comma)}


def _learn_text(name: str, values: Values, most: int, ignored: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    assert values.codes is not None
    counts = values.counts
    different, rows = len(counts), int(counts.sum())
    missing = len(values.codes) - rows
    if different == 1 and not missing:
        return ignored("constant")
    if (rows >= _ID_ROWS and different > _ID_SHARE * rows) or (different > most and different > rows / 2):
        return ignored(f"text with {different:,} different values: looks like an id or free text")
    kept = range(different) if different <= most else np.sort(np.argsort(-counts, kind="stable")[: most - 1])
    return {
        "name": name, "kind": "category", "categories": [values.texts[i] for i in kept], "other": different > most,
        "different": different, "missing": missing > 0, "n_missing": missing,
    }  # fmt: skip


def _recognise(name: str, values: Values, view: View) -> tuple[Values, bool]:
    """Numbers, booleans and dates that are stored as text; whether the numbers have a decimal comma."""
    assert values.codes is not None
    numbers, comma = parse_numbers(values.texts)
    for kind in ("number", "boolean", "date"):
        found = numbers if kind == "number" else parsed(kind, values.texts)
        bad = np.isnan(found)
        if not bad.any():
            return Values(kind, np.append(found, np.nan)[values.codes]), comma
        if kind != "boolean" and not bad.all() and mostly_numbers(bad, values.counts):
            row = int(np.argmax(np.append(bad, False)[values.codes]))
            advice = MIXED if kind == "number" else "stands among dates: write it as 2024-12-31, or leave it empty"
            raise TableError(f"{cell(view, row, values.texts[values.codes[row]], name)} {advice}")
    return values, False


def parsed(kind: str, texts: Sequence[str], *, comma: bool = False) -> np.ndarray:
    """The texts as numbers, booleans or dates, nan where they are none."""
    if kind == "number":
        return parse_numbers(texts, comma=comma)[0]
    parse = truth if kind == "boolean" else _days
    return np.array([parse(text) for text in texts])


def _days(text: str) -> float:
    """Days since 1970-01-01 of an ISO date or time, nan of anything else."""
    found = _ISO.fullmatch(text)
    if not found:
        return np.nan
    day, minutes, seconds, part, zone = found.groups()
    zone = "+00:00" if zone in (None, "Z", "z") else f"{zone[:3]}:{zone[-2:]}"
    try:
        time = datetime.fromisoformat(
            f"{day}T{minutes or '00:00'}{seconds or ':00'}.{(part or '').ljust(6, '0')}{zone}"
        )
    except ValueError:
        return np.nan
    return (time - _EPOCH) / _DAY


def finite(x: np.ndarray, name: str, view: View) -> np.ndarray:
    """The numbers of a column; an error that names the first infinite one."""
    if np.isinf(x).any():
        row = int(np.argmax(np.isinf(x)))
        raise TableError(
            f"{cell(view, row, float(x[row]), name)} is infinite: write a finite number or leave it empty"
        )
    return x


def outputs(record: dict[str, Any]) -> list[str]:
    """Names of the output columns of an input column."""
    if record["kind"] == "ignored":
        return []
    name = record["name"]
    values = [name]
    if record["kind"] == "category":
        values = [f"{name}={category}" for category in record["categories"] + ["(other)"] * record["other"]]
    return values + [f"{name}=(missing)"] * record["missing"]


def line(record: dict[str, Any]) -> str:
    """What a column was taken for."""
    kind, name = record["kind"], record["name"]
    if kind == "ignored":
        return f"{name}: ignored, {record['why']}"
    if kind == "category":
        kept = len(record["categories"])
        rest = f" (the {kept} most frequent of {record['different']:,}, and the rest)" if record["other"] else ""
        gaps = f", {record['n_missing']:,} missing" if record["missing"] else ""
        return f"{name}: {kept + record['other']} categories{rest}{gaps}"
    median: Any = f"median {record['median']:g}"
    if kind == "date":
        median = f"median {np.datetime64(int(record['median'] // 1), 'D')}"
    elif kind == "boolean":
        median = "true" if record["median"] else "false"
    return f"{name}: {kind}" + (f" ({record['n_missing']:,} missing → {median})" if record["missing"] else "")
