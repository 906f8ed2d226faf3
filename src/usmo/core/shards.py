"""Work that goes to the rows: a table in shards, what a solver keeps for their rows, and what comes back.

What a solver keeps for every row stays with the row. To work on it, the solver sends a function and a few
arguments to every shard; what the shards find comes back added up, or shard by shard where it is little. Alone on
a machine a solver has one shard, all rows in memory (:class:`Here`); on a cluster the shards are on its workers
(:mod:`usmo.dask`). No solver knows which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np


class Found(NamedTuple):
    """What a shard found: numbers or arrays to be added up, and numbers of which the highest counts."""

    sums: tuple[Any, ...] = ()
    highs: tuple[float, ...] = ()


class Each(list[Any]):
    """An argument that differs from shard to shard: one value for each, in their order."""


class Lost(Exception):
    """What was kept for the rows of a shard is gone, with the worker that kept it."""


class Team(Protocol):
    """The shards of one table, in the order of its rows. Functions and arguments must be picklable."""

    size: int

    def total(self, work: Callable[..., Found], *args: Any) -> Found:
        """Call ``work(shard, *args)`` on every shard and merge what they find."""

    def gather(self, work: Callable[..., Any], *args: Any) -> list[Any]:
        """Call ``work(shard, *args)`` on every shard; what each returns, which must be little."""


class Here:
    """Shards in the memory of this process, one after the other; each may use threads."""

    def __init__(self, *shards: Any) -> None:
        self.shards = shards
        self.size = len(shards)

    def total(self, work: Callable[..., Found], *args: Any) -> Found:
        return merged(self.gather(work, *args))

    def gather(self, work: Callable[..., Any], *args: Any) -> list[Any]:
        return [work(shard, *of_shard(args, k)) for k, shard in enumerate(self.shards)]


class Inside:
    """The team of what every shard of another team keeps under a name."""

    def __init__(self, team: Team, name: str) -> None:
        self.team, self.name, self.size = team, name, team.size

    def total(self, work: Callable[..., Found], *args: Any) -> Found:
        return self.team.total(_inside, self.name, work, *args)

    def gather(self, work: Callable[..., Any], *args: Any) -> list[Any]:
        return self.team.gather(_inside, self.name, work, *args)


def _inside(shard: Any, name: str, work: Callable[..., Any], *args: Any) -> Any:
    return work(getattr(shard, name), *args)


def of_shard(args: Sequence[Any], k: int) -> list[Any]:
    """The arguments for shard k."""
    return [arg[k] if isinstance(arg, Each) else arg for arg in args]


def merged(parts: Sequence[Found]) -> Found:
    """Sums added up in the order of the shards, so that they are the same every time; the highest of the highs."""
    first = parts[0]
    if len(parts) == 1:
        return first
    sums = []
    for k in range(len(first.sums)):
        value = first.sums[k]
        for part in parts[1:]:
            value = value + part.sums[k]
        sums.append(value)
    # a value that is not a number is the highest, so that it is seen
    highs = tuple(float(np.max([part.highs[k] for part in parts])) for k in range(len(first.highs)))
    return Found(tuple(sums), highs)
