"""Bad collections, parameters and calls are refused, with the partition named."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.distributed import Client, LocalCluster
from distributed import client as distributed_client
from scipy import sparse
from sklearn.exceptions import NotFittedError

from tests.dask.clusters import lazy, random_rows
from usmo.dask import PUSVC, LinearPUSVC
from usmo.dask import cluster as clusters


def collections(**change):
    """X and y in three parts, some of them changed: ``X=(part, function)``."""
    X, y = random_rows()
    parts = {"X": [X[:500], X[500:1000], X[1000:]], "y": [y[:500], y[500:1000], y[1000:]]}
    for name, (k, function) in change.items():
        parts[name][k] = function(parts[name][k])

    def array(name, columns):
        shape = (np.nan, columns) if columns else (np.nan,)
        pieces = [da.from_delayed(dask.delayed(part), shape=shape, dtype=float) for part in parts[name]]
        return da.concatenate(pieces, allow_unknown_chunksizes=True)

    return array("X", 5), array("y", 0)


def with_nan(X):
    X = X.copy()
    X[17, 3] = np.nan
    return X


ERRORS = {
    "NaN": (lambda: collections(X=(1, with_nan)), r"partition 1 of X contains NaN or infinity"),
    "width": (
        lambda: collections(X=(2, lambda X: X[:, :4])),
        r"partition 2 of X must have 5 columns, got shape \(350, 4\)",
    ),
    "empty": (
        lambda: collections(X=(0, lambda X: X[:0]), y=(0, lambda y: y[:0])),
        r"partition 0 of X has no rows: repartition the table",
    ),
    "short y": (
        lambda: collections(y=(1, lambda y: y[:-1])),
        r"partition 1 of X has 500 rows, y has shape \(499,\)",
    ),
    "one class": (
        lambda: (lazy(random_rows()[0]), lazy(np.zeros(1350))),
        r"only one class: \[0.0\]",
    ),
    "three classes": (
        lambda: (lazy(random_rows()[0]), lazy(np.arange(1350) % 3)),
        r"y holds 3 values \(0, 1, 2\)",
    ),
    "length of y": (
        lambda: (lazy(random_rows()[0]), np.zeros(7)),
        r"y must have one value per row, 1350; got shape \(7,\)",
    ),
    "parts of y": (
        lambda: (lazy(random_rows()[0]), da.from_array(random_rows()[1], chunks=1000)),
        r"y must be in the same 4 parts as X, got 2: rechunk or repartition it",
    ),
    "text": (
        lambda: (dd.from_pandas(pd.DataFrame({"a": ["x", "y"] * 20}), npartitions=2), np.zeros(40)),
        r"X must hold numbers, got column 'a'",
    ),
    "shape": (lambda: (da.zeros(10), np.zeros(10)), r"X must be a table of known width, got shape \(10,\)"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_bad_tables_are_refused_before_any_work(client, name):
    make, message = ERRORS[name]
    with pytest.raises(ValueError, match=message):
        LinearPUSVC(0.3).fit(*make())


def test_other_errors_name_the_cause(client, tmp_path):
    X, y = random_rows()
    with pytest.raises(ValueError, match=r"The 'prior' parameter of LinearPUSVC.* Got 2"):
        LinearPUSVC(2).fit(lazy(X), lazy(y))
    with pytest.raises(ValueError, match=r"checkpoint must lie in an existing folder"):
        LinearPUSVC(0.3, checkpoint=tmp_path / "no" / "x").fit(lazy(X), lazy(y))
    with pytest.raises(ValueError, match=r"the products of these rows are too large"):
        LinearPUSVC(0.3).fit(lazy(1e100 * X), lazy(y))
    with pytest.raises(
        ValueError, match=r"sample_weight must be finite and non-negative; partition 0 has other values"
    ):
        LinearPUSVC(0.3).fit(lazy(X), lazy(y), lazy(-np.ones(len(y))))
    with pytest.raises(ValueError, match=r"sample_weight leaves only one class: no labelled positive row"):
        LinearPUSVC(0.3).fit(lazy(X), lazy(y), lazy(1.0 - y))
    with pytest.raises(NotFittedError):
        LinearPUSVC(0.3).predict(lazy(X))
    model = LinearPUSVC(0.3).fit(lazy(X), lazy(y))
    with pytest.raises(ValueError, match=r"X must have 5 columns, got 4"):
        model.decision_function(lazy(X[:, :4]))
    with pytest.raises(TypeError, match=r"rank needs a Dask collection, got ndarray"):
        model.rank(X)
    with pytest.raises(ValueError, match=r"top must be an integer, at least 1, got 0"):
        model.rank(lazy(X), 0)


def half_sparse(X):
    parts = [dask.delayed(part) for part in (X[:700], sparse.csr_matrix(X[700:]))]
    return da.concatenate([da.from_delayed(p, (n, 5), float) for p, n in zip(parts, (700, 650), strict=True)])


REFUSED = {
    "y a frame": (lambda X, y: (dd.from_pandas(pd.DataFrame(X), 2), dd.from_pandas(pd.DataFrame({"k": y}), 2)),
                  r"y must be a series or a one-dimensional array, got a data frame"),
    "y a matrix": (lambda X, y: (lazy(X), lazy(y)[:, None]), r"y must be one-dimensional, got shape \(1350, 1\)"),
    "complex": (lambda X, y: (lazy(X * 1j), lazy(y)), r"partition 0 of X must hold numbers, got type complex128"),
    "objects": (lambda X, y: (lazy(X.astype(object)), lazy(y)), r"0 of X must hold numbers, got type object"),
    "no columns": (lambda X, y: (lazy(X[:, :0]), lazy(y)), r"X must have at least one column, got none"),
    "half sparse": (lambda X, y: (half_sparse(X), da.from_array(y, chunks=((700, 650),))),
                    r"partition 0 is dense, partition 1 is CSR"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_more_tables_that_are_refused(client, name):
    make, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        LinearPUSVC(0.3).fit(*make(*random_rows()))


def test_parameters_that_do_not_go_together_are_refused(client, tmp_path):
    X, y = random_rows()
    with pytest.raises(ValueError, match=r"checkpoint needs a Dask collection for X"):
        LinearPUSVC(0.3, checkpoint=tmp_path / "x").fit(X, y)
    with pytest.raises(ValueError, match=r"n_components must be at most 4000 on a cluster, got 5000"):
        PUSVC(0.3, approximation="rff", n_components=5000).fit(lazy(X), lazy(y))


@pytest.mark.parametrize("kernel", ["forest", "forest+rbf", "linear", "precomputed"])
def test_kernels_that_are_not_for_a_cluster_are_refused_before_any_work(client, kernel):
    def fail():
        raise AssertionError("a part of the table was computed")

    parts = da.from_delayed(dask.delayed(fail)(), shape=(10, 5), dtype=float)
    with pytest.raises(ValueError, match=f"kernel={kernel!r} is not for a cluster".replace("+", r"\+")):
        PUSVC(0.3, kernel=kernel).fit(parts, parts[:, 0])


def test_error_without_a_client_tells_how_to_make_one():
    X, y = random_rows()
    if distributed_client._get_global_client() is not None:
        pytest.skip("another test has a cluster")
    with pytest.raises(
        ValueError, match=r"a Dask collection needs a cluster: from dask.distributed import Client"
    ):
        LinearPUSVC(0.3).fit(lazy(X), lazy(y))


def test_cluster_without_workers_is_an_error(monkeypatch):
    monkeypatch.setattr(clusters, "PATIENCE", 1.0)
    X, y = random_rows()
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster),
        pytest.raises(RuntimeError, match=r"the cluster has had no workers for 1 s: start them with dask worker"),
    ):
        LinearPUSVC(0.3).fit(lazy(X), lazy(y))
