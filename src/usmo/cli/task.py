"""From a table to a fitted model: read the table and its labels, encode the columns, fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

import usmo
from usmo.cli.answers import id_column
from usmo.cli.features import encoder_of, feature_sheet, table_sheet, titles
from usmo.cli.file_kinds import need_table
from usmo.cli.messages import Messages
from usmo.cli.options import TableOptions
from usmo.columns import TableEncoder
from usmo.core.arrays import Index
from usmo.core.groups import group_codes
from usmo.io import Sheet, TableError, labels, need_column, parse_numbers
from usmo.io.errors import quote
from usmo.io.labels import label_remarks
from usmo.system.words import quantity

_CANDIDATES = ("forest+rbf", "forest", "rbf", "linear")
"""Kernels that --kernel auto compares, the best on average first."""

_MOST_LINES, _FEW_LINES = 60, 20
"""Columns up to which each has a line of its own, and how many of more have one."""


@dataclass(frozen=True)
class Task:
    """A table ready to fit: its labels (1, 0, -1), the ids of its rows, its encoded columns X, and the sheet."""

    table: TableOptions
    y: np.ndarray
    ids: list[str]
    encoder: TableEncoder
    X: Any
    sheet: Sheet
    propensity: np.ndarray | None = None
    titles: list[str] | None = None
    groups: Index | None = None

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of rows by kind of label."""
        return label_counts(self.y)


def label_counts(y: np.ndarray) -> dict[str, int]:
    """The numbers of rows, of known positives and, if there are any, of known negatives."""
    counts = {"rows": len(y), "known_positives": int(np.count_nonzero(y == 1))}
    negatives = int(np.count_nonzero(y == -1))
    return {**counts, "known_negatives": negatives} if negatives else counts


def read_task(messages: Messages, table: TableOptions) -> Task:
    """Read and encode a table, and say how each column was encoded."""
    encoder = encoder_of(table)
    sheet = read_sheet(messages, table)
    y = labels(sheet, table.label_column, table.positive, table.negative, options=True).astype(int)
    propensity = propensities(sheet, table.propensity_column, y == 1)
    groups = row_groups(sheet, table.group_column)
    features = feature_sheet(sheet, table, excluded_columns(table.roles))
    encoder.fit(features)
    table, named = name_rows(table, features, encoder)
    ids = row_names(sheet, table.id_column)
    X, names = encoder.transform(features), titles(sheet, encoder)
    task = Task(table, y, ids, encoder, X, sheet, propensity, names, groups)
    describe_table(messages, table.source, task.counts, encoder)
    if named:
        messages.say(f"  {named}")
    for remark in label_remarks(sheet, table.label_column, table.positive, table.negative, y):
        messages.say(f"  {remark}")
    return task


def name_rows(table: TableOptions, features: Sheet, encoder: TableEncoder) -> tuple[TableOptions, str]:
    """The options with the column that names the rows, if there is one, and a message if it was found, not given."""
    found = id_column(features, encoder) if table.id_column is None else None
    if found is None:
        return table, ""
    return table._replace(id_column=found), f"rows are named by column {found}; --id-column names another"


def read_sheet(messages: Messages, table: TableOptions) -> Sheet:
    """Read the table of the options; it has every column that they give a role."""
    need_table(table.data)
    unparsed = [*table.text_column, *(name for name, kind in table.kind if kind != "number")]
    sheet = table_sheet(
        messages, table.data, unparsed, excluded=excluded_columns(table.roles), missing=table.missing,
        format=table.format, encoding=table.encoding, max_bytes=table.max_bytes,
    )  # fmt: skip
    need_columns(sheet, table.roles)
    return sheet


def propensities(sheet: Sheet, column: str | None, known: np.ndarray) -> np.ndarray | None:
    """The propensity column as numbers; those of rows that are not known positives may be missing."""
    if column is None:
        return None
    values, _ = parse_numbers([str(value) for value in sheet.column(column).tolist()])
    bad = known & ~((values > 0) & (values <= 1))
    if bad.any():
        row = int(np.argmax(bad))
        raise TableError(
            f"--propensity-column {column!r} must hold numbers above 0 and up to 1 for known positives, got "
            f"{quote(str(sheet.column(column)[row]))} in row {row + 1} of {sheet.source}"
        )
    return values


