"""Small tables as Dask collections, clusters to fit them on, and what a team did there."""

from contextlib import contextmanager

import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster
from scipy import sparse

from usmo.dask.cluster import Cluster


@contextmanager
def threads():
    """Two workers in threads of this process: no time to start, and the same protocol."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def processes(workers=2):
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def interrupt(monkeypatch, model, X, y, at=30):
    """A fit whose driver is interrupted at its so-manieth call to the cluster."""
    real, calls = Cluster._call, []

    def call(self, work, args, merge):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return real(self, work, args, merge)

    with monkeypatch.context() as patch:
        patch.setattr(Cluster, "_call", call)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)


def rows(n=1200, p=150, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(p + n, d)) + 1.5 / np.sqrt(d) * np.r_[np.ones(p), rng.random(n) < 0.3][:, None]
    order = rng.permutation(p + n)
    return X[order], (order < p).astype(int)


CHUNKS = (400, 7, 600, 343)


def lazy(X, chunks=CHUNKS):
    return da.from_array(X, chunks=(chunks, X.shape[1:]) if X.ndim == 2 else (chunks,))


def lazy_csr(X):
    """A ``dask.array`` of CSR blocks."""
    return lazy(X).map_blocks(sparse.csr_matrix, dtype=float, meta=sparse.csr_matrix((0, 0)))


def assert_equal_models(model, plain, X, atol=1e-6):
    # both are above the optimum by no more than their gaps
    apart = 1e-9 * abs(plain.certificate_.primal) + max(model.certificate_.gap, plain.certificate_.gap)
    assert abs(model.certificate_.primal - plain.certificate_.primal) <= apart
    assert model.certificate_.relative_gap <= 2e-6
    assert model.certificate_.equality_residual <= 1e-12
    assert model.threshold_ == pytest.approx(plain.threshold_, abs=atol)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=atol)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-3)
    assert model.classes_.tolist() == plain.classes_.tolist()


def accounts(monkeypatch):
    """The account of every team that a fit closes, and the bytes of its answers."""
    found = []

    class Noting(Cluster):
        def close(self):
            found.append((self.account, self.answered()))
            super().close()

    monkeypatch.setattr("usmo.dask.driver.Cluster", Noting)
    return found
