"""Shards on the workers of a Dask cluster.

A shard is the result of a task that depends on its rows. A call on it is a task that depends on the shard and changes
it in place, so the state that a solver keeps for its rows never moves. One task serves all shards of one thread of a
worker and merges their results; a tree of tasks merges the rest.

Dask places and repeats tasks, and computes rows again that were lost with a worker. It cannot restore the state of a
shard. So shards count the calls they have served, and one that comes back without its state raises
:class:`usmo.core.shards.ShardLost`. The block solver then starts again from its last σ, the linear solver from its last
decision function.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future as FutureOfThread
from concurrent.futures import TimeoutError as TimeoutOfThread
from dataclasses import dataclass
from typing import Any

import numpy as np
from distributed import Client, Future, KilledWorker, TimeoutError, get_worker, wait
from distributed.client import FutureCancelledError, FuturesCancelledError
from distributed.protocol import pickle
from scipy import sparse

from usmo.core.shards import Partial, PerShard, ShardLost, merged

FAN = 8
"""Results that one task of the tree merges."""

_LARGE = 50_000
"""Bytes of arguments from which they are sent once to every worker, not with every task."""

PATIENCE = 120.0
"""Seconds without any worker after which the fit fails."""

_CHECK_SECONDS = 1.0
"""Seconds after which the driver checks whether the workers of a pending call are alive."""


@dataclass
class Account:
    """Number of calls of one function, and bytes of their arguments for all shards together."""

    calls: int = 0
    asked: int = 0


class RemoteShard:
    """A shard on its worker, the number of calls it has served, and its answer to the last one."""

    def __init__(self, shard: Any, name: str) -> None:
        self.shard, self.name = shard, name
        self.served, self.answer = 0, None
        self.bytes: dict[str, int] = {}


class ClusterShards:
    """Shards made by ``open_shard(block, *args)`` on the worker of each block.

    ``args`` may contain a :class:`usmo.core.shards.PerShard`. ``account`` counts calls and bytes sent.
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
            raise ShardLost
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
        """Groups of shards that one task serves: as many groups on a worker as it has threads."""
        threads = self.client.nthreads()
        groups = []
        for owner in dict.fromkeys(self.owners):
            mine = [k for k, other in enumerate(self.owners) if other == owner]
            parts = np.array_split(mine, min(len(mine), threads.get(owner, 1)))
            groups += [(owner, part.tolist()) for part in parts]
        return groups

    def merge(self, function: Callable[..., Partial], *args: Any) -> Partial:
        parts = self._call(function, args, True)
        while len(parts) > 1:
            parts = [
                parts[k] if k + 1 == len(parts) else self.client.submit(merged, parts[k : k + FAN], pure=False)
                for k in range(0, len(parts), FAN)
            ]
        return self._results(parts)[0]

    def gather(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        answers: list[Any] = [None] * self.size
        for (_, shards), part in zip(self._groups, self._results(self._call(function, args, False)), strict=True):
            for k, answer in zip(shards, part, strict=True):
                answers[k] = answer
        return answers

    def answered(self) -> dict[str, int]:
        """Bytes of all answers that left the workers, by the name of the function."""
        total: dict[str, int] = {}
        firsts = [(self._shards[shards[0]], owner) for owner, shards in self._groups]
        for part in self._results(
            [self.client.submit(_answered, kept, workers=[owner], pure=False) for kept, owner in firsts]
        ):
            for name, size in part.items():
                total[name] = total.get(name, 0) + size
        return total

    def _call(self, function: Callable[..., Any], args: tuple[Any, ...], merge: bool) -> list[Future]:
        self._served += 1
        sent, own = self._split(args)
        account = self.account.setdefault(_name(function, args), Account())
        account.calls += 1
        shared = [arg for arg in args if not isinstance(arg, PerShard)]
        account.asked += len(self._groups) * payload(shared) + payload(own)
        return [
            self.client.submit(
                _call_group, [self._shards[k] for k in shards], self._served, function, sent, [own[k] for k in shards],
                merge, workers=[owner], pure=False,
            )
            for owner, shards in self._groups
        ]  # fmt: skip

    def _split(self, args: Sequence[Any]) -> tuple[Any, list[dict[int, Any]]]:
        """Arguments common to all shards (a future if they are large), and for each shard its own."""
        common: Any = [None if isinstance(arg, PerShard) else arg for arg in args]
        differing = [k for k, arg in enumerate(args) if isinstance(arg, PerShard)]
        common = sent_once(self.client, common)
        return common, [{k: args[k][shard] for k in differing} for shard in range(self.size)]

    def _results(self, futures: list[Future]) -> list[Any]:
        """The results, or ShardLost if a worker of a shard has disappeared.

        A worker may also disappear between the end of a task and the arrival of its result. Dask would then wait for
        ever, because the task can only be repeated on that worker. A transfer that takes long is not cancelled: later
        ones of the client may have joined it, and all that come after them would be cancelled too.
        """
        transfer: FutureOfThread[list[Any]] | None = None
        while True:
            try:
                if transfer is None:
                    wait(futures, timeout=_CHECK_SECONDS)
                    loop: Any = self.client.loop
                    transfer = asyncio.run_coroutine_threadsafe(self._gather(futures), loop.asyncio_loop)
                return transfer.result(timeout=_CHECK_SECONDS)
            except (TimeoutError, TimeoutOfThread):
                if not set(self.owners) <= set(self.client.nthreads()):
                    raise ShardLost from None
            except (KilledWorker, FutureCancelledError, FuturesCancelledError):
                raise ShardLost from None

    async def _gather(self, futures: list[Future]) -> list[Any]:
        return await self.client.gather(futures, asynchronous=True)

    def close(self) -> None:
        """Release the shards."""
        self._shards = []


def awaited(client: Client, futures: Sequence[Future]) -> None:
    """Wait for futures and raise the first error among them, or an error if there is no worker for long."""
    gone: float | None = None
    while True:
        try:
            wait(futures, timeout=_CHECK_SECONDS)
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
    """Arguments for tasks on all workers: unchanged, or if large a future, which every worker fetches once."""
    if payload(args) <= _LARGE:
        return args
    try:
        return client.scatter([args], broadcast=True, hash=False)[0]
    except (OSError, TimeoutError):  # a worker went away
        raise ShardLost from None


def _opened(
    open_shard: Callable[..., Any], name: str, block: Any, common: list[Any], own: dict[int, Any]
) -> RemoteShard:
    return RemoteShard(open_shard(block, *_both(common, own)), name)


def _both(common: list[Any], own: dict[int, Any]) -> list[Any]:
    return [own.get(k, arg) for k, arg in enumerate(common)]


def _call_group(
    group: list[RemoteShard],
    call: int,
    function: Callable[..., Any],
    common: list[Any],
    own: list[dict[int, Any]],
    merge: bool,
) -> Any:
    """The answers of a group of shards, merged if asked for."""
    answers = [_answer(shard, call, function, _both(common, mine)) for shard, mine in zip(group, own, strict=True)]
    result = merged(answers) if merge else answers
    name = _name(function, common)
    group[0].bytes[name] = group[0].bytes.get(name, 0) + payload(result)
    return result


def _answer(remote: RemoteShard, call: int, function: Callable[..., Any], args: list[Any]) -> Any:
    if call == remote.served:  # a repeated call: the answer was lost on its way
        return remote.answer
    if call != remote.served + 1:
        raise ShardLost
    answer = function(remote.shard, *args)
    if _has_nan(answer):
        raise ValueError(f"{_name(function, args)} of {remote.name} on worker {get_worker().address} returned NaN")
    remote.served, remote.answer = call, answer
    return answer


def _answered(remote: RemoteShard) -> dict[str, int]:
    return remote.bytes


def _name(function: Callable[..., Any], args: Sequence[Any]) -> str:
    """The name of a function, also if SubShards passes it as an argument."""
    return next((str(arg.__name__) for arg in args if callable(arg)), function.__name__)


def _has_nan(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_has_nan(part) for part in value)
    if isinstance(value, float):
        return value != value
    if isinstance(value, np.ndarray | np.floating) and value.dtype.kind == "f":
        return bool(np.isnan(value).any())
    return sparse.issparse(value) and _has_nan(value.data)


def payload(value: Any) -> int:
    """Bytes of the numbers in a value, without protocol overhead; of other objects, their pickled size."""
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
