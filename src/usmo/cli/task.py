"""From a table to a fitted model: read the table and its labels, encode the columns, fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

import usmo
from usmo.cli.features import encoder_of, feature_sheet, titles
from usmo.cli.messages import Messages
from usmo.cli.options import TableOptions
from usmo.columns import TableEncoder
from usmo.io import Sheet, TableError, labels, need_column, parse_numbers, read
from usmo.io.errors import quote
from usmo.io.labels import other_values

_CANDIDATES = ("forest+rbf", "forest", "rbf", "linear")
"""Kernels that --kernel auto compares, the best on average first."""


@dataclass(frozen=True)
class Task:
    """A table ready to fit: its labels (1, 0, -1), the ids of its rows, its encoded columns X, and propensities."""

    table: TableOptions
    y: np.ndarray
    ids: list[str]
    encoder: TableEncoder
    X: Any
    propensity: np.ndarray | None = None
    titles: list[str] | None = None

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of rows by kind of label."""
        counts = {"rows": len(self.y), "known_positives": int(np.count_nonzero(self.y == 1))}
        negatives = int(np.count_nonzero(self.y == -1))
        return {**counts, "known_negatives": negatives} if negatives else counts


def read_task(messages: Messages, table: TableOptions) -> Task:
    """Read and encode a table, and say how each column was encoded."""
    excluded = excluded_columns(table.roles)
    kept = [*excluded, *table.text_column]
    sheet = read(table.data, format=table.format, text=kept, max_bytes=table.max_bytes)
    need_columns(sheet, table.roles)
    y = labels(sheet, table.label_column, table.positive, table.negative).astype(int)
    propensity = propensities(sheet, table.propensity_column, y == 1)
    ids = row_names(sheet, table.id_column)
    features = feature_sheet(sheet, table, excluded)
    encoder = encoder_of(table).fit(features)
    task = Task(table, y, ids, encoder, encoder.transform(features), propensity, titles(sheet, encoder))
    describe_table(messages, table.source, task.counts, encoder)
    others = {} if table.negative is not None else other_values(sheet, table.label_column, y)
    if others:
        shown = ", ".join(f"{quote(text)} ({n:,} rows)" for text, n in others.items())
        messages.say(
            f"  {table.label_column}: {shown} count as unlabelled, as empty cells do; if they are known negatives, "
            f"say so with --negative {next(iter(others))}"
        )
    return task


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


def excluded_columns(roles: Mapping[str, Any]) -> list[str]:
    """The columns that are not learnt from: label, id and ignored ones."""
    names = (roles.get("label"), roles.get("propensity"), roles.get("id"), *roles.get("ignore", []))
    return list(dict.fromkeys(name for name in names if name is not None))


def need_columns(sheet: Sheet, roles: Mapping[str, Any]) -> None:
    """Refuse a table without the columns that the options name."""
    need_column(sheet, roles["label"], "--label-column")
    for role in ("propensity", "id"):
        if roles[role] is not None:
            need_column(sheet, roles[role], f"--{role}-column")
    for name in roles["ignore"]:
        need_column(sheet, name, "--ignore")


def describe_table(messages: Messages, source: str, counts: dict[str, int], encoder: TableEncoder) -> None:
    """Say how many rows a table has and how its columns were encoded."""
    width = len(encoder.get_feature_names_out())
    shown = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts.items())
    messages.say(f"{source}: {shown}, {width} numeric columns")
    for line in encoder.summary():
        messages.say(f"  {line}")


def row_names(sheet: Sheet, id_column: str | None) -> list[str]:
    """The id of each row, or its number from 1."""
    if id_column is None:
        return [str(k) for k in range(1, sheet.n_rows + 1)]
    values = sheet.column(id_column)
    return ["" if value is None or value != value else str(value) for value in values.tolist()]


def classifier(
    prior: float | str, class_weight: Any, scenario: str, lam: float | str, kernel: str, gamma: float | str,
    approximation: str, seed: int, verbose: int, package: Any = usmo,
) -> Any:  # fmt: skip
    """The classifier that the options describe, of ``usmo`` or of ``usmo.dask``; a search for ``kernel`` "auto"."""
    if isinstance(class_weight, float):
        class_weight = {0: 1.0, 1: class_weight}
    common: dict[str, Any] = {
        "lam": lam, "class_weight": class_weight, "scenario": scenario, "random_state": seed, "verbose": verbose
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


def score_columns(model: Any, f: np.ndarray) -> dict[str, list[Any]]:
    """Decision values as the columns of a result: score, probability and decision."""
    return {
        "score": np.round(f, 6).tolist(),
        "probability": np.round(model.calibration_(f), 6).tolist(),
        "decision": ["positive" if value > 0 else "negative" for value in f],
    }


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
