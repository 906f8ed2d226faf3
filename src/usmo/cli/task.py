"""From a table to a fitted model: read the table, find the known positives, encode the columns, fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

import usmo
from usmo.cli.messages import Messages
from usmo.cli.options import TableOptions
from usmo.columns import TableEncoder
from usmo.io import Sheet, labels, need_column, read


@dataclass(frozen=True)
class Task:
    """A table ready to fit: the mask of its known positives, the ids of its rows, and its encoded columns X."""

    table: TableOptions
    known: np.ndarray
    ids: list[str]
    encoder: TableEncoder
    X: Any

    @property
    def y(self) -> np.ndarray:
        return self.known.astype(int)


def read_task(messages: Messages, table: TableOptions) -> Task:
    """Read and encode a table, and say how each column was encoded."""
    excluded = excluded_columns(table.roles)
    sheet = read(table.data, format=table.format, text=excluded, max_bytes=table.max_bytes)
    need_columns(sheet, table.roles)
    known = labels(sheet, table.label_column, table.positive)
    ids = row_names(sheet, table.id_column)
    features = sheet.drop(excluded)
    encoder = TableEncoder().fit(features)
    describe_table(messages, f"{table.source}: {len(known)} rows", int(known.sum()), encoder)
    return Task(table, known, ids, encoder, encoder.transform(features))


def excluded_columns(roles: Mapping[str, Any]) -> list[str]:
    """The columns that are not learnt from: label, id and ignored ones."""
    names = (roles.get("label"), roles.get("id"), *roles.get("ignore", []))
    return list(dict.fromkeys(name for name in names if name is not None))


def need_columns(sheet: Sheet, roles: Mapping[str, Any]) -> None:
    """Refuse a table without the columns that the options name."""
    need_column(sheet, roles["label"], "--label-column")
    if roles["id"] is not None:
        need_column(sheet, roles["id"], "--id-column")
    for name in roles["ignore"]:
        need_column(sheet, name, "--ignore")


def describe_table(messages: Messages, rows: str, known: int, encoder: TableEncoder) -> None:
    """Say how many rows a table has and how its columns were encoded."""
    width = len(encoder.get_feature_names_out())
    messages.say(f"{rows}, {known} known positives, {width} numeric columns")
    for line in encoder.summary():
        messages.say(f"  {line}")


def row_names(sheet: Sheet, id_column: str | None) -> list[str]:
    """The id of each row, or its number from 1."""
    if id_column is None:
        return [str(k) for k in range(1, sheet.n_rows + 1)]
    values = sheet.column(id_column)
    return ["" if value is None or value != value else str(value) for value in values.tolist()]


def classifier(
    prior: float | str, scenario: str, lam: float | str, kernel: str, gamma: float | str, approximation: str,
    seed: int, verbose: int, package: Any = usmo,
) -> Any:  # fmt: skip
    """The classifier that the options describe, of ``usmo`` or of ``usmo.dask``."""
    common: dict[str, Any] = {"lam": lam, "scenario": scenario, "random_state": seed, "verbose": verbose}
    if kernel == "linear":
        return package.LinearPUSVC(prior, **common)
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
