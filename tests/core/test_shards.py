"""Shards: what is sent to them, and how their results are merged."""

import math
from types import SimpleNamespace

import numpy as np

from usmo.core.shards import LocalShards, Partial, PerShard, SubShards, merged


def scaled(shard, factor, own):
    return Partial((factor * shard.value, np.full(2, own)), (float(shard.value),))


def three_shards():
    shards = [SimpleNamespace(value=value, inner=SimpleNamespace(value=10 * value)) for value in (1, 2, 3)]
    return LocalShards(*shards)


def test_sums_are_added_and_of_maxima_the_largest_is_kept():
    total = three_shards().merge(scaled, 2, PerShard([5, 6, 7]))
    assert total.sums[0] == 12
    np.testing.assert_array_equal(total.sums[1], [18, 18])
    assert total.maxima == (3.0,)
    assert [part.sums[0] for part in three_shards().gather(scaled, 1, 0)] == [1, 2, 3]


def test_attributes_of_shards_are_shards_too():
    inner = SubShards(three_shards(), "inner")
    assert inner.size == 3
    assert inner.merge(scaled, 1, PerShard([0, 0, 1])).sums[0] == 60
    assert inner.gather(scaled, 1, 0)[2].maxima == (30.0,)


def test_sums_are_made_in_the_order_of_the_shards():
    parts = [Partial((value,)) for value in (1e16, 1.0, -1e16, 1.0)]
    assert merged(parts).sums == (((1e16 + 1.0) - 1e16) + 1.0,)


def test_nan_in_one_shard_is_the_maximum():
    assert math.isnan(merged([Partial((), (1.0,)), Partial((), (math.nan,)), Partial((), (2.0,))]).maxima[0])


def test_extended_precision_survives_merging():
    part = np.longdouble(1) + np.finfo(np.longdouble).eps
    assert merged([Partial((part,)), Partial((np.longdouble(-1),))]).sums[0] == np.finfo(np.longdouble).eps
