"""Loading the benchmark tables and hiding labels."""

import numpy as np
import pytest

from tests.oracles import needs_data
from usmo.datasets import SMALL, load, make_pu


@needs_data
def test_all_small_tables_load():
    shapes = {name: load(name)[0].shape for name in SMALL}
    assert shapes["krvskp"] == (3196, 36)
    assert shapes["house"] == (232, 16)
    assert all(set(np.unique(load(name)[1])) == {0, 1} for name in SMALL)


def test_missing_data_says_what_to_set(monkeypatch, tmp_path):
    monkeypatch.setenv("USMO_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"set USMO_DATA to the folder that holds heart\.npz"):
        load("heart")
    monkeypatch.delenv("USMO_DATA")
    with pytest.raises(FileNotFoundError, match="USMO_DATA is not set"):
        load("heart")
    with pytest.raises(ValueError, match=r"name must be one of australian.*got 'hart'"):
        load("hart")


def test_make_pu_hides_labels_reproducibly():
    y = np.arange(100) % 4 == 0
    known, prior = make_pu(y, fraction=0.2, random_state=0)
    assert known.sum() == 5
    assert y[known == 1].all()
    assert prior == 20 / 95
    assert make_pu(y, n_positives=5, scenario="censored", random_state=0)[1] == 0.25
    np.testing.assert_array_equal(known, make_pu(y, n_positives=5, random_state=0)[0])


@pytest.mark.parametrize(
    "options", [{}, {"n_positives": 3, "fraction": 0.5}, {"n_positives": 0}, {"n_positives": 99}]
)
def test_make_pu_refuses(options):
    with pytest.raises(ValueError, match="got"):
        make_pu(np.arange(10) % 2, **options)
