"""Small tables as Dask collections, clusters to fit them on, and records of what was sent."""

from contextlib import contextmanager

import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster
from scipy import sparse

from usmo.dask.cluster import ClusterShards


@contextmanager
def threads():
    """Two workers in threads of this process: they start at once and use the same protocol."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def processes(workers=2):
    """Workers in processes of their own."""
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def interrupt(monkeypatch, model, X, y, at=30):
    """Fit, and interrupt the driver at its k-th call to the shards, k = ``at``."""
    real, calls = ClusterShards._call, []

    def call(self, function, args, merge):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return real(self, function, args, merge)

    with monkeypatch.context() as patch:
        patch.setattr(ClusterShards, "_call", call)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)


def random_rows(n=1200, p=150, d=5, seed=0):
    """A table of p labelled and n unlabelled rows in random order, and its labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(p + n, d)) + 1.5 / np.sqrt(d) * np.r_[np.ones(p), rng.random(n) < 0.3][:, None]
    order = rng.permutation(p + n)
    return X[order], (order < p).astype(int)


CHUNKS = (400, 7, 600, 343)
"""Rows of the blocks of the default table."""


def lazy(X, chunks=CHUNKS):
    """A ``dask.array`` with blocks of so many rows."""
    return da.from_array(X, chunks=(chunks, X.shape[1:]) if X.ndim == 2 else (chunks,))


def lazy_csr(X, chunks=CHUNKS):
    """A ``dask.array`` of CSR blocks."""
    return lazy(X, chunks).map_blocks(sparse.csr_matrix, dtype=float, meta=sparse.csr_matrix((0, 0)))


def assert_equal_models(model, plain, X, atol=1e-6, diagonal=None):
    """Compare with the model of one machine; ``diagonal`` is k(x, x) of the rows if it can be large."""
    certificate, expected = model.certificate_, plain.certificate_
    # both are above the optimum by no more than their gaps
    apart = 1e-9 * abs(expected.primal) + max(certificate.gap, expected.gap)
    assert abs(certificate.primal - expected.primal) <= apart
    assert certificate.relative_gap <= 2e-6
    assert certificate.equality_residual <= 1e-12
    assert model.threshold_ == pytest.approx(plain.threshold_, abs=atol)
    f, expected_f = model.decision_function(X), plain.decision_function(X)
    if diagonal is None:
        np.testing.assert_allclose(f, expected_f, atol=atol)
    else:
        # ½‖f - f'‖² is at most the primal value of one minus the dual value of the other: ‖f - f'‖² ≤ gap + gap'
        bound = np.sqrt((certificate.gap + expected.gap) * diagonal)
        shift = abs(model.intercept_[0] - plain.intercept_[0])
        assert shift <= bound.max()
        assert (np.abs(f - expected_f) <= bound + shift + 1e-9).all()
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-3)
    assert model.classes_.tolist() == plain.classes_.tolist()
    fitted, others = ({name for name in vars(each) if name.endswith("_")} for each in (model, plain))
    assert fitted == others
    assert getattr(model, "eta_", None) == getattr(plain, "eta_", None)


def accounts(monkeypatch):
    """A list that gets the account of the shards of every fit, and the bytes of their answers."""
    records = []

    class Recording(ClusterShards):
        def close(self):
            records.append((self.account, self.answered()))
            super().close()

    monkeypatch.setattr("usmo.dask.driver.ClusterShards", Recording)
    return records
