"""The cache of kernel rows."""

import numpy as np

from usmo.solvers.row_cache import RowCache


def test_cache_evicts_the_least_recently_used_rows():
    computed = []

    def compute(which, out, slots):
        computed.append(which.tolist())
        out[slots] = which[:, None]

    cache = RowCache(compute, members=10, width=3, budget=4 * 3 * 8)
    assert cache.capacity == 4
    cache.fetch(np.array([1, 2, 3]))
    cache.fetch(np.array([1, 4]))
    cache.fetch(np.array([5, 1, 6]))  # 2 and 3 were used least recently
    assert computed == [[1, 2, 3], [4], [5, 6]]
    assert [k for k in range(10) if cache.slot[k] >= 0] == [1, 4, 5, 6]
    for k in (1, 4, 5, 6):
        np.testing.assert_array_equal(cache.buffer[cache.slot[k]], [k, k, k])
