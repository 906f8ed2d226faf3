"""The rows of the ranking table: unlabelled rows, highest decision value first, each with its explanation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from usmo.core.arrays import Array
from usmo.report.context import ReportContext

_FOR, _AGAINST = 4, 2
"""Columns shown that speak for a row, and that speak against it."""

_SLIGHT = 0.01
"""Effects below this share of the greatest one of a row are left out."""

_DECIMALS = range(3, 10)
"""Decimals of the scores: as few as show that nearly all neighbours in the ranking differ."""

_DISTINCT = 0.98


class Fact(NamedTuple):
    """A column of the table in one row: its value, that of a typical known positive, and its effect on the score."""

    name: str
    value: Any
    typical: Any
    effect: float


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
    facts: list[Fact]


def ranking_rows(context: ReportContext) -> list[RankedRow]:
    """The lines of the table."""
    facts = _facts(context)
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
            facts=facts[k],
        )
        for k, row in enumerate(context.listed)
    ]


def _facts(context: ReportContext) -> list[list[Fact]]:
    """For each listed row, the columns that speak most for it, then those that speak most against it."""
    effects = context.effects
    if effects is None:
        return [[] for _ in context.listed]
    names = list(context.groups)
    typical = {name: context.typical(name, context.positives) for name in names}
    values = {name: context.values(name, context.listed) for name in names}
    return [
        [Fact(names[j], values[names[j]][k], typical[names[j]], float(line[j])) for j in _telling(line)]
        for k, line in enumerate(effects)
    ]


def _telling(effects: Array) -> list[int]:
    """The columns with the greatest effects upwards, and downwards."""
    order = np.argsort(-effects, kind="stable").tolist()
    least = _SLIGHT * float(np.abs(effects).max())
    above = [j for j in order if effects[j] > least]
    below = [j for j in reversed(order) if effects[j] < -least]
    return [*above[:_FOR], *below[:_AGAINST]]


def score_decimals(f: Array) -> int:
    """Decimals that show nearly all different neighbours of an ordered list of scores as different."""
    different = np.count_nonzero(np.diff(f))
    for decimals in _DECIMALS:
        if np.count_nonzero(np.diff(np.round(f, decimals))) >= _DISTINCT * different:
            return decimals
    return _DECIMALS[-1]
