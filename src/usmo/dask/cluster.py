"""A team whose shards are on the workers of a Dask cluster.

A shard is the result of a task that depends on its rows; work on it is a task that depends on the shard and
changes it in place, so that what a solver keeps for its rows never moves. A task works on all shards of a thread
of a worker, one after the other, and what they find is merged there; then by a tree of tasks.
Dask places, ships and repeats tasks, and computes rows that were lost with a worker again from where they came
from. What it cannot bring back is what was kept for them: shards count the calls they have served, and one that
comes back without them raises :class:`usmo.core.shards.Lost`. The solver then starts again from its last decision
function.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client, Future, KilledWorker, TimeoutError, get_worker, wait
from distributed.client import FutureCancelledError, FuturesCancelledError
from distributed.protocol import pickle
from distributed.utils import sync
from scipy import sparse

from usmo.core.shards import Each, Found, Lost, merged

FAN = 8
"""Results that one task of the tree merges."""

_LARGE = 50_000
"""Bytes of arguments from which they are sent to every worker once, not with every task."""

PATIENCE = 120.0
"""Seconds for which a cluster may be without any worker."""

_LOOK = 1.0
"""Seconds after which a call that has not come back makes the driver look whether all workers are there."""


@dataclass
class Account:
    """Calls of one kind of work, and bytes of their arguments for all shards together."""

    calls: int = 0
    asked: int = 0


class Kept:
    """A shard on its worker, the calls it has served, and what it answered to the last."""

    def __init__(self, shard: Any, name: str) -> None:
        self.shard, self.name = shard, name
        self.served, self.answer = 0, None
        self.bytes: dict[str, int] = {}


class Cluster:
    """Shards opened by ``open_shard(block, *args)`` for every block, where the block is.

    ``args`` may have an :class:`usmo.core.shards.Each` among them. ``account`` tells what was asked of the shards.
    """

    def __init__(
        self, client: Client, blocks: Sequence[Future], open_shard: Callable[..., Any], *args: Any
    ) -> None:
        self.client, self.blocks = client, list(blocks)
        self.size = len(self.blocks)
        self.account: dict[str, Account] = {}
        self._served = 0
        awaited(client, self.blocks)
        holders = self.client.who_has(self.blocks)
        if not all(holders.get(block.key) for block in self.blocks):
            raise Lost
        self.owners = [sorted(holders[block.key])[0] for block in self.blocks]
        sent, own = self._split(args)
        self._shards = [
            self.client.submit(
                _opened, open_shard, f"partition {k}", block, sent, own[k], workers=[owner], pure=False,
            )
            for k, (block, owner) in enumerate(zip(self.blocks, self.owners, strict=True))
        ]  # fmt: skip
        self._groups = self._by_thread()

    def _by_thread(self) -> list[tuple[str, list[int]]]:
        """Shards in groups that one task works on: as many groups on a worker as it has threads."""
        threads = self.client.nthreads()
        groups = []
        for owner in dict.fromkeys(self.owners):
            mine = [k for k, other in enumerate(self.owners) if other == owner]
            parts = np.array_split(mine, min(len(mine), threads.get(owner, 1)))
            groups += [(owner, part.tolist()) for part in parts]
        return groups

    def total(self, work: Callable[..., Found], *args: Any) -> Found:
        parts = self._call(work, args, True)
        while len(parts) > 1:
            parts = [
                parts[k] if k + 1 == len(parts) else self.client.submit(merged, parts[k : k + FAN], pure=False)
                for k in range(0, len(parts), FAN)
            ]
        return self._results(parts)[0]

    def gather(self, work: Callable[..., Any], *args: Any) -> list[Any]:
        found: list[Any] = [None] * self.size
        for (_, shards), part in zip(self._groups, self._results(self._call(work, args, False)), strict=True):
            for k, answer in zip(shards, part, strict=True):
                found[k] = answer
        return found

    def answered(self) -> dict[str, int]:
        """Bytes of all answers, by the name of the work: as they leave the workers."""
        found: dict[str, int] = {}
        firsts = [(self._shards[shards[0]], owner) for owner, shards in self._groups]
        for part in self._results(
            [self.client.submit(_answered, kept, workers=[owner], pure=False) for kept, owner in firsts]
        ):
            for name, size in part.items():
                found[name] = found.get(name, 0) + size
        return found

    def _call(self, work: Callable[..., Any], args: tuple[Any, ...], merge: bool) -> list[Future]:
        self._served += 1
        sent, own = self._split(args)
        account = self.account.setdefault(_name(work, args), Account())
        account.calls += 1
        shared = [arg for arg in args if not isinstance(arg, Each)]
        account.asked += len(self._groups) * payload(shared) + payload(own)
        return [
            self.client.submit(
                _applied, [self._shards[k] for k in shards], self._served, work, sent, [own[k] for k in shards],
                merge, workers=[owner], pure=False,
            )
            for owner, shards in self._groups
        ]  # fmt: skip

    def _split(self, args: Sequence[Any]) -> tuple[Any, list[dict[int, Any]]]:
        """Arguments that all shards share, a future for large ones, which every worker gets once; the others."""
        common: Any = [None if isinstance(arg, Each) else arg for arg in args]
        differing = [k for k, arg in enumerate(args) if isinstance(arg, Each)]
        common = sent_once(self.client, common)
        return common, [{k: args[k][shard] for k in differing} for shard in range(self.size)]

    def _results(self, futures: list[Future]) -> list[Any]:
        """The results, or Lost if a worker that keeps a shard is not there any more.

        That may also happen between the end of a task and the arrival of its result, for which Dask would then
        wait without end: the task can only be repeated where its shard was.
        """
        patience = _LOOK
        while True:
            try:
                wait(futures, timeout=_LOOK)
                loop: Any = self.client.loop
                return sync(loop, self.client.gather, futures, asynchronous=True, callback_timeout=patience)
            except TimeoutError:
                if all(future.done() for future in futures):
                    patience *= 2.0  # large results take their time
                if not set(self.owners) <= set(self.client.nthreads()):
                    raise Lost from None
            except (KilledWorker, FutureCancelledError, FuturesCancelledError):
                raise Lost from None

    def close(self) -> None:
        """Let go of the shards."""
        self._shards = []


def awaited(client: Client, futures: Sequence[Future]) -> None:
    """Wait for futures, and raise the first error among them; also if no worker is there for long."""
    gone: float | None = None
    while True:
        try:
            wait(futures, timeout=_LOOK)
            break
        except TimeoutError:
            now = time.monotonic()
            gone = None if client.nthreads() else gone or now
            if gone is not None and now - gone > PATIENCE:
                raise RuntimeError(
                    f"the cluster has had no workers for {PATIENCE:.0f} s: start them with dask worker"
                ) from None
        except (FutureCancelledError, FuturesCancelledError):
            raise RuntimeError(
                "rows were lost with a worker, and Dask does not know how to compute them again: read or make the "
                "table with Dask, instead of scattering it"
            ) from None
    for future in futures:
        if future.status == "error":
            future.result()


def sent_once(client: Client, args: list[Any]) -> Any:
    """Arguments for tasks on all workers: themselves, or a future for large ones, which every worker gets once."""
    if payload(args) <= _LARGE:
        return args
    try:
        return client.scatter([args], broadcast=True, hash=False)[0]
    except (OSError, TimeoutError):  # a worker went away
        raise Lost from None


def _opened(open_shard: Callable[..., Any], name: str, block: Any, common: list[Any], own: dict[int, Any]) -> Kept:
    return Kept(open_shard(block, *_both(common, own)), name)


def _both(common: list[Any], own: dict[int, Any]) -> list[Any]:
    return [own.get(k, arg) for k, arg in enumerate(common)]


def _applied(
    group: list[Kept],
    call: int,
    work: Callable[..., Any],
    common: list[Any],
    own: list[dict[int, Any]],
    merge: bool,
) -> Any:
    """The answers of a group of shards, or their sum."""
    answers = [_answer(kept, call, work, _both(common, mine)) for kept, mine in zip(group, own, strict=True)]
    found = merged(answers) if merge else answers
    name = _name(work, common)
    group[0].bytes[name] = group[0].bytes.get(name, 0) + payload(found)
    return found


def _answer(kept: Kept, call: int, work: Callable[..., Any], args: list[Any]) -> Any:
    if call == kept.served:  # asked again: the answer was lost on its way
        return kept.answer
    if call != kept.served + 1:
        raise Lost
    answer = work(kept.shard, *args)
    if _has_nan(answer):
        raise ValueError(
            f"{_name(work, args)} of {kept.name} on worker {get_worker().address} gave values that are not numbers"
        )
    kept.served, kept.answer = call, answer
    return answer


def _answered(kept: Kept) -> dict[str, int]:
    return kept.bytes


def _name(work: Callable[..., Any], args: Sequence[Any]) -> str:
    """The name of the work, also where it is wrapped to reach the inside of a shard."""
    return next((str(arg.__name__) for arg in args if callable(arg)), work.__name__)


def _has_nan(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_has_nan(part) for part in value)
    if isinstance(value, float):
        return value != value
    if isinstance(value, np.ndarray | np.floating) and value.dtype.kind == "f":
        return bool(np.isnan(value).any())
    return sparse.issparse(value) and _has_nan(value.data)


def payload(value: Any) -> int:
    """Bytes of the numbers in a value, without what a protocol adds to them; of other objects, all bytes."""
    if sparse.issparse(value):
        return int(value.data.nbytes + value.indices.nbytes + value.indptr.nbytes)
    if isinstance(value, dict):
        return payload(list(value.values()))
    if isinstance(value, list | tuple):
        return sum(payload(part) for part in value)
    if isinstance(value, int | float):
        return 8
    if value is None or isinstance(value, str) or callable(value):
        return 0
    size = getattr(value, "nbytes", None)
    return len(pickle.dumps(value)) if size is None else int(size)
