"""Groups dealt to folds: whole, evenly, and with rows of both kinds to train on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usmo.core.groups import check_divisible, equal_row_folds, group_codes, group_folds


@st.composite
def tables(draw):
    """Groups, kinds and weights of some rows, with labelled positives and unlabelled rows in two groups at least."""
    n = draw(st.integers(4, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    group = rng.integers(0, draw(st.integers(2, 12)), n)
    kind = rng.choice([1, 0, -1], n, p=draw(st.sampled_from([(0.2, 0.7, 0.1), (0.8, 0.2, 0.0), (0.1, 0.9, 0.0)])))
    kind[:4], group[:4] = [1, 1, 0, 0], [0, 1, 0, 1]
    return group, kind, rng.integers(1, 4, n).astype(float)


@settings(max_examples=200, deadline=None)
@given(tables(), st.integers(2, 6))
def test_no_group_is_split_and_every_training_part_has_both_kinds(table, folds):
    group, kind, weight = table
    fold = group_folds(group, kind, weight, folds)
    assert all(len(np.unique(fold[group == g])) == 1 for g in np.unique(group))
    groups_of = [len(np.unique(group[kind == k])) for k in (1, 0)]
    assert fold.max() + 1 == min(folds, *groups_of)
    assert set(fold[kind == 1]) == set(range(fold.max() + 1))  # labelled positives in every fold
    for k in range(fold.max() + 1):
        assert (kind[fold != k] == 1).any()
        assert (kind[fold != k] == 0).any()


def test_equal_groups_are_dealt_evenly():
    group = np.repeat(np.arange(30), 4)
    kind = np.repeat(np.arange(30) % 3 == 0, 4).astype(int)
    fold = group_folds(group, kind, np.ones(120), 5)
    assert np.bincount(fold[kind == 1]).tolist() == [8] * 5
    assert np.bincount(fold[kind == 0]).tolist() == [16] * 5


def test_unlabelled_rows_are_spread_even_if_all_share_groups_with_positives():
    """The two groups with unlabelled rows have the fewest positives, so both would follow the large group."""
    group = np.repeat([0, 1, 2], [10, 6, 5])
    kind = np.r_[np.ones(10), [1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 0]].astype(int)
    fold = group_folds(group, kind, np.ones(21), 2)
    assert len(np.unique(fold[kind == 0])) == 2


@pytest.mark.parametrize(
    "groups",
    [
        ["b", "a", "b", "c"],
        np.array(["b", "a", "b", "c"], dtype=object),
        [2.5, 1.0, 2.5, 7.0],
        np.array([2, 1, 2, 5], dtype=np.uint8),
    ],
)
def test_groups_may_be_text_or_numbers(groups):
    assert group_codes(groups, 4).tolist() == [1, 0, 1, 2]


def test_groups_may_be_categories_of_pandas():
    pandas = pytest.importorskip("pandas")
    assert group_codes(pandas.Series(["b", "a", "b", "c"], dtype="category"), 4).tolist() == [1, 0, 1, 2]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2, 3], r"groups must hold one group per row, 4; got shape \(3,\)"),
        ([[1], [2], [3], [4]], r"got shape \(4, 1\)"),
        ([1.0, np.nan, 2.0, 2.0], "groups must not be missing, got .*nan.* in row 1"),
        (np.array(["a", "b", None, "c"], dtype=object), "groups must not be missing, got None in row 2"),
    ],
)
def test_bad_groups_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        group_codes(groups, 4)


def test_one_group_of_a_kind_is_refused_and_few_groups_are_told():
    one, many = np.zeros(5, dtype=int), np.arange(5)
    with pytest.raises(ValueError, match="got 1 group with labelled positives and 5 with unlabelled"):
        check_divisible(one, many, 3, "lam", "give lam")
    with pytest.raises(ValueError, match="5 groups with labelled positives and 1 with unlabelled rows; give lam"):
        check_divisible(many, one, 3, "lam", "give lam")
    with pytest.raises(ValueError, match=r"and 1 with unlabelled rows$"):
        check_divisible(many, one, 3, "lam")
    with pytest.warns(UserWarning, match=r"lam uses 2 folds instead of 3: the table has 2 groups"):
        check_divisible(many % 2, many, 3, "lam", "give lam")


def test_equal_rows_share_a_fold_whatever_their_labels():
    rng = np.random.default_rng(0)
    row = rng.integers(0, 27, size=400)
    keys = rng.integers(0, 2**63, size=27, dtype=np.uint64)[row]
    fold = equal_row_folds(rng.random(400) < 0.3, keys, 5)
    assert all(len(np.unique(fold[row == each])) == 1 for each in range(27))
    assert len(np.unique(fold)) == 5


@pytest.mark.parametrize("shared", [0, 1, 7])
def test_folds_have_equally_many_different_rows_of_each_kind(shared):
    keys = np.random.default_rng(1).permutation(103).astype(np.uint64)
    labelled = np.arange(103 + shared) < 23
    keys = np.append(keys, keys[:shared])  # the first labelled rows again, without labels
    fold = equal_row_folds(labelled, keys, 5)
    for kind in (labelled, ~labelled):
        assert np.ptp(np.bincount(fold[kind], minlength=5)) <= 1


def test_two_different_labelled_rows_are_in_different_folds():
    keys = np.array([3, 8, 3, 5, 6, 7], dtype=np.uint64)
    fold = equal_row_folds(np.arange(6) < 2, keys, 5)
    assert fold[0] == fold[2] != fold[1]
