"""Threads over tiles: results, nesting, forks, errors, and the threads of BLAS afterwards."""

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import Parallel, delayed
from threadpoolctl import threadpool_info, threadpool_limits

from tests.oracles import random_table
from usmo import PUSVC
from usmo.kernels import threads
from usmo.kernels.tables import squared_norms
from usmo.kernels.threads import over_tiles, single_blas
from usmo.kernels.tiles import rbf_block


def _sum_of_block(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(300, 5))
    return float(rbf_block(A, A, squared_norms(A), squared_norms(A), 0.1).sum())


def _blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def _in_threads(number, work):
    workers = [threading.Thread(target=work) for _ in range(number)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _overlapping(read):
    """Begin a limit in one thread, a second one in another, and end them in that order.

    Returns the counts in both threads at each moment: before, with one limit, with both, after the first, after both.
    """
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as two:

        def look():
            return one.submit(read).result(), two.submit(read).result()

        first, second = single_blas(), single_blas()
        counts = [look()]
        for pool, step in (
            (one, first.__enter__),
            (two, second.__enter__),
            (one, lambda: first.__exit__(None, None, None)),
            (two, lambda: second.__exit__(None, None, None)),
        ):
            pool.submit(step).result()
            counts.append(look())
    return counts


COUNTS = _blas_threads()
"""Read when the tests are collected, before any of them can change it."""

several = pytest.mark.skipif(min(COUNTS) < 2, reason="BLAS has one thread here")


def test_tiles_inside_tiles_do_not_deadlock():
    sums = np.zeros(8)

    def outer(part):
        sums[part] = sum(_sum_of_block(k) for k in range(part.start, part.stop))

    worker = threading.Thread(target=over_tiles, args=(outer, 8, 1), daemon=True)
    worker.start()
    worker.join(60)
    assert not worker.is_alive()
    np.testing.assert_allclose(sums, [_sum_of_block(k) for k in range(8)], rtol=1e-12)


def test_concurrent_calls_agree_and_leave_the_threads_of_blas_unchanged():
    expected, sums = _sum_of_block(1), []
    _in_threads(8, lambda: sums.append(_sum_of_block(1)))
    assert sums == pytest.approx([expected] * 8, rel=1e-12)
    assert _blas_threads() == COUNTS


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_correct_under_joblib(backend):
    expected = [_sum_of_block(seed) for seed in range(4)]
    sums = Parallel(n_jobs=2, backend=backend)(delayed(_sum_of_block)(seed) for seed in range(4))
    assert sums == pytest.approx(expected, rel=1e-12)


def test_correct_after_a_fork():
    expected = _sum_of_block(3)  # the pool and its threads exist before the fork
    with multiprocessing.get_context("fork").Pool(2) as pool:
        sums = pool.map_async(_sum_of_block, [3, 3, 3]).get(timeout=60)
    assert sums == pytest.approx([expected] * 3, rel=1e-12)


def test_number_of_threads_follows_threadpoolctl():
    names = set()

    def note(part):
        names.add(threading.current_thread().name)

    with threadpool_limits(1):
        over_tiles(note, 100, 10)
    assert names == {threading.current_thread().name}


def test_error_in_a_tile_reaches_the_caller_and_restores_the_threads_of_blas():

    def broken(part):
        raise RuntimeError("tile")

    with pytest.raises(RuntimeError, match="tile"):
        over_tiles(broken, 100, 10)
    assert _blas_threads() == COUNTS


@several
def test_limit_set_in_one_thread_is_lifted_in_another():
    one = [1] * len(COUNTS)
    assert _overlapping(_blas_threads) == [(COUNTS, COUNTS), (one, one), (one, one), (one, one), (COUNTS, COUNTS)]
    assert _blas_threads() == COUNTS


def test_fits_in_eight_threads_leave_the_threads_of_blas_unchanged():
    X, y = random_table(0, n=300, p=40)
    _in_threads(8, lambda: PUSVC(0.4).fit(X, y))
    assert _blas_threads() == COUNTS


@several
def test_limits_of_the_user_in_another_thread_stay_and_do_not_disable_ours():
    inside = []
    with threadpool_limits(2, user_api="blas"):
        _in_threads(1, lambda: over_tiles(lambda part: inside.append(_blas_threads()), 1, 1))
        assert inside == [[1] * len(COUNTS)]
        assert _blas_threads() == [2] * len(COUNTS)
    assert _blas_threads() == COUNTS


@several
def test_limit_lifted_by_the_user_inside_the_block_is_not_set_again():
    with ThreadPoolExecutor(1) as user:
        limit = user.submit(threadpool_limits, 2, "blas").result()
        with single_blas():
            user.submit(limit.restore_original_limits).result()
        assert _blas_threads() == COUNTS


@several
def test_process_forked_inside_the_block_has_all_threads_of_blas():
    with single_blas(), multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_blas_threads).get(timeout=60) == COUNTS


class _PerThread(threading.local):
    """A library that counts threads per calling thread, as MKL does."""

    num_threads = 4

    def set_num_threads(self, count):
        self.num_threads = count


def test_library_with_limits_per_thread_is_limited_in_each(monkeypatch):
    library = _PerThread()
    fake = SimpleNamespace(select=lambda **_: SimpleNamespace(lib_controllers=[library]))
    monkeypatch.setattr(threads, "ThreadpoolController", lambda: fake)
    monkeypatch.setattr(threads, "_BLAS", threads._Blas())
    monkeypatch.setattr(threads, "_POOLS", {})
    monkeypatch.setattr(threads, "_cores", lambda: 4)
    assert _overlapping(lambda: library.num_threads) == [(4, 4), (1, 4), (1, 1), (4, 1), (4, 4)]
    inside = []
    over_tiles(lambda part: inside.append((threading.current_thread().name[:4], library.num_threads)), 8, 1)
    assert inside == [("usmo", 1)] * 8
    assert library.num_threads == 4
