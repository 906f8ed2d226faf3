"""From a file to a fitted pipeline: read, find the known positives, encode the columns, fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import usmo
from usmo.cli.options import Speech
from usmo.columns import TableEncoder
from usmo.io import Sheet, labels, need_column, read


@dataclass(frozen=True)
class Task:
    """A table ready to learn from."""

    source: str
    sheet: Sheet
    known: np.ndarray
    ids: list[str]
    encoder: TableEncoder
    X: Any
    columns: dict[str, Any]

    @property
    def y(self) -> np.ndarray:
        return self.known.astype(int)


def read_task(
    speech: Speech, data: str, label_column: str, positive: str, id_column: str | None, ignore: Sequence[str],
    kind: str | None,
) -> Task:  # fmt: skip
    """Read and encode a table; says on stderr what was recognised."""
    columns = {"label": label_column, "positive": positive, "id": id_column, "ignore": list(ignore)}
    aside = set_aside(columns)
    sheet = read(data, format=kind, text=aside)
    need_columns(sheet, columns)
    known = labels(sheet, label_column, positive)
    ids = row_names(sheet, id_column)
    features = sheet.drop(dict.fromkeys(aside))
    encoder = TableEncoder().fit(features)
    X = encoder.transform(features)
    source = "standard input" if data == "-" else data
    introduce(speech, f"{source}: {len(known)} rows", int(known.sum()), encoder)
    return Task(source, sheet, known, ids, encoder, X, columns)


def set_aside(columns: dict[str, Any]) -> list[str]:
    """The columns that are not learnt from."""
    names = (columns.get("label"), columns.get("id"), *columns.get("ignore", []))
    return list(dict.fromkeys(name for name in names if name is not None))


def need_columns(sheet: Sheet, columns: dict[str, Any]) -> None:
    """An error unless the sheet has the columns that options name."""
    need_column(sheet, columns["label"], "--label-column")
    if columns["id"] is not None:
        need_column(sheet, columns["id"], "--id-column")
    for name in columns["ignore"]:
        need_column(sheet, name, "--ignore")


def introduce(speech: Speech, rows: str, known: int, encoder: TableEncoder) -> None:
    """Say what a table was taken for."""
    width = len(encoder.get_feature_names_out())
    speech.say(f"{rows}, {known} known positives, {width} numeric columns")
    for line in encoder.summary():
        speech.say(f"  {line}")


def row_names(sheet: Sheet, id_column: str | None) -> list[str]:
    """The id of each row, or its number from 1."""
    if id_column is None:
        return [str(k) for k in range(1, sheet.n_rows + 1)]
    values = sheet.column(id_column)
    return ["" if value is None or value != value else str(value) for value in values.tolist()]


def classifier(
    prior: float | str, scenario: str, lam: float | str, kernel: str, gamma: float | str, approximation: str,
    seed: int, verbose: int, home: Any = usmo,
) -> Any:  # fmt: skip
    """The classifier that the options describe, of this package or of :mod:`usmo.dask`."""
    common: dict[str, Any] = {"lam": lam, "scenario": scenario, "random_state": seed, "verbose": verbose}
    if kernel == "linear":
        return home.LinearPUSVC(prior, **common)
    chosen = None if approximation == "none" else approximation
    return home.PUSVC(prior, kernel=kernel, gamma=gamma, approximation=chosen, **common)


def pipeline(encoder: TableEncoder, model: Any) -> Any:
    from sklearn.pipeline import Pipeline

    return Pipeline([("columns", encoder), ("model", model)])


def scores(model: Any, X: Any) -> tuple[np.ndarray, dict[str, list[Any]]]:
    """Decision values, and the columns that are shown of them."""
    decision = model.decision_function(X)
    return decision, {
        "score": np.round(decision, 6).tolist(),
        "probability": np.round(model.predict_proba(X)[:, 1], 6).tolist(),
        "decision": ["positive" if value > 0 else "negative" for value in decision],
    }


def sentences(task: Task, model: Any) -> list[str]:
    """What came out, in words."""
    n = int((~task.known).sum())
    marked = int(np.sum(model.predict(task.X[~task.known]) == model.classes_[1]))
    found, proof = how_found(model)
    return [found, f"{marked} of {n} unlabelled rows are taken for positive", proof]


def how_found(model: Any) -> list[str]:
    """Prior and λ of a model, and what its certificate says."""
    low, high = getattr(model, "prior_interval_", (model.prior_, model.prior_))
    how = "given" if low == high == model.prior_ else f"estimated, between {low:.3f} and {high:.3f}"
    proof = model.certificate_
    return [
        f"prior {model.prior_:.3f} ({how}); lambda {model.lam_:.3g}",
        f"the objective is within {100 * max(proof.relative_gap, 0.0):.2g} % of the optimum "
        f"(gap {max(proof.gap, 0.0):.1e}, computed apart from the solver)",
    ]
