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
    """Keeps BLAS at one thread while tiles are computed, for any number of concurrent fits.

    A limit on the whole process is set by the first block to begin and lifted by the last one to end, whichever their
    threads. A limit on one thread (MKL, OpenBLAS with OpenMP) is set in every thread that computes.
    """

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._process_wide: list[Any] | None = None
        self._per_thread: list[Any] | None = None
        self._before: list[tuple[Any, int]] = []

    @contextmanager
    def single(self) -> Iterator[int]:
        with self._lock:
            if self._users == 0:
                self._before = _limit(self._libraries())
            self._users += 1
        own = self.limit_thread()
        try:
            yield min([_cores(), *(count for _, count in (*self._before, *own))])
        finally:
            _restore(own)
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    _restore(self._before)

    def limit_thread(self) -> list[tuple[Any, int]]:
        """Limit the libraries that count threads per calling thread; returns their counts before."""
        return _limit(self._per_thread or [])

    def lift(self) -> None:
        """Lift the limit in a forked process, which does not have the threads that would."""
        if self._users:
            _restore(self._before)

    def _libraries(self) -> list[Any]:
        """The libraries with process-wide limits. The others show when a limit set here is not seen elsewhere."""
        if self._process_wide is None:
            self._process_wide = list(ThreadpoolController().select(user_api="blas").lib_controllers)
        if self._per_thread is None and any(library.num_threads > 1 for library in self._process_wide):
            before = _limit(self._process_wide)
            with ThreadPoolExecutor(1) as elsewhere:
                counts = list(elsewhere.map(lambda library: library.num_threads, self._process_wide))
            _restore(before)
            self._per_thread = [library for (library, _), n in zip(before, counts, strict=True) if n > 1]
            self._process_wide = [library for library in self._process_wide if library not in self._per_thread]
        return self._process_wide


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _limit(libraries: list[Any]) -> list[tuple[Any, int]]:
    """Set libraries to one thread; returns their counts before."""
    before = [(library, library.num_threads) for library in libraries]
    for library, count in before:
        if count > 1:
            _set_threads(library, 1)
    return before


def _restore(before: list[tuple[Any, int]]) -> None:
    """Set the counts that were before a limit, except those that someone else has changed meanwhile."""
    for library, count in before:
        if count > 1 and library.num_threads == 1:
            _set_threads(library, count)


def _set_threads(library: Any, count: int) -> None:
    # since threadpoolctl 3.8 set_num_threads of OpenBLAS does nothing except in the thread that called it first
    getattr(library, "_real_set_num_threads", library.set_num_threads)(count)


_BLAS = _Blas()


def single_blas() -> AbstractContextManager[int]:
    """Keep BLAS at one thread inside the block; yields the number of threads for tiles."""
    return _BLAS.single()


_POOLS: dict[tuple[int, int], ThreadPoolExecutor] = {}


def _pool(threads: int) -> ThreadPoolExecutor:
    """The pool of this process. A pool made before a fork has no threads after it."""
    key = (os.getpid(), threads)
    if key not in _POOLS:
        _POOLS[key] = ThreadPoolExecutor(threads, thread_name_prefix="usmo", initializer=_begin_pool_thread)
    return _POOLS[key]


def _begin_pool_thread() -> None:
    _LOCAL.in_pool = True
    _BLAS.limit_thread()


def _after_fork() -> None:
    global _BLAS
    parent, _BLAS = _BLAS, _Blas()
    parent.lift()
    _POOLS.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
