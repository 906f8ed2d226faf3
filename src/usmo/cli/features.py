"""The columns of a table that a command learns from: those that its options leave, text and vectors among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click
import numpy as np

from usmo.cli.messages import Messages
from usmo.cli.options import LEARNED, TableOptions
from usmo.columns import TableEncoder
from usmo.columns.schema import KINDS, width
from usmo.fitting.trees import LARGEST_SPARSE
from usmo.io import Sheet, need_column, read
from usmo.io.vectors import NAME, with_vectors

_LARGE = 20_000
"""Rows above which the default kernel has no rbf part, whose time grows with the square of the rows."""

_TITLE = "title"
"""The text column with this name, in any case, names the rows of a report."""


def encoder_of(table: TableOptions, **parameters: Any) -> TableEncoder:
    """The encoder that the options describe, not fitted."""
    kinds = dict(table.kind)
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise click.BadParameter(f"{name}={kind}: a kind is {', '.join(KINDS)}", param_hint="--kind")
    embeddings = [*table.embedding_column, *([NAME] if table.embeddings else [])]
    return TableEncoder(
        text="none" if table.no_text else "tfidf", text_columns=list(table.text_column) or None,
        embedding_columns=embeddings or None, kinds=kinds or None, **parameters,
    )  # fmt: skip


def feature_sheet(sheet: Sheet, table: TableOptions, excluded: list[str]) -> Sheet:
    """The columns to learn from, with the vectors of a file beside the table."""
    kinds = [name for name, _ in table.kind]
    named = {"--text-column": table.text_column, "--embedding-column": table.embedding_column, "--kind": kinds}
    for option, names in named.items():
        for name in names:
            need_column(sheet, name, option)
            if name in excluded:
                raise click.BadParameter(f"{name!r} is not learnt from: it has another role", param_hint=option)
    features = sheet.drop(excluded)
    return features if table.embeddings is None else with_vectors(features, table.embeddings, table.max_bytes)


def table_sheet(
    messages: Messages, data: str, unparsed: list[str], *, excluded: Iterable[str], missing: Sequence[str],
    format: str | None, encoding: str | None, max_bytes: float | None,
) -> Sheet:  # fmt: skip
    """The table of a file, the columns in ``unparsed`` as text; says what was decided while reading it."""
    sheet = read(data, format=format, text=[*excluded, *unparsed], max_bytes=max_bytes, encoding=encoding)
    sheet = sheet.with_missing(missing, excluded)
    for remark in sheet.remarks():
        messages.say(f"  {remark}")
    return sheet


def feature_columns(encoder: TableEncoder) -> list[str]:
    """The column of the table that each column of X encodes."""
    schemas = encoder.columns_
    if not schemas:
        return encoder.get_feature_names_out().tolist()
    return [schema["name"] for schema in schemas for _ in range(width(schema))]


def titles(sheet: Sheet, encoder: TableEncoder) -> list[str] | None:
    """The texts of the column called title, or else of the shortest text column; None without text."""
    texts = {
        name: ["" if text is None else " ".join(str(text).split()) for text in sheet.column(name).tolist()]
        for name in encoder.named("text")
    }
    if not texts:
        return None
    named = [name for name in texts if name.strip().lower() == _TITLE]
    return texts[named[0] if named else min(texts, key=lambda name: np.mean([len(text) for text in texts[name]]))]


def with_kernel(
    options: dict[str, Any], encoder: TableEncoder, rows: int, messages: Messages, *, cluster: bool = False
) -> dict[str, Any]:
    """The options with a kernel. If they name none, it follows from the table: its text, its rows and its columns."""
    kernel, approximation = options["kernel"], options.get("approximation", "none")
    approximated = approximation != "none"
    if (kernel in LEARNED and (cluster or approximated)) or (kernel == "linear" and approximated):
        what = f"--approximation {approximation}" if approximated else "--scheduler"
        raise click.BadParameter(
            f"{kernel!r} does not go with {what}; it accepts rbf and poly", param_hint="--kernel"
        )
    if kernel not in (None, "auto"):
        return options
    wide = _needs_linear(encoder, rows, cluster)
    if wide and approximated:
        raise click.BadParameter(
            f"{approximation!r} does not go with the linear kernel, the default for {wide}: give --kernel rbf, "
            "or no approximation",
            param_hint="--approximation",
        )
    if wide:
        messages.say(f"  the kernel is linear, the default for {wide}; --kernel rbf changes that")
        return {**options, "kernel": "linear"}
    if kernel is not None:
        return options
    if cluster or approximated:
        return {**options, "kernel": "rbf"}
    if rows <= _LARGE:
        return {**options, "kernel": "forest+rbf"}
    messages.say(
        f"  the kernel is forest, the default above {_LARGE:,} rows: its time grows with the rows, not their square"
    )
    return {**options, "kernel": "forest"}


def _needs_linear(encoder: TableEncoder, rows: int, cluster: bool) -> str:
    """Tables for which the kernel is linear by default, if this is one: text, and sparse ones too large for trees."""
    if encoder.named("text"):
        return "text"
    columns = len(encoder.get_feature_names_out())
    if cluster or not encoder.sparse_output_ or rows * columns <= LARGEST_SPARSE:  # a cluster grows no trees
        return ""
    return f"a sparse table as large as {rows:,} × {columns:,}"
