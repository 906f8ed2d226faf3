"""Teams of shards: what is sent to them, and how what they find is put together."""

import math
from types import SimpleNamespace

import numpy as np

from usmo.core.shards import Each, Found, Here, Inside, merged


def found(shard, factor, own):
    return Found((factor * shard.value, np.full(2, own)), (float(shard.value),))


def team():
    shards = [SimpleNamespace(value=value, inner=SimpleNamespace(value=10 * value)) for value in (1, 2, 3)]
    return Here(*shards)


def test_sums_are_added_and_the_highest_counts():
    total = team().total(found, 2, Each([5, 6, 7]))
    assert total.sums[0] == 12
    np.testing.assert_array_equal(total.sums[1], [18, 18])
    assert total.highs == (3.0,)
    assert [part.sums[0] for part in team().gather(found, 1, 0)] == [1, 2, 3]


def test_what_shards_keep_under_a_name_is_a_team_too():
    inside = Inside(team(), "inner")
    assert inside.size == 3
    assert inside.total(found, 1, Each([0, 0, 1])).sums[0] == 60
    assert inside.gather(found, 1, 0)[2].highs == (30.0,)


def test_sums_are_made_in_the_order_of_the_shards():
    parts = [Found((value,)) for value in (1e16, 1.0, -1e16, 1.0)]
    assert merged(parts).sums == (((1e16 + 1.0) - 1e16) + 1.0,)


def test_a_value_that_is_not_a_number_is_the_highest():
    assert math.isnan(merged([Found((), (1.0,)), Found((), (math.nan,)), Found((), (2.0,))]).highs[0])


def test_sums_keep_their_precision():
    """Extended precision stays where a shard uses it."""
    part = np.longdouble(1) + np.finfo(np.longdouble).eps
    assert merged([Found((part,)), Found((np.longdouble(-1),))]).sums[0] == np.finfo(np.longdouble).eps
