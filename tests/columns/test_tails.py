"""Columns with heavy tails are compressed by a monotone logarithm; others are not touched."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

import usmo
from usmo.columns import TableEncoder
from usmo.columns.tails import compressed, tail_scale

RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=300)


@pytest.mark.parametrize(
    ("x", "is_heavy"),
    [
        (np.exp(1.5 * NORMAL), True),
        (-np.exp(1.5 * NORMAL), True),
        (np.where(NORMAL > 0, np.exp(2 * RNG.normal(size=300)), 0.0), True),
        (1e300 * np.exp(NORMAL), True),
        (NORMAL, False),
        (np.abs(NORMAL), False),
        (1000 + NORMAL, False),
        (np.repeat([0.0, 1.0, 50.0], [290, 8, 2]), False),
        (np.append(np.full(299, 3.0), 1e6), False),
        (np.zeros(300), False),
        (np.full(300, np.nan), False),
    ],
)
def test_a_column_is_compressed_if_that_halves_a_large_skewness(x, is_heavy):
    assert (tail_scale(x) > 0) == is_heavy
    assert (tail_scale(np.append(x, np.nan)) > 0) == is_heavy


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2),
    st.floats(1e-300, 1e300, allow_subnormal=False),
)
def test_the_order_of_all_finite_numbers_stays_and_they_stay_finite(numbers, scale):
    x = np.sort(numbers)
    t = compressed(x, scale)
    assert np.isfinite(t).all()
    assert (np.diff(t) >= 0).all()
    np.testing.assert_array_equal(compressed(x, 0.0), x)


def test_the_encoded_column_is_the_standardised_logarithm():
    x = np.exp(1.5 * NORMAL)
    x[7] = np.nan
    table = pl.DataFrame({"x": x, "y": NORMAL}).with_columns(pl.col("x").fill_nan(None))
    encoder = TableEncoder().fit(table)
    s = np.nanpercentile(x, 5)
    t = np.log1p(np.where(np.isnan(x), np.nanmedian(x), x) / s)
    np.testing.assert_allclose(encoder.transform(table)[:, 0], (t - t.mean()) / t.std(), atol=1e-3)
    assert encoder.columns_[0]["tail"] == pytest.approx(s)
    assert encoder.columns_[1]["tail"] == 0
    assert "heavy tails on a log scale (1 missing → median" in encoder.summary()[0]
    assert np.isfinite(encoder.transform(pl.DataFrame({"x": [-5.0, 1e300], "y": [0.0, 0.0]}))).all()


def test_ranking_by_lognormal_columns_is_better_than_without_the_logarithm(monkeypatch):
    rng = np.random.default_rng(1)
    truth = rng.random(800) < 0.25
    columns = {f"c{j}": np.exp(1.5 * rng.normal(size=800) + 1.2 * truth * (j < 3)) for j in range(5)}
    table, y = pl.DataFrame(columns), (truth & (rng.random(800) < 0.3)).astype(int)

    def auc():
        f = make_pipeline(TableEncoder(), usmo.PUSVC(0.2, lam=0.01)).fit(table, y).decision_function(table)[y == 0]
        ranks = np.argsort(np.argsort(f))
        hidden = truth[y == 0]
        return (ranks[hidden].mean() - (hidden.sum() - 1) / 2) / np.count_nonzero(~hidden)

    with_logarithm = auc()
    monkeypatch.setattr("usmo.columns.schema.tail_scale", lambda x: 0.0)
    assert with_logarithm > auc() + 0.02


def test_a_model_file_keeps_the_scale_of_the_tails(tmp_path):
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        {"x": np.exp(1.5 * rng.normal(size=100)), "price": [f"${i % 37:,}.5" for i in range(100)]}
    )
    model = make_pipeline(TableEncoder(), usmo.PUSVC(0.3, lam=0.1)).fit(table, np.arange(100) < 20)
    usmo.files.save(model, tmp_path / "m.usmo")
    again = usmo.load(tmp_path / "m.usmo")
    np.testing.assert_array_equal(again.decision_function(table), model.decision_function(table))
    assert again[0].columns_ == model[0].columns_
