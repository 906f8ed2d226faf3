"""Rows in shards: functions run where the rows are, and results come back.

What a solver keeps for each row (σ, f, kernel values) stays with the shard of that row. On one machine there is one
shard with all rows (:class:`LocalShards`); on a cluster each worker has some (:mod:`usmo.dask`). A solver calls the
same methods in both cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np


class Partial(NamedTuple):
    """The result of one shard. Shards merge ``sums`` by sum and ``maxima`` by maximum."""

    sums: tuple[Any, ...] = ()
    maxima: tuple[float, ...] = ()


class PerShard(list[Any]):
    """An argument with one value for each shard, in their order."""


class ShardLost(Exception):
    """A worker is gone, and with it what it kept for the rows of a shard."""


class Shards(Protocol):
    """The shards of one table, in the order of its rows. Functions and arguments must be picklable."""

    size: int

    def merge(self, function: Callable[..., Partial], *args: Any) -> Partial:
        """Call ``function(shard, *args)`` on every shard and merge the results."""

    def gather(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """Call ``function(shard, *args)`` on every shard and return all results."""


class LocalShards:
    """Shards in the memory of this process, called one after the other. Each may use threads."""

    def __init__(self, *shards: Any) -> None:
        self.shards = shards
        self.size = len(shards)

    def merge(self, function: Callable[..., Partial], *args: Any) -> Partial:
        return merged(self.gather(function, *args))

    def gather(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        return [function(shard, *_arguments(args, k)) for k, shard in enumerate(self.shards)]


class SubShards:
    """One attribute of every shard, usable as shards: functions get ``getattr(shard, attribute)``."""

    def __init__(self, shards: Shards, attribute: str) -> None:
        self.shards, self.attribute, self.size = shards, attribute, shards.size

    def merge(self, function: Callable[..., Partial], *args: Any) -> Partial:
        return self.shards.merge(_call_on_attribute, self.attribute, function, *args)

    def gather(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        return self.shards.gather(_call_on_attribute, self.attribute, function, *args)


def _call_on_attribute(shard: Any, attribute: str, function: Callable[..., Any], *args: Any) -> Any:
    return function(getattr(shard, attribute), *args)


def _arguments(args: Sequence[Any], k: int) -> list[Any]:
    """The arguments of shard k."""
    return [arg[k] if isinstance(arg, PerShard) else arg for arg in args]


def merged(parts: Sequence[Partial]) -> Partial:
    """Merge the results of several shards. Sums are added in the order of the shards, so they are reproducible."""
    first = parts[0]
    if len(parts) == 1:
        return first
    sums = []
    for k in range(len(first.sums)):
        value = first.sums[k]
        for part in parts[1:]:
            value = value + part.sums[k]
        sums.append(value)
    # np.max, not max: a NaN in one shard must not get lost
    maxima = tuple(float(np.max([part.maxima[k] for part in parts])) for k in range(len(first.maxima)))
    return Partial(tuple(sums), maxima)
