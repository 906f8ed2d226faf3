"""The rows of the ranking table: unlabelled rows, highest decision value first, each with its explanation."""

from __future__ import annotations

from typing import NamedTuple

from usmo.report.context import ReportContext


class RankedRow(NamedTuple):
    """One line of the table. ``nearest`` are (id, distance) of known positives, ``columns`` (name, number).

    ``words`` are those that speak for and against a document, with what they add to its score.
    """

    rank: int
    id: str
    f: float
    probability: float | None
    nearest: list[tuple[str, float]]
    columns: list[tuple[str, float]]
    title: str
    words: tuple[list[tuple[str, float]], list[tuple[str, float]]]


def ranking_rows(context: ReportContext) -> list[RankedRow]:
    """The lines of the table."""
    return [
        RankedRow(
            rank=k + 1,
            id=context.identity(int(row)),
            f=float(context.f[row]),
            probability=None if context.probability is None else float(context.probability[k]),
            nearest=[
                (context.identity(int(near)), float(distance))
                for near, distance in zip(*context.neighbours[k], strict=True)
            ],
            columns=[(context.column_name(j), value) for j, value in context.telling_columns[k]],
            title="" if context.titles is None else context.titles[row],
            words=context.telling_words[k],
        )
        for k, row in enumerate(context.listed)
    ]
