"""Collections of every kind on a Dask cluster: files, weights, labels, samples of them, and what is refused."""

from uuid import uuid4

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.distributed import Client, LocalCluster
from scipy import sparse

import usmo
from tests.dask.clusters import CHUNKS, assert_equal_models, interrupt, lazy, rows, threads
from usmo.dask import PUSVC, LinearPUSVC, driver, linear
from usmo.dask import cluster as clusters
from usmo.dask.cluster import payload
from usmo.dask.parts import as_rows
from usmo.fitting.approximate import NystroemMap
from usmo.kernels.kernel import Kernel


@pytest.fixture(scope="module")
def client():
    with threads() as client:
        yield client


def test_labels_and_rows_of_one_parquet_table(client, tmp_path):
    """Dask would read the narrow label column in fewer parts than the rows."""
    X, y = rows()
    table = pd.DataFrame(X, columns=list("abcde")).assign(known=y)
    for k in range(6):
        table[225 * k : 225 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet")
    lazily = dd.read_parquet(tmp_path)
    model = LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(lazily.drop(columns="known"), lazily["known"])
    plain = usmo.LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(table.drop(columns="known"), y)
    assert_equal_models(model, plain, table.drop(columns="known"))


@pytest.mark.parametrize("name", ["LinearPUSVC", "PUSVC"])
def test_rows_without_weight_are_in_no_sample(client, name):
    X, y = rows(n=400, p=60)
    chunks = (100, 160, 200)
    weight = np.random.default_rng(0).integers(0, 2, len(y)).astype(float)
    plain = getattr(usmo, name)(tol=1e-4).fit(X, y, weight)
    model = getattr(usmo.dask, name)(tol=1e-4).fit(lazy(X, chunks), lazy(y, chunks), weight)
    assert model.prior_ == pytest.approx(plain.prior_, abs=1e-9)
    assert_equal_models(model, plain, X, atol=1e-3)


def test_a_handful_of_labelled_rows_among_very_many(client, monkeypatch):
    monkeypatch.setattr(driver, "_SAMPLED", 50)
    X, y = rows(n=458, p=2)
    chunks = (100, 160, 200)
    for scenario in ("censored", "case-control"):
        plain = usmo.PUSVC(0.3, scenario=scenario, tol=1e-5).fit(X, y)
        model = PUSVC(0.3, scenario=scenario, tol=1e-5).fit(lazy(X, chunks), lazy(y, chunks))
        assert_equal_models(model, plain, X, atol=1e-4)


def test_probabilities_do_not_depend_on_how_rows_are_parted(client, monkeypatch):
    monkeypatch.setattr(linear, "_CALIBRATED", 200)
    monkeypatch.setattr(linear, "CALIBRATED", 600)
    X, y = rows(n=4000, p=400)
    order = np.argsort(X[:, 0])
    X, y = X[order], y[order]
    plain = usmo.LinearPUSVC(0.3, lam=1e-3).fit(X, y)
    model = LinearPUSVC(0.3, lam=1e-3).fit(lazy(X, (4100, 300)), lazy(y, (4100, 300)))
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=0.05)


def test_weights_of_very_different_size(client):
    X, y = rows(n=400, p=60)
    chunks = (100, 160, 200)
    weight = np.where(y, 1e-200, 1e150)
    plain = usmo.LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(X, y, weight)
    model = LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(lazy(X, chunks), lazy(y, chunks), weight)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-8)


def test_rows_are_read_once_also_with_labels_from_here(client, tmp_path):
    X, y = rows(n=400, p=60)

    def read(k, note):
        (note / f"{k}-{uuid4()}").touch()
        return X[115 * k : 115 * (k + 1)]

    for size in (115, np.nan):
        note = tmp_path / str(size)
        note.mkdir()
        parts = [dask.delayed(read)(k, note) for k in range(4)]
        table = [da.from_delayed(part, (size, 5), float) for part in parts]
        LinearPUSVC(0.3).fit(da.concatenate(table, allow_unknown_chunksizes=True), y)
        assert sorted(path.name[0] for path in note.iterdir()) == ["0", "1", "2", "3"]


def test_chunks_of_the_user_are_not_changed():
    chunk = sparse.csr_matrix((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 3))
    chunk.data.flags.writeable = chunk.indices.flags.writeable = False
    found = as_rows(chunk, 3, "x")
    assert (chunk.nnz, found.nnz) == (3, 2)
    np.testing.assert_array_equal(found.toarray(), [[0, 2, 0], [1, 0, 0]])


def test_maps_are_sent_once_and_not_with_every_task():
    mapped = NystroemMap(Kernel("rbf"), np.random.default_rng(0).normal(size=(100, 5)))
    assert payload([mapped, None, "text", rows]) >= mapped.root.nbytes


