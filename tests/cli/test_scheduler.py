"""``usmo fit --scheduler``: a folder of Parquet files on a cluster gives the model of the table in one file."""

import json

import numpy as np
import polars as pl
import pytest
from dask.distributed import LocalCluster

from usmo.cli import main

OPTIONS = ["--label-column", "known", "--positive", "yes", "--id-column", "id", "--prior", "0.3", "--lam", "0.01"]


@pytest.fixture(scope="module")
def scheduler():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=":0"
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Numbers with gaps, text, and a part without a known positive."""
    rng = np.random.default_rng(0)
    n = 900
    positive = rng.random(n) < 0.4
    table = pl.DataFrame(
        {
            "id": [f"r{k}" for k in range(n)],
            "age": np.where(rng.random(n) < 0.05, np.nan, np.round(40 + 10 * positive + 8 * rng.normal(size=n))),
            "job": np.where(rng.random(n) < 0.3 + 0.4 * positive, "clerk", "smith"),
            "height": rng.normal(size=n) + positive,
            "known": np.where(positive & (rng.random(n) < 0.4) & (np.arange(n) < 600), "yes", "no"),
        },
    ).with_columns(pl.col("age").fill_nan(None))
    place = tmp_path_factory.mktemp("rows")
    (place / "parts").mkdir()
    for k in range(3):
        table[300 * k : 300 * (k + 1)].write_parquet(place / "parts" / f"{k}.parquet")
    table.write_parquet(place / "all.parquet")
    return place


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_fit_on_a_cluster_is_the_fit_of_the_table(scheduler, folder, tmp_path, capfd, kernel):
    scores = []
    for k, (data, more) in enumerate((("all.parquet", []), ("parts", ["--scheduler", scheduler]))):
        model = tmp_path / f"{k}.usmo"
        asked = ["fit", str(folder / data), *OPTIONS, "--kernel", kernel, "--model", str(model), "--json", *more]
        assert main(asked) == 0
        found = json.loads(capfd.readouterr().out)
        assert found["certificate"]["relative_gap"] < 1e-4
        assert (found["rows"], found["prior"]) == (900, 0.3)
        assert main(["predict", str(model), str(folder / "all.parquet"), "--json"]) == 0
        scores.append([row["score"] for row in json.loads(capfd.readouterr().out)["rows"]])
    np.testing.assert_allclose(*scores, atol=2e-3)


def test_dry_run_says_what_would_be_done(scheduler, folder, tmp_path, capfd):
    model = tmp_path / "m.usmo"
    asked = ["fit", str(folder / "parts"), *OPTIONS, "--model", str(model), "--scheduler", scheduler, "--dry-run"]
    assert main(asked) == 0
    plan = json.loads(capfd.readouterr().out)
    assert (plan["parts"], plan["rows"]) == (3, 900)
    assert not model.exists()


def test_bad_input_is_refused_and_nothing_is_written(scheduler, folder, tmp_path, capfd):
    model = tmp_path / "m.usmo"
    base = ["--model", str(model), "--scheduler", scheduler]
    empty = tmp_path / "empty"
    empty.mkdir()
    parts = str(folder / "parts")
    other = tmp_path / "other"
    other.mkdir()
    whole = pl.read_parquet(folder / "all.parquet")
    whole.write_parquet(other / "0.parquet")
    whole.drop("job").write_parquet(other / "1.parquet")
    cases = [
        ([str(other), *OPTIONS, *base], "1.parquet has no column 'job'"),
        ([str(folder / "all.parquet"), *OPTIONS, *base], "is no folder"),
        ([str(empty), *OPTIONS, *base], "no .parquet files in"),
        ([parts, "--label-column", "knwon", *base], "did you mean 'known'?"),
        ([parts, "--label-column", "known", "--positive", "maybe", *base], "0 of 900 rows have 'maybe'"),
        ([parts, *OPTIONS, *base, "--format", "csv"], "must be parquet with --scheduler, got 'csv'"),
        ([parts, *OPTIONS, *base, "--report", str(tmp_path / "r.html")], "does not go with --scheduler"),
        ([parts, *OPTIONS, "--model", str(model), "--scheduler", "nonsense://x"], "no scheduler at nonsense://x"),
    ]
    for asked, message in cases:
        assert main(["fit", *asked]) in (1, 2), message
        assert message in " ".join(capfd.readouterr().err.split()), message
        assert not model.exists()
