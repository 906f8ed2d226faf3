"""Faults on a Dask cluster: lost workers, an interrupted driver, NaN, and what remains on the scheduler."""

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from dask.distributed import Client

import usmo
import usmo.dask
from tests.dask.clusters import assert_equal_models, interrupt, lazy, processes, random_rows
from usmo.core.shards import Partial
from usmo.dask import PUSVC, LinearPUSVC
from usmo.dask.cluster import ClusterShards
from usmo.fitting.warm_up import compile_linear_solver
from usmo.solvers.interior_shards import InteriorShard


def test_nan_is_an_error_that_names_the_worker(client, monkeypatch):
    compile_linear_solver()  # by the real function

    def predict(shard, step):
        return Partial((np.full((2, 6), np.nan), 0.0), (1.0,))

    monkeypatch.setattr(InteriorShard, "predict", predict)
    X, y = random_rows()
    model = LinearPUSVC(0.3)
    with pytest.raises(ValueError, match=r"predict of partition \d on worker \S+ returned NaN"):
        model.fit(lazy(X), lazy(y))
    assert not hasattr(model, "coef_")


def test_transfers_slower_than_the_check_of_the_workers_break_nothing(client, monkeypatch):
    """A transfer that Dask has begun must not be cancelled: later ones of the same client would be cancelled too."""
    monkeypatch.setattr("usmo.dask.cluster._CHECK_SECONDS", 1e-4)
    X, y = random_rows()
    for _ in range(3):
        models = (
            cls(0.3, tol=1e-6).fit(*rows)
            for cls, rows in ((LinearPUSVC, (lazy(X), lazy(y))), (usmo.LinearPUSVC, (X, y)))
        )
        assert_equal_models(*models, X)


def test_no_task_stays_on_the_scheduler_after_a_fit(client):
    X, y = random_rows()

    def tasks():
        return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))

    before = tasks()
    LinearPUSVC(0.3).fit(lazy(X), lazy(y))
    for _ in range(100):  # the scheduler releases tasks in the background
        gc.collect()  # the traceback of a call that took longer than a second holds its shards
        if tasks() <= before:
            break
        time.sleep(0.1)
    else:
        pytest.fail("tasks are left on the scheduler")


def killer(client, monkeypatch, at):
    """Kill the worker of a shard by SIGKILL at the k-th call of the driver, k = ``at``."""
    pids = client.run(os.getpid)
    state = {"calls": 0, "killed": []}
    real = ClusterShards._call

    def call(self, function, args, merge):
        futures = real(self, function, args, merge)
        state["calls"] += 1
        if state["calls"] == at:
            owner = self.owners[at % len(self.owners)]
            os.kill(pids[owner], signal.SIGKILL)
            state["killed"].append(owner)
        return futures

    monkeypatch.setattr(ClusterShards, "_call", call)
    return state


@pytest.mark.parametrize(("name", "at"), [("LinearPUSVC", 30), ("PUSVC", 9), ("PUSVC", 20)])
def test_worker_killed_during_a_fit_does_not_change_the_optimum(name, at, monkeypatch):
    X, y = random_rows()
    plain = getattr(usmo, name)(0.3, lam=1e-3, tol=1e-5).fit(X, y)
    with processes() as client:
        state = killer(client, monkeypatch, at)
        model = getattr(usmo.dask, name)(0.3, lam=1e-3, tol=1e-5).fit(lazy(X), lazy(y))
    assert len(state["killed"]) == 1
    assert_equal_models(model, plain, X, atol=1e-4)


@pytest.mark.parametrize("name", ["LinearPUSVC", "PUSVC"])
def test_interrupted_driver_continues_from_its_checkpoint(client, monkeypatch, tmp_path, name):
    X, y = random_rows()
    estimator = getattr(usmo.dask, name)
    plain = getattr(usmo, name)(0.3, lam=1e-3, tol=1e-5).fit(X, y)
    file = tmp_path / "fit.npz"
    model = estimator(0.3, lam=1e-3, tol=1e-5, checkpoint=file, checkpoint_seconds=0)
    interrupt(monkeypatch, model, lazy(X), lazy(y))
    assert file.exists()
    with pytest.raises(ValueError, match=r"belongs to other data or parameters"):
        estimator(0.3, lam=1e-2, checkpoint=file).fit(lazy(X), lazy(y))
    model.fit(lazy(X), lazy(y))
    assert not file.exists()
    work = "n_iter_" if name == "LinearPUSVC" else "kernel_rows_"
    assert getattr(model, work) < getattr(estimator(0.3, lam=1e-3, tol=1e-5).fit(lazy(X), lazy(y)), work)
    assert_equal_models(model, plain, X, atol=1e-4)
    file.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"is not a checkpoint of usmo"):
        model.fit(lazy(X), lazy(y))


def make_kernel():
    def kernel(A, B):
        return (A @ B.T + 1.0) ** 2

    return kernel


def test_checkpoint_belongs_to_a_table_and_to_the_name_of_a_callable_kernel(client, monkeypatch, tmp_path):
    X, y = random_rows()
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


def test_cluster_started_from_the_command_line(tmp_path):
    """``dask scheduler``, ``dask worker``, and the client in a third process."""
    X, y = random_rows()
    plain = usmo.LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(X, y)
    file = tmp_path / "scheduler.json"
    dask = Path(sys.executable).with_name("dask")
    address = ["--scheduler-file", str(file)]
    started = [
        subprocess.Popen([dask, *words, *address], stderr=subprocess.DEVNULL, cwd=tmp_path)
        for words in (
            ["scheduler", "--port", "0", "--dashboard-address", ":0"],
            ["worker", "--nthreads", "1", "--dashboard-address", ":0"],
            ["worker", "--nthreads", "1", "--dashboard-address", ":0"],
        )
    ]
    try:
        with Client(scheduler_file=str(file), timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            model = LinearPUSVC(0.3, lam=1e-3, tol=1e-5).fit(lazy(X), lazy(y))
            assert_equal_models(model, plain, X)
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(30)