def test_top_of_all_rows_and_bad_tops(client):
    X, y = rows()
    model = LinearPUSVC(0.3).fit(lazy(X), lazy(y))
    f = model.decision_function(X)
    for top in (1350, 2000):
        which, scores = model.rank(lazy(X), top)
        assert sorted(which.compute()) == list(range(1350))
        np.testing.assert_allclose(f[which.compute()], np.sort(f)[::-1], atol=1e-12)  # rows may tie
        np.testing.assert_allclose(scores.compute(), np.sort(f)[::-1], atol=1e-12)
    with pytest.raises(ValueError, match=r"top must be an integer, at least 1, got 2.5"):
        model.rank(lazy(X), 2.5)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c", "d", "score"]), npartitions=2)
    with pytest.raises(ValueError, match=r"X must have no column 'score'"):
        model.rank(frame)


def test_text_labels_are_announced_and_missing_ones_refused(client):
    X, y = rows()
    text = np.where(y, "p", "u").astype(object)
    with pytest.warns(UserWarning, match=r"y holds text: .*'u'.*is taken for labelled positive"):
        LinearPUSVC(0.3).fit(lazy(X), lazy(text))
    for missing in (None, np.nan, pd.NA):
        text[500] = missing
        with pytest.raises(ValueError, match=r"y must have no missing values, which partition 2 has"):
            LinearPUSVC(0.3).fit(lazy(X), lazy(text))
    predicted = (
        LinearPUSVC(0.3)
        .fit(lazy(X), lazy(y.astype(float)))
        .predict(dd.from_pandas(pd.DataFrame(X), npartitions=2))
    )
    assert predicted.name == "class"


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
        LinearPUSVC(0.3).fit(*make(*rows()))


def test_parameters_that_do_not_go_together_are_refused(client, tmp_path):
    X, y = rows()
    with pytest.raises(ValueError, match=r"checkpoint needs a Dask collection for X"):
        LinearPUSVC(0.3, checkpoint=tmp_path / "x").fit(X, y)
    with pytest.raises(ValueError, match=r"n_components must be at most 4000 on a cluster, got 5000"):
        PUSVC(0.3, approximation="rff", n_components=5000).fit(lazy(X), lazy(y))


def test_numbers_for_column_names_are_no_names(client):
    X, y = rows()
    frame = pd.DataFrame(X)
    model = LinearPUSVC(0.3).fit(dd.from_pandas(frame, npartitions=2), dd.from_pandas(pd.Series(y), npartitions=2))
    assert not hasattr(model, "feature_names_in_")
    np.testing.assert_allclose(model.local().decision_function(frame), model.decision_function(X), atol=1e-12)


def test_a_cluster_without_workers_says_so(monkeypatch):
    monkeypatch.setattr(clusters, "PATIENCE", 1.0)
    X, y = rows()
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster),
        pytest.raises(RuntimeError, match=r"the cluster has had no workers for 1 s: start them with dask worker"),
    ):
        LinearPUSVC(0.3).fit(lazy(X), lazy(y))


def make_kernel():
    def kernel(A, B):
        return (A @ B.T + 1.0) ** 2

    return kernel


def test_a_checkpoint_knows_its_table_and_a_callable_kernel_by_name(client, monkeypatch, tmp_path):
    X, y = rows()
    file = tmp_path / "fit.npz"
    for model in (
        LinearPUSVC(0.3, lam=1e-3, checkpoint=file, checkpoint_seconds=0),
        PUSVC(0.3, lam=1e-3, kernel=make_kernel(), checkpoint=file, checkpoint_seconds=0),
    ):
        interrupt(monkeypatch, model, lazy(X), lazy(y))
        with pytest.raises(ValueError, match=r"belongs to other data"):
            model.fit(lazy(X), lazy(y[::-1].copy()))
        if isinstance(model, PUSVC):
            model.set_params(kernel=make_kernel())
        model.fit(lazy(X), lazy(y))
        assert not file.exists()


def test_callbacks_see_the_rounds_of_a_linear_fit(client):
    pytest.importorskip("sklearn.callback")
    X, y = rows()
    seen = []

    class Watch:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None, metadata=None):
            if metadata:
                seen.append((metadata["violation"], fitted_estimator.decision_function(X)))

        def teardown(self, estimator, context):
            pass

    model = LinearPUSVC(0.3, threshold=0.0).set_callbacks(Watch()).fit(lazy(X, CHUNKS), lazy(y, CHUNKS))
    assert [violation for violation, _ in seen] == [record.violation for record in model.history_]
    np.testing.assert_allclose(seen[-1][1], model.decision_function(X), atol=1e-3)
