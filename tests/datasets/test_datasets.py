"""Loading the benchmark tables and hiding labels."""

from types import SimpleNamespace

import numpy as np
import platformdirs
import pytest

from tests.oracles import needs_data
from usmo.datasets import CATALOGUE, SMALL, info, load, loading, make_poker_hands, make_pu, poker_class


@needs_data
def test_all_small_tables_load():
    shapes = {name: load(name)[0].shape for name in SMALL}
    assert shapes["krvskp"] == (3196, 36)
    assert shapes["house"] == (232, 16)
    assert all(set(np.unique(load(name)[1])) == {0, 1} for name in SMALL)


@needs_data
@pytest.mark.parametrize("name", CATALOGUE)
def test_tables_are_what_the_catalogue_says(name):
    entry = info(name)
    X, y = load(name)
    assert X.shape == (entry.rows, entry.columns)
    assert dict(zip(*(part.tolist() for part in np.unique(y, return_counts=True)), strict=True)) == entry.classes
    if entry.positive is not None:
        assert entry.prior == pytest.approx(y.mean())
    if entry.test_rows:
        X_test, y_test = load(name, subset="test")
        assert X_test.shape == (entry.test_rows, entry.columns)
        assert len(y_test) == entry.test_rows
    else:
        with pytest.raises(ValueError, match=f"{name} has no test set"):
            load(name, subset="test")


def test_openml_tables_are_converted_checked_and_cached(monkeypatch, tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    target = np.r_[["tested_positive"] * 268, ["tested_negative"] * 500]
    frame = pandas.DataFrame(rng.normal(size=(768, 8)))
    frame[3] = pandas.Categorical(rng.choice(["a", "b"], 768))
    calls = []

    def fetch(data_id, **options):
        calls.append(data_id)
        return SimpleNamespace(data=frame, target=pandas.Series(target, dtype="category"))

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    monkeypatch.delenv("USMO_DATA", raising=False)
    monkeypatch.setenv("USMO_CACHE", str(tmp_path))
    X, y = load("diabetes")
    assert calls == [37]
    assert (X.min(axis=0) == 0).all()
    assert (X.max(axis=0) == 1).all()
    assert y.sum() == 268
    np.testing.assert_array_equal(load("diabetes")[0], X)
    assert calls == [37]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["diabetes.npz", "diabetes.sha256"]
    del frame[0]
    (tmp_path / "diabetes.npz").unlink()
    with pytest.raises(ValueError, match="data set 37 is not the diabetes table of the catalogue"):
        load("diabetes")

    def broken(**options):
        raise OSError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", broken)
    with pytest.raises(FileNotFoundError, match=r"cannot be reached: set USMO_DATA to the folder that holds"):
        load("diabetes")


def test_missing_data_says_what_to_set(monkeypatch, tmp_path):
    monkeypatch.setenv("USMO_DATA", str(tmp_path))
    monkeypatch.setenv("USMO_CACHE", str(tmp_path / "cache"))
    with pytest.raises(FileNotFoundError, match=r"set USMO_DATA to the folder that holds heart\.npz"):
        load("heart")
    monkeypatch.setenv("USMO_CACHE", str(tmp_path))
    (tmp_path / "heart.npz").write_bytes(b"no table")
    with pytest.raises(ValueError, match=r"heart\.npz is damaged or another version: its SHA-256 is"):
        load("heart")
    with pytest.raises(ValueError, match=r"name must be one of australian.*got 'hart'"):
        load("hart")


def test_tables_are_cached_in_the_users_cache_folder_unless_another_is_named(monkeypatch, tmp_path):
    for name in ("USMO_DATA", "USMO_CACHE"):
        monkeypatch.delenv(name, raising=False)
    assert loading.folders() == [platformdirs.user_cache_path("usmo", appauthor=False)]
    monkeypatch.setenv("USMO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("USMO_DATA", str(tmp_path / "data"))
    assert loading.folders() == [tmp_path / "data", tmp_path / "cache"]


def test_make_pu_hides_labels_reproducibly():
    y = np.arange(100) % 4 == 0
    labels, prior = make_pu(y, fraction=0.2, random_state=0)
    assert labels.sum() == 5
    assert y[labels == 1].all()
    assert prior == 20 / 95
    assert make_pu(y, n_positives=5, scenario="censored", random_state=0)[1] == 0.25
    np.testing.assert_array_equal(labels, make_pu(y, n_positives=5, random_state=0)[0])


@pytest.mark.parametrize(
    "options", [{}, {"n_positives": 3, "fraction": 0.5}, {"n_positives": 0}, {"n_positives": 99}]
)
def test_make_pu_refuses(options):
    with pytest.raises(ValueError, match="got"):
        make_pu(np.arange(10) % 2, **options)


def test_poker_hands_are_uniform_draws_of_five_different_cards():
    X, y = make_poker_hands(300_000, random_state=0)
    cards = 13 * (X[:, 0::2].astype(int) - 1) + X[:, 1::2] - 1
    assert (np.diff(np.sort(cards, axis=1), axis=1) > 0).all()
    for column in cards.T:  # every card in every place, within five standard deviations
        counts = np.bincount(column, minlength=52)
        assert (np.abs(counts - 300_000 / 52) < 5 * np.sqrt(300_000 / 52)).all()
    # combinations of 52 cards taken 5 at a time, by class
    hands = np.array([1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 36, 4])
    expected = 300_000 * hands / hands.sum()
    assert (np.abs(np.bincount(y, minlength=10) - expected) < 5 * np.sqrt(expected) + 1).all()
    again = make_poker_hands(300_000, random_state=0)
    np.testing.assert_array_equal(again[0], X)
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        make_poker_hands(0)


def test_poker_classes_by_hand():
    hands = {
        0: "h2 d5 s9 cK hA", 1: "h2 d2 s9 cK hA", 2: "h2 d2 s9 c9 hA", 3: "h2 d2 s2 cK hA", 4: "hA d2 s3 c4 h5",
        5: "h2 h5 h9 hK hA", 6: "h2 d2 s2 cK hK", 7: "h2 d2 s2 c2 hA", 8: "h9 hT hJ hQ hK", 9: "hT hJ hQ hK hA",
    }  # fmt: skip
    ranks = {**{str(k): k for k in range(2, 10)}, "A": 1, "T": 10, "J": 11, "Q": 12, "K": 13}
    X = np.array(
        [[v for card in h.split() for v in ("hsdc".index(card[0]) + 1, ranks[card[1]])] for h in hands.values()]
    )
    assert poker_class(X).tolist() == list(hands)
    ace_high = np.array([[1, 1, 2, 10, 3, 11, 4, 12, 1, 13]])
    assert poker_class(ace_high).tolist() == [4]
    around = np.array([[1, 12, 2, 13, 3, 1, 4, 2, 1, 3]])
    assert poker_class(around).tolist() == [0]


@needs_data
def test_rules_reproduce_the_labels_of_the_real_poker_hands():
    for subset, rows in (("train", 100_000), ("test", 25_010)):
        X, y = load("poker-hand", subset=subset)
        assert len(y) == rows
        np.testing.assert_array_equal(poker_class(X), y)
