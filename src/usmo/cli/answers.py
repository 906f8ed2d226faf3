"""The answers of a command: the ranking with the columns of its table, scores, and the fit in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from usmo.cli.features import feature_columns
from usmo.columns import TableEncoder
from usmo.estimators.counts import Counts, is_marked
from usmo.io import Sheet, TableError, need_column, write
from usmo.io.formulas import without_formulas
from usmo.io.writing import output_file_type
from usmo.priors import ScarTest
from usmo.system.words import quantity

MOST_COLUMNS = 100
"""Columns of the table that a ranking carries unless --columns chooses: a table of more is one of measurements."""

_ID_NAME = re.compile(r"(^|[^a-z])(id|key|number|no|nr|code|uuid|guid)$|^(id|uuid|guid)", re.IGNORECASE)

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


def beside(own: dict[str, list[Any]], columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The columns of a ranking, and those of the table to their right; none is lost to an equal name."""
    found = dict(own)
    for name, values in columns.items():
        shown = f"table.{name}" if name in _OWN else name
        while shown in found or (shown != name and shown in columns):
            shown = f"table.{shown}"
        found[shown] = values
    return found


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


def source_arguments(sheet: Sheet, encoder: TableEncoder) -> dict[str, Any]:
    """What a report shows of the table itself: its cells, the columns that encode each, and those not learnt from."""
    schemas = encoder.columns_
    ignored = [f"{schema['name']}: {schema['why']}" for schema in schemas if schema["kind"] == "ignored"]
    if encoder.words() is not None or not schemas:
        return {"cells": sheet, "encoder": encoder, "ignored": ignored}
    return {"cells": sheet, "encoder": encoder, "groups": feature_columns(encoder), "ignored": ignored}


def write_answer(columns: dict[str, list[Any]], target: str | BinaryIO) -> None:
    """Write a result for people: in text formats, nothing in it runs in a spreadsheet."""
    _, format, _ = output_file_type(target)
    try:
        write(without_formulas(columns) if format in ("csv", "tsv") else columns, target)
    except (OverflowError, TypeError) as error:
        raise TableError(f"the columns of the table cannot be written ({error}): give --columns none") from error


def prior_origin(interval: Sequence[float] | None, *, assumed: bool, implied: bool) -> str:
    """Where a prior comes from: estimated with an interval, assumed by the command, implied by propensities, given."""
    if interval is not None and interval[0] < interval[1]:
        return f"estimated, between {interval[0]:.3f} and {interval[1]:.3f}"
    return "assumed" if assumed else "follows from the propensities" if implied else "given"


def fit_sentences(model: Any, assumed: bool) -> list[str]:
    """Prior and λ of a model, and its certificate, in words; ``assumed`` says that the command chose the prior."""
    implied = model.prior == "estimate" and hasattr(model, "propensity_")
    origin = prior_origin(getattr(model, "prior_interval_", None), assumed=assumed, implied=implied)
    certificate = model.certificate_
    return [
        f"prior {model.prior_:.3f} ({origin}); lambda {model.lam_:.3g}",
        f"{gap_sentence(certificate.relative_gap)} (gap {max(certificate.gap, 0.0):.1e}, computed independently of the "
        "solver)",
    ]


def gap_sentence(relative_gap: float) -> str:
    """How far a fit is from the best one at most; a gap below zero is rounding."""
    return f"the objective is within {100 * max(relative_gap, 0.0):.2g} % of the optimum"


def marked_sentence(counts: Counts) -> str:
    """How many rows are marked, and how many the prior says if that is another number."""
    line = share_marked(counts.marked, counts.unlabelled, "unlabelled row")
    return line if counts.marked == round(counts.expected) else f"{line}; {quantity(counts.expected)} are expected"


def share_marked(marked: int, rows: int, noun: str) -> str:
    """How many of some rows are marked."""
    are = "is" if 1 in (marked, rows) else "are"
    return f"{quantity(marked)} of {quantity(rows, noun)} {are} marked as positive"


def as_json_test(test: ScarTest) -> dict[str, Any]:
    """The test of labels at random, for JSON."""
    return {
        "p_value": None if np.isnan(test.p_value) else test.p_value,
        "prior": test.prior,
        "prior_given": test.given,
        "largest_prior": test.largest_prior,
        "columns": {str(name): value for name, value in test.columns.items()},
    }