def row_groups(sheet: Sheet, column: str | None) -> Index | None:
    """The number of each row's group; a row without a group is refused."""
    if column is None:
        return None
    names = np.array(row_names(sheet, column))
    if (names == "").any():
        row = int(np.argmax(names == ""))
        raise TableError(
            f"--group-column {column!r} must name a group in every row, got none in row {row + 1} of {sheet.source}"
        )
    return group_codes(names, sheet.n_rows)


def excluded_columns(roles: Mapping[str, Any]) -> list[str]:
    """The columns that are not learnt from: label, propensity, group, id and ignored ones."""
    names = (*(roles.get(role) for role in ("label", "propensity", "group", "id")), *roles.get("ignore", []))
    return list(dict.fromkeys(name for name in names if name is not None))


def need_columns(sheet: Sheet, roles: Mapping[str, Any]) -> None:
    """Refuse a table without the columns that the options name."""
    need_column(sheet, roles["label"], "--label-column")
    for role in ("propensity", "group", "id"):
        if roles[role] is not None:
            need_column(sheet, roles[role], f"--{role}-column")
    for name in roles["ignore"]:
        need_column(sheet, name, "--ignore")


def describe_table(messages: Messages, source: str, counts: dict[str, int], encoder: TableEncoder) -> None:
    """Say how many rows a table has and how its columns were encoded."""
    width = len(encoder.get_feature_names_out())
    shown = ", ".join(quantity(n, name.removesuffix("s").replace("_", " ")) for name, n in counts.items())
    messages.say(f"{source}: {shown}, {quantity(width, 'numeric column')}")
    say_columns(messages, encoder)


def say_columns(messages: Messages, encoder: TableEncoder) -> None:
    """Say how columns were encoded, of a wide table the first ones."""
    lines = encoder.summary()
    for line in lines if len(lines) <= _MOST_LINES else lines[:_FEW_LINES]:
        messages.say(f"  {line}")
    if len(lines) > _MOST_LINES:
        messages.say(f"  and {quantity(len(lines) - _FEW_LINES, 'more column', 'more columns')}")


def row_names(sheet: Sheet, id_column: str | None) -> list[str]:
    """The id of each row, or its number from 1."""
    if id_column is None:
        return [str(k) for k in range(1, sheet.n_rows + 1)]
    return ["" if value is None or value != value else str(value) for value in sheet.values(id_column)]


def classifier(
    *, prior: float | str, class_weight: Any, scenario: str, lam: float | str, kernel: str, gamma: float | str,
    approximation: str, seed: int, verbose: int, package: Any = usmo, propensity: str | None = None,
    propensity_columns: list[int] | None = None,
) -> Any:  # fmt: skip
    """The classifier that the options describe, of ``usmo`` or of ``usmo.dask``; a search for ``kernel`` "auto"."""
    if isinstance(class_weight, float):
        class_weight = {0: 1.0, 1: class_weight}
    common: dict[str, Any] = {
        "lam": lam, "class_weight": class_weight, "scenario": scenario, "random_state": seed, "verbose": verbose,
        "propensity": propensity, "propensity_columns": propensity_columns,
    }  # fmt: skip
    if kernel == "linear":
        return package.LinearPUSVC(prior, **common)
    if kernel == "auto":
        lams: Any = {"auto": "auto", "cv": None}[lam] if isinstance(lam, str) else [lam]
        base = package.PUSVC(prior, gamma=gamma, **common)
        return usmo.PUSVCCV(base, kernels=_CANDIDATES, lams=lams, random_state=seed)
    method = None if approximation == "none" else approximation
    return package.PUSVC(prior, kernel=kernel, gamma=gamma, approximation=method, **common)


def pipeline(encoder: TableEncoder, model: Any) -> Pipeline:
    """The model with its preprocessing, as a model file stores it."""
    return Pipeline([("columns", encoder), ("model", model)])
