"""What goes wrong on a Dask cluster: lost workers, a dead driver, values that are not numbers, leftovers."""

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
from tests.dask.clusters import assert_equal_models, interrupt, lazy, processes, rows, threads
from usmo.dask import LinearPUSVC
from usmo.dask import cluster as clusters
from usmo.fitting.linear import compile_linear_once


@pytest.fixture(scope="module")
def client():
    with threads() as client:
        yield client


def test_values_that_are_not_numbers_name_the_worker(client, monkeypatch):
    from usmo.core.shards import Found
    from usmo.solvers import interior_shards as interior_rows

    compile_linear_once()  # not with the function below

    def predict(part, step):
        return Found((np.full((2, 6), np.nan), 0.0), (1.0,))

    monkeypatch.setattr(interior_rows, "predict", predict)
    X, y = rows()
    model = LinearPUSVC(0.3)
    with pytest.raises(
        ValueError, match=r"predict of partition \d on worker \S+ gave values that are not numbers"
    ):
        model.fit(lazy(X), lazy(y))
    assert not hasattr(model, "coef_")


def test_nothing_stays_on_the_cluster_after_a_fit(client):
    X, y = rows()

    def tasks():
        return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))

    before = tasks()
    LinearPUSVC(0.3).fit(lazy(X), lazy(y))
    for _ in range(100):  # what is not referred to any more is released in the background
        if tasks() <= before:
            break
        time.sleep(0.1)
    else:
        pytest.fail("tasks are left on the scheduler")


def killer(client, monkeypatch, at):
    """Kill the worker of some shard with SIGKILL when the driver makes a certain call."""
    pids = client.run(os.getpid)
    state = {"calls": 0, "killed": []}
    real = clusters.Cluster._call

    def call(self, work, args, merge):
        futures = real(self, work, args, merge)
        state["calls"] += 1
        if state["calls"] == at:
            owner = self.owners[at % len(self.owners)]
            os.kill(pids[owner], signal.SIGKILL)
            state["killed"].append(owner)
        return futures

    monkeypatch.setattr(clusters.Cluster, "_call", call)
    return state


@pytest.mark.parametrize(("name", "at"), [("LinearPUSVC", 30), ("PUSVC", 9), ("PUSVC", 20)])
def test_a_worker_killed_in_mid_fit_does_not_change_the_optimum(name, at, monkeypatch):
    X, y = rows()
    plain = getattr(usmo, name)(0.3, lam=1e-3, tol=1e-5).fit(X, y)
    with processes() as client:
        state = killer(client, monkeypatch, at)
        model = getattr(usmo.dask, name)(0.3, lam=1e-3, tol=1e-5).fit(lazy(X), lazy(y))
    assert len(state["killed"]) == 1
    assert_equal_models(model, plain, X, atol=1e-4)


@pytest.mark.parametrize("name", ["LinearPUSVC", "PUSVC"])
def test_a_dead_driver_goes_on_from_its_checkpoint(client, monkeypatch, tmp_path, name):
    X, y = rows()
    kind = getattr(usmo.dask, name)
    plain = getattr(usmo, name)(0.3, lam=1e-3, tol=1e-5).fit(X, y)
    file = tmp_path / "fit.npz"
    model = kind(0.3, lam=1e-3, tol=1e-5, checkpoint=file, checkpoint_seconds=0)
    interrupt(monkeypatch, model, lazy(X), lazy(y))
    assert file.exists()
    with pytest.raises(ValueError, match=r"belongs to other data or parameters"):
        kind(0.3, lam=1e-2, checkpoint=file).fit(lazy(X), lazy(y))
    model.fit(lazy(X), lazy(y))
    assert not file.exists()
    work = "n_iter_" if name == "LinearPUSVC" else "kernel_rows_"
    assert getattr(model, work) < getattr(kind(0.3, lam=1e-3, tol=1e-5).fit(lazy(X), lazy(y)), work)
    assert_equal_models(model, plain, X, atol=1e-4)
    file.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=r"is not a checkpoint of usmo"):
        model.fit(lazy(X), lazy(y))


def test_a_cluster_of_separate_processes_started_from_the_command_line(tmp_path):
    """``dask scheduler``, ``dask worker``, and the client in a third process."""
    X, y = rows()
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
