"""Threads over tiles: a pool per process, BLAS at one thread meanwhile, scratch memory per thread.

The pool is ours, because Numba's parallel back ends abort on concurrent calls or after a fork. Its size is the number
of threads that threadpoolctl reports for BLAS.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

_LOCAL = threading.local()


def scratch(size: int, dtype: Any) -> Any:
    """Memory of this thread, reused for every tile: allocating it anew costs as much as the work on a tile."""
    memory = getattr(_LOCAL, "scratch", None)
    if memory is None or memory.nbytes < size * dtype.itemsize:
        memory = _LOCAL.scratch = np.empty(size * dtype.itemsize, dtype=np.uint8)
    return memory[: size * dtype.itemsize].view(dtype)


def over_tiles(work: Callable[[slice], None], length: int, step: int) -> None:
    """Call ``work`` on consecutive slices, in threads if there is more than one slice and one core.

    A call from inside ``work`` runs in the calling thread: a pool thread that waits for the pool would wait for ever.
    """
    parts = [slice(k, min(k + step, length)) for k in range(0, length, step)]
    with single_blas() as threads:
        if threads == 1 or len(parts) < 2 or getattr(_LOCAL, "in_pool", False):
            for part in parts:
                work(part)
        else:
            for _ in _pool(threads).map(work, parts):
                pass


class _Blas:
    """Keeps BLAS at one thread while tiles are computed, for any number of concurrent fits."""

    def __init__(self) -> None:
        self._lock, self._users, self._threads = threading.Lock(), 0, 1
        self._controller: ThreadpoolController | None = None
        self._limit: Any = None

    @contextmanager
    def single(self) -> Iterator[int]:
        with self._lock:
            if self._controller is None:
                self._controller = ThreadpoolController()
            if self._users == 0:
                blas = self._controller.select(user_api="blas")
                cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
                self._threads = min([cores, *(m["num_threads"] for m in blas.info())])
                self._limit = blas.limit(limits=1)
                self._limit.__enter__()
            self._users += 1
        try:
            yield self._threads
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._limit.__exit__(None, None, None)


_BLAS = _Blas()


def single_blas() -> AbstractContextManager[int]:
    """Keep BLAS at one thread inside the block; yields the number of threads for tiles."""
    return _BLAS.single()


_POOLS: dict[tuple[int, int], ThreadPoolExecutor] = {}


def _pool(threads: int) -> ThreadPoolExecutor:
    """The pool of this process. A pool made before a fork has no threads after it."""
    key = (os.getpid(), threads)
    if key not in _POOLS:
        mark = partial(setattr, _LOCAL, "in_pool", True)
        _POOLS[key] = ThreadPoolExecutor(threads, thread_name_prefix="usmo", initializer=mark)
    return _POOLS[key]


def _after_fork() -> None:
    global _BLAS
    _BLAS = _Blas()
    _POOLS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
