"""The classifiers on a Dask cluster: python -m benchmarks.cluster [poker mnist killed predict model]

USMO_DATA must be set. Workers are processes of one thread on this machine. Bytes are those of the arguments and results
of tasks, counted by the shards, without the overhead of Dask's protocol.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
from dask.distributed import Client, LocalCluster
from scipy.optimize import nnls

import usmo
import usmo.dask
from benchmarks.large import pu_table
from usmo.dask import driver
from usmo.dask.cluster import FAN, ClusterShards
from usmo.datasets import make_poker_hands

PER_BLOCK = 500_000
"""Rows of a block."""


@contextmanager
def workers(count: int, **options: Any) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=count, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL, **options
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


class Recording(ClusterShards):
    """Shards that record their account when they are closed."""

    accounts: list[tuple[Any, Any, tuple[int, int]]] = []  # noqa: RUF012

    def close(self) -> None:
        self.accounts.append((self.account, self.answered(), (self.size, len(self._groups))))
        super().close()


class Counting(ClusterShards):
    """Counts how often shards are opened: once per fit, and again after each loss of a worker."""

    opened = 0

    def __init__(self, *args: Any) -> None:
        Counting.opened += 1
        super().__init__(*args)


def recorded(fit: Callable[[], Any]) -> tuple[Any, tuple[Any, Any, tuple[int, int]]]:
    """The result of a fit, and the account of its shards."""
    Recording.accounts.clear()
    with mock.patch.object(driver, "ClusterShards", Recording):
        model = fit()
    return model, Recording.accounts[-1]


def poker_block(k: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Poker hands and labels: one row in a thousand is labelled, from the hands without a pair."""
    X, hand = make_poker_hands(rows, random_state=k)
    labels = np.zeros(rows, dtype=int)
    labels[np.flatnonzero(hand == 0)[: max(1, rows // 1000)]] = 1
    return (X / 13.0).astype(np.float32), labels


def noise_block(k: int, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal rows whose first column is shifted for positives, and labels of one row in a thousand."""
    rng = np.random.default_rng(k)
    X = rng.standard_normal((rows, columns), dtype=np.float32)
    labels = (np.arange(rows) < max(1, rows // 1000)).astype(int)
    X[:, 0] += (rng.random(rows) < 0.3) | (labels == 1)
    return X, labels


def lazily(
    make: Callable[..., Any], n: int, columns: int, *args: Any, per_block: int = PER_BLOCK
) -> tuple[Any, Any]:
    """A table whose blocks are made on the workers, and kept there."""
    sizes = [min(per_block, n - k) for k in range(0, n, per_block)]
    parts = [dask.delayed(make, pure=True, nout=2)(k, size, *args) for k, size in enumerate(sizes)]
    X = [da.from_delayed(part[0], (size, columns), np.float32) for part, size in zip(parts, sizes, strict=True)]
    y = [da.from_delayed(part[1], (size,), int) for part, size in zip(parts, sizes, strict=True)]
    X, y = dask.persist(da.concatenate(X), da.concatenate(y))
    dask.distributed.wait([X, y])
    return X, y


def best_of_two(fit: Callable[[], Any]) -> tuple[Any, float]:
    """The result of the second call, and the time of the faster one: the first may load compiled code."""
    times = []
    for _ in range(2):
        began = time.perf_counter()
        result = fit()
        times.append(time.perf_counter() - began)
    return result, min(times)


def iteration_bytes(account: Any, r: int) -> str:
    """Bytes per interior point iteration and block, with those between the nodes of the merging tree."""
    asked, answered, (blocks, groups) = account
    names = ("move", "predict", "correct")
    calls = asked["move"].calls
    inner, level = 0, groups
    while level > 1:
        level = -(-level // FAN)
        inner += level
    up = sum(answered[name] for name in names) * (1 + inner / groups)
    down = sum(asked[name].asked for name in names)
    return f"{(up + down) / calls / blocks:.0f} bytes per iteration and block (≤ {10 * (r * r + r) * 8})"


def figure_poker() -> None:
    n = 10_000_000
    print(f"poker hands {n:,} × 10, linear, λ = 0.01: one process against 2 workers", flush=True)
    parts = [poker_block(k, PER_BLOCK) for k in range(n // PER_BLOCK)]
    X, y = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    del parts
    plain, alone = best_of_two(lambda: usmo.LinearPUSVC(0.5).fit(X, y))
    del X, y
    with workers(2) as client:
        X, y = lazily(poker_block, n, 10)
        (model, account), together = best_of_two(lambda: recorded(lambda: usmo.dask.LinearPUSVC(0.5).fit(X, y)))
        tasks = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
    apart = abs(model.certificate_.primal / plain.certificate_.primal - 1.0)
    calls = sum(part.calls for part in account[0].values())
    print(
        f"  objectives apart by {apart:.1e} (≤ 1e-6); gaps {plain.certificate_.relative_gap:.0e} and "
        f"{model.certificate_.relative_gap:.0e}; largest difference of a weight "
        f"{np.abs(model.coef_ - plain.coef_).max():.0e}\n"
        f"  {together / alone:.2f} × the time of one process ({alone:.1f} s, two threads); {calls} calls, "
        f"iterations {model.n_iter_} and {plain.n_iter_}; {account[2][0]} blocks, {tasks} tasks left at the end\n"
        f"  {iteration_bytes(account, 10)}",
        flush=True,
    )


def figure_mnist() -> None:
    n = 20_000
    print(f"MNIST {n:,} × 784 in 8 blocks, exact rbf, λ = 0.01: one process against 2 workers", flush=True)
    X, y, prior = pu_table("mnist", n)
    plain, alone = best_of_two(lambda: usmo.PUSVC(prior).fit(X, y))
    with workers(2):
        warnings.simplefilter("ignore", UserWarning)
        rows = -(-len(y) // 8)
        lazy_X, lazy_y = dask.persist(da.from_array(X, chunks=(rows, X.shape[1])), da.from_array(y, chunks=rows))
        dask.distributed.wait([lazy_X, lazy_y])
        (model, account), together = best_of_two(
            lambda: recorded(lambda: usmo.dask.PUSVC(prior).fit(lazy_X, lazy_y))
        )
    apart = abs(model.certificate_.primal / plain.certificate_.primal - 1.0)
    other = len(np.setxor1d(model.support_, plain.support_))
    row = 4 * (X.shape[1] + 1)
    moved = account[1]["rows_at"] / row
    print(
        f"  objectives apart by {apart:.1e} (≤ 1e-6); supports of {len(plain.support_)} rows differ in {other}\n"
        f"  rows sent {moved:.0f}; kernel rows over all of U {model.kernel_rows_:.0f}, in one process "
        f"{plain.kernel_rows_:.0f}, {int(y.sum())} of them of labelled rows\n"
        f"  {together / alone:.2f} × the time of one process ({alone:.1f} s); "
        f"{sum(part.calls for part in account[0].values())} calls",
        flush=True,
    )


def killed_fit(client: Client, fit: Callable[[], Any], seconds: float, rng: random.Random) -> tuple[Any, bool]:
    """A fit during which a random worker is killed, and whether the kill came before the end of the fit."""
    pids, done = list(client.run(os.getpid, on_error="ignore").values()), threading.Event()
    killed = []

    def kill() -> None:
        if not done.wait(seconds * rng.uniform(0.05, 0.95)):
            os.kill(rng.choice(pids), signal.SIGKILL)
            killed.append(True)

    thread = threading.Thread(target=kill)
    thread.start()
    with mock.patch.object(driver, "ClusterShards", Counting):
        model = fit()
    done.set()
    thread.join()
    return model, bool(killed)


def figure_killed() -> None:
    print("10 fits on 3 workers, one of which is killed with SIGKILL at a random moment", flush=True)
    rng = random.Random(0)
    digits, labels, prior = pu_table("mnist", 4000)
    with workers(3) as client:
        warnings.simplefilter("ignore", UserWarning)
        rows = -(-len(labels) // 6)
        cases = {
            "linear, poker 1,000,000 × 10": (
                lambda: usmo.dask.LinearPUSVC(0.5),
                lambda: lazily(poker_block, 1_000_000, 10, per_block=100_000),
            ),
            "exact rbf, MNIST 4,000 × 784": (
                lambda: usmo.dask.PUSVC(prior, tol=1e-4),
                lambda: (da.from_array(digits, chunks=(rows, 784)), da.from_array(labels, chunks=rows)),
            ),
        }
        for name, (model, table) in cases.items():
            X, y = table()
            model().fit(X, y)  # compiles
            began = time.perf_counter()
            whole = model().fit(X, y)
            seconds = time.perf_counter() - began
            apart, killed, Counting.opened = [], 0, 0
            while killed < 5:
                time.sleep(2.0)  # the scheduler must notice the last kill
                client.wait_for_workers(2)  # a worker killed during its start is not replaced
                opened = Counting.opened
                refitted, hit = killed_fit(client, lambda m=model, X=X, y=y: m().fit(X, y), seconds, rng)
                if hit:
                    killed += 1
                    apart.append(abs(refitted.certificate_.primal / whole.certificate_.primal - 1.0))
                else:
                    Counting.opened = opened
            print(
                f"  {name}: {killed} workers killed, shards opened {Counting.opened} times, "
                f"objectives apart by at most {max(apart):.1e}",
                flush=True,
            )


def frame_block(k: int, rows: int) -> pd.DataFrame:
    return pd.DataFrame(poker_block(k, rows)[0], columns=[f"x{j}" for j in range(10)])


class PeakMemory:
    """The largest memory of any worker while the body runs."""

    def __init__(self, client: Client) -> None:
        self.processes = [psutil.Process(pid) for pid in client.run(os.getpid).values()]
        self.before = max(process.memory_info().rss for process in self.processes)
        self.most, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        while not self._over.wait(0.05):
            self.most = max(self.most, *(process.memory_info().rss for process in self.processes))

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()


def figure_predict() -> None:
    n, parts = 10_000_000, 100
    print(f"scores of {n:,} rows from Parquet to Parquet, {parts} parts, 2 workers", flush=True)
    with tempfile.TemporaryDirectory() as folder, workers(2) as client:
        source, target = Path(folder) / "rows", Path(folder) / "scores"
        blocks = [dask.delayed(frame_block)(k, n // parts) for k in range(parts)]
        dd.from_delayed(blocks, meta=frame_block(0, 10)).to_parquet(source)
        X, y = poker_block(0, 200_000)
        for name, model in (
            ("linear", usmo.dask.LinearPUSVC(0.5).fit(X, y)),
            ("rbf, Nyström 200", usmo.dask.PUSVC(0.5, approximation="nystroem", n_components=200).fit(X, y)),
        ):
            table = dd.read_parquet(source)
            with PeakMemory(client) as peak:
                began = time.perf_counter()
                model.decision_function(table).to_frame().to_parquet(target, overwrite=True)
                seconds = time.perf_counter() - began
            rows = len(dd.read_parquet(target))
            print(
                f"  {name}: {rows:,} scores in {seconds:.0f} s; a worker has "
                f"{peak.before / 2**20:.0f} MB before and at most {peak.most / 2**20:.0f} MB while it scores; "
                f"the rows are {n * 40 / 2**20:.0f} MB",
                flush=True,
            )


def figure_model() -> None:
    """Time of a linear fit = a·rows·columns/workers + calls·(b + c·workers)."""
    cores = len(os.sched_getaffinity(0))
    print(f"linear fits on 1, 2 and 4 worker processes, {cores} cores", flush=True)
    cases = [
        (count, n, r)
        for count in (1, 2, 4)
        for n, r in ((100_000, 10), (1_000_000, 10), (10_000_000, 10), (300_000, 30), (300_000, 100))
    ]
    held_out = (2, 3_000_000, 20)
    measured: dict[tuple[int, int, int], tuple[float, int]] = {}
    for count in (1, 2, 4):
        with workers(count):
            for case in [*cases, held_out]:
                if case[0] == count:
                    _, n, r = case
                    per_block = max(25_000, min(PER_BLOCK * 10 // r, n // 8))
                    X, y = lazily(noise_block, n, r, r, per_block=per_block)
                    runs = []
                    for _ in range(1 if n >= 3_000_000 else 3):
                        began = time.perf_counter()
                        model, account = recorded(lambda X=X, y=y: usmo.dask.LinearPUSVC(0.3).fit(X, y))
                        runs.append(time.perf_counter() - began)
                    calls = sum(part.calls for part in account[0].values())
                    measured[case] = min(runs), calls
                    del X, y
                    print(
                        f"  {count} workers, {n:>10,} × {r:<3d} {account[2][0]:>3d} blocks  {min(runs):6.2f} s  "
                        f"{calls} calls  iterations {model.n_iter_}  {iteration_bytes(account, r)}",
                        flush=True,
                    )

    def terms(case: tuple[int, int, int]) -> list[float]:
        count, n, r = case
        share = n / min(count, cores)
        calls = measured[case][1]
        return [share * r, calls, calls * count]

    used = [case for case in cases if case != held_out]
    A, t = np.array([terms(case) for case in used]), np.array([measured[case][0] for case in used])
    (a, b, c), _ = nnls(A / t[:, None], np.ones(len(t)))  # relative errors
    off = A @ [a, b, c] / t
    print(
        f"  time = {a * 1e9:.0f} ns·rows·columns/workers + calls·({b * 1e3:.0f} ms + {c * 1e3:.1f} ms·workers)\n"
        f"  fitted over measured: {off.min():.2f} to {off.max():.2f}; held out ({held_out[0]} workers, "
        f"{held_out[1]:,} × {held_out[2]}): {np.dot(terms(held_out), [a, b, c]) / measured[held_out][0]:.2f}",
        flush=True,
    )
    n, r, count = 10**9, 100, 100
    calls = measured[held_out][1]
    up = ((r + 3) * (r + 1) + 2 + 2 * (r + 1) + 2 + 1) * 8
    print(
        f"  10⁹ × 100 on 100 workers, {calls} calls: {a * n * r / count:.0f} + {(b + c * count) * calls:.0f} s; "
        f"{up} bytes up per worker thread and iteration"
    )


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="Sending large graph")
    figures = {name[7:]: figure for name, figure in globals().items() if name.startswith("figure_")}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", nargs="*", default=list(figures), help=", ".join(figures))
    for name in parser.parse_args().figures:
        figures[name]()
