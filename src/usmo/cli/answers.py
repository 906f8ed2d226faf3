"""The answers of a command: the ranking with the columns of its table, scores, and the fit in words."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Iterable
from typing import Any, BinaryIO

import numpy as np

from usmo.columns import TableEncoder
from usmo.estimators.counts import Counts, is_marked
from usmo.io import Sheet, TableError, need_column, write
from usmo.io.formulas import without_formulas
from usmo.io.writing import output_file_type
from usmo.system.words import quantity

MOST_COLUMNS = 100
"""Columns of the table that a ranking carries unless --columns chooses: a table of more is one of measurements."""

FEW_POSITIVES = 20
"""Known positives below which prior and λ are weakly determined."""

_ID_NAME = re.compile(r"(^|[^a-z])(id|key|number|no|nr|code|uuid|guid)$|^(id|uuid|guid)", re.IGNORECASE)

_EXACT = 2.0**53
"""Whole numbers below this are exact as float."""

_OWN = ("rank", "row", "id", "score", "probability", "decision")
"""Columns of a ranking; columns of the table with these names are called "table.score" and so on."""


def id_column(sheet: Sheet, encoder: TableEncoder) -> str | None:
    """The column that names the rows: not learnt from, never empty and all different, by its name or else the first."""
    if sheet.frame is None:
        return None
    ignored = [name for name in encoder.named("ignored") if name in sheet.names]
    unique = [name for name in ignored if _is_unique(sheet.frame[name])]
    named = [name for name in unique if _ID_NAME.search(name.strip())]
    return next(iter(named or unique), None)


def _is_unique(column: Any) -> bool:
    if column.dtype.is_nested():
        return False
    return not column.null_count() and column.n_unique() == len(column)


def chosen_columns(asked: str | None, sheet: Sheet, roles: dict[str, Any]) -> list[str]:
    """The columns of a table that its ranking carries: those of --columns, or all but label and id."""
    if asked is not None:
        names = [name.strip() for name in asked.split(",") if name.strip()]
        if names == ["none"] and "none" not in sheet.names:
            return []
        if names == ["all"] and "all" not in sheet.names:
            return list(sheet.names)
        for name in names:
            need_column(sheet, name, "--columns")
        return names
    if sheet.frame is None and not isinstance(sheet.matrix, np.ndarray):
        return []
    left_out = {roles.get("label"), roles.get("id")}
    names = [name for name in sheet.names if name not in left_out]
    if sheet.frame is not None:
        names = [name for name in names if not sheet.frame[name].dtype.is_nested()]
    return names[:MOST_COLUMNS]


def cells(sheet: Sheet, names: Iterable[str], rows: Any) -> dict[str, list[Any]]:
    """Columns of some rows as plain values: text, numbers, None."""
    part = sheet.take(rows)
    return {name: _whole_numbers([_plain(value) for value in _values(part, name)]) for name in names}


def _values(sheet: Sheet, name: str) -> list[Any]:
    return sheet.frame[name].to_list() if sheet.frame is not None else sheet.column(name).tolist()


def _whole_numbers(values: list[Any]) -> list[Any]:
    """Values as int if all are whole numbers, or missing: a column with gaps is read as float."""
    present = [value for value in values if value is not None]
    if all(isinstance(value, float) and value.is_integer() and abs(value) < _EXACT for value in present):
        return [None if value is None else int(value) for value in values]
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def beside(own: dict[str, list[Any]], columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The columns of a ranking, and those of the table to their right."""
    return {**own, **{f"table.{name}" if name in _OWN else name: values for name, values in columns.items()}}


def name_columns(rows: np.ndarray, ids: list[str] | None) -> dict[str, list[Any]]:
    """Which rows of the table these are: their numbers from 1, and their ids if it has any."""
    numbers = {"row": (rows + 1).tolist()}
    return numbers if ids is None else {**numbers, "id": [ids[row] for row in rows]}


def score_columns(model: Any, f: np.ndarray) -> dict[str, list[Any]]:
    """Decision values as the columns of a result: score, probability and decision."""
    return {
        "score": np.round(f, 6).tolist(),
        "probability": np.round(model.calibration_(f), 6).tolist(),
        "decision": np.where(is_marked(f), "positive", "negative").tolist(),
    }


def write_answer(columns: dict[str, list[Any]], target: str | BinaryIO) -> None:
    """Write a result for people: in text formats, nothing in it runs in a spreadsheet."""
    _, format, _ = output_file_type(target)
    try:
        write(without_formulas(columns) if format in ("csv", "tsv") else columns, target)
    except (OverflowError, TypeError) as error:
        raise TableError(f"the columns of the table cannot be written ({error}): give --columns none") from error


def fit_sentences(model: Any) -> list[str]:
    """Prior and λ of a model, and its certificate, in words."""
    low, high = getattr(model, "prior_interval_", (model.prior_, model.prior_))
    origin = "given" if low == high == model.prior_ else f"estimated, between {low:.3f} and {high:.3f}"
    certificate = model.certificate_
    return [
        f"prior {model.prior_:.3f} ({origin}); lambda {model.lam_:.3g}",
        f"the objective is within {100 * max(certificate.relative_gap, 0.0):.2g} % of the optimum "
        f"(gap {max(certificate.gap, 0.0):.1e}, computed independently of the solver)",
    ]


def doubts(model: Any, counts: Counts) -> list[str]:
    """What a user should know before trusting the result, in sentences."""
    found, estimated = [], model.prior == "estimate" and not hasattr(model, "propensity_")
    if counts.positives < FEW_POSITIVES and (estimated or hasattr(model, "selection_")):
        what = " and ".join(
            [*(["the prior"] if estimated else []), *(["lambda"] if hasattr(model, "selection_") else [])]
        )
        found.append(
            f"{quantity(counts.positives, 'known positive')} {'says' if counts.positives == 1 else 'say'} little about "
            f"{what}: take the order of the rows more seriously than the number marked, and give --prior if you know it"
        )
    if counts.equal:
        found.append(
            f"{quantity(counts.equal, 'row')} have the same score where the {quantity(counts.expected)} expected "
            "positives end, and cannot be told apart; they fall on the side that is nearer to that number"
        )
    elif counts.close > max(1, 0.01 * counts.unlabelled):
        found.append(
            f"the scores of {quantity(counts.close, 'row')} differ from the threshold by less than the precision of "
            "the fit, so that their decision is arbitrary"
        )
    return found


def marked_sentence(counts: Counts) -> str:
    """How many rows are marked, and how many the prior says if that is another number."""
    are = "is" if counts.marked == 1 else "are"
    line = f"{counts.marked} of {quantity(counts.unlabelled, 'unlabelled row')} {are} marked as positive"
    return line if counts.marked == round(counts.expected) else f"{line}; {quantity(counts.expected)} are expected"
