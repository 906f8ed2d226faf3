"""Threads over tiles: results, nesting, forks, errors, and the threads of BLAS afterwards."""

import multiprocessing
import threading

import numpy as np
import pytest
from joblib import Parallel, delayed
from threadpoolctl import threadpool_info, threadpool_limits

from usmo.kernels.tables import squared_norms
from usmo.kernels.threads import over_tiles
from usmo.kernels.tiles import rbf_block


def _sum_of_block(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(300, 5))
    return float(rbf_block(A, A, squared_norms(A), squared_norms(A), 0.1).sum())


def _blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


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
    before, expected = _blas_threads(), _sum_of_block(1)
    sums = []
    threads = [threading.Thread(target=lambda: sums.append(_sum_of_block(1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sums == pytest.approx([expected] * 8, rel=1e-12)
    assert _blas_threads() == before


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
    before = _blas_threads()

    def broken(part):
        raise RuntimeError("tile")

    with pytest.raises(RuntimeError, match="tile"):
        over_tiles(broken, 100, 10)
    assert _blas_threads() == before
