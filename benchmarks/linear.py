"""Measure the linear solver: python -m benchmarks.linear [figure …]   (figures: see FIGURES below)

Every figure is a ratio or a count of one run; times are the best of several. USMO_DATA must be set.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from unittest import mock

import numpy as np
import psutil
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.svm import LinearSVC

from benchmarks.exactness import paper_problem
from benchmarks.fits import best_time, fit
from benchmarks.large import pu_table, table
from usmo import PUSVC, LinearPUSVC
from usmo.datasets import SMALL, make_poker_hands
from usmo.fitting.warm_up import compile_kernel_solvers, compile_linear_solver
from usmo.kernels.row_blocks import PartFeatures
from usmo.solvers import linear

LAMBDAS = (1e-1, 1e-2, 1e-3, 1e-4)
POSITIVES = 100


def poker(n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Standardised hands, labels for the first hands of class 0, and the share of class 0 among the others."""
    X, y = make_poker_hands(n, random_state=0)
    labels = np.zeros(n, dtype=np.int64)
    labels[np.flatnonzero(y == 0)[:POSITIVES]] = 1
    table = X.astype(np.float64)
    table -= table.mean(axis=0)
    table /= table.std(axis=0)
    return table, labels, float((y[labels == 0] == 0).mean())


def figure_poker() -> None:
    print("poker hands 1,000,000 × 10, standardised: fit time against scikit-learn on the same rows (P against U)")
    X, y, prior = poker(1_000_000)
    warnings.simplefilter("ignore", ConvergenceWarning)
    rivals = {
        "LinearSVC(dual=False)": best_time(lambda: LinearSVC(dual=False).fit(X, y)),
        "the same, balanced": best_time(lambda: LinearSVC(dual=False, class_weight="balanced").fit(X, y)),
        # stopped after 50 of its 1,000 iterations, before it converges: the ratio is a lower bound
        "LinearSVC(hinge), 50 iterations": best_time(
            lambda: LinearSVC(loss="hinge", class_weight="balanced", max_iter=50).fit(X, y), 1
        ),
        "SGDClassifier": best_time(lambda: SGDClassifier(class_weight="balanced", random_state=0).fit(X, y), 1),
    }
    for lam in LAMBDAS:
        models: list[LinearPUSVC] = []
        ours = best_time(lambda lam=lam, m=models: m.append(LinearPUSVC(prior, lam=lam).fit(X, y)))
        certificate, model = models[-1].certificate_, models[-1]
        ratios = "  ".join(f"{name} {seconds / ours:.2f} × our time" for name, seconds in rivals.items())
        print(
            f"  lam {lam:g}  {ours:.2f} s  iterations {model.n_iter_} (≤ 30)  rounds {len(model.history_)}  "
            f"gap {certificate.relative_gap:.0e}  kkt {certificate.kkt_violation:.0e}  {ratios}",
            flush=True,
        )
    print("  promised: at least 0.67 × for the first, 5 × for the last two")


def figure_narrowing() -> None:
    print("rounds on some rows against the interior point on all rows, poker hands 1,000,000 × 10")
    X, y, prior = poker(1_000_000)
    for lam in LAMBDAS:
        models: list[LinearPUSVC] = []
        work = lambda lam=lam, m=models: m.append(LinearPUSVC(prior, lam=lam).fit(X, y))  # noqa: E731
        narrowed = best_time(work)
        with mock.patch.object(linear, "_SHARE", 1):
            whole = best_time(work, 1)
        counts = models[0].n_iter_, models[-1].n_iter_
        print(
            f"  lam {lam:g}: {whole / narrowed:.1f} × faster; iterations {counts[0]} and {counts[1]}", flush=True
        )


def figure_tables() -> None:
    print("adult, shuttle, bank, MNIST, all rows: fit time over LinearSVC(dual=False), plain and balanced")
    warnings.simplefilter("ignore", ConvergenceWarning)
    ratios = []
    for name, n in (("adult", 32_461), ("shuttle", 43_400), ("bank", 45_000), ("mnist", 59_900)):
        X, y, prior = pu_table(name, n)
        times = 1 if name == "mnist" else 3
        plain = best_time(lambda X=X, y=y: LinearSVC(dual=False).fit(X, y), times)
        fair = best_time(lambda X=X, y=y: LinearSVC(dual=False, class_weight="balanced").fit(X, y), times)
        for lam in (1e-2, 1e-4):
            models: list[LinearPUSVC] = []
            ours = best_time(
                lambda lam=lam, X=X, y=y, prior=prior, m=models: m.append(LinearPUSVC(prior, lam=lam).fit(X, y)),
                times,
            )
            model = models[-1]
            ratios.append((ours / plain, ours / fair))
            print(
                f"  {name:8s} {X.shape[0]} × {X.shape[1]}  lam {lam:g}  iterations {model.n_iter_}  gap "
                f"{model.certificate_.relative_gap:.0e}  ours / plain {ratios[-1][0]:.2f}  / balanced "
                f"{ratios[-1][1]:.2f}",
                flush=True,
            )
    means = np.exp(np.mean(np.log(ratios), axis=0))
    print(f"  geometric mean: plain {means[0]:.2f}, balanced {means[1]:.2f}   (promised ≤ 3)")


def figure_memory() -> None:
    print("peak memory beyond the data, in numbers of 8 bytes per row (promised ≤ 20), each in its own process")
    for n in (1_000_000, 10_000_000):
        subprocess.run([sys.executable, "-m", "benchmarks.linear", "--memory", str(n)], check=True)


def measure_memory(n: int) -> None:
    X, y, prior = poker(n)
    compile_linear_solver()
    with anonymous_peak() as peak:
        model = LinearPUSVC(prior, lam=1e-3).fit(X, y)
    print(
        f"  {n} × 10: {peak.above / 8 / n:.1f} numbers per row above the data, gap "
        f"{model.certificate_.relative_gap:.0e}",
        flush=True,
    )


class anonymous_peak:
    """Measures how far RssAnon of this process rises while the body runs."""

    def __enter__(self) -> anonymous_peak:
        self.first = self.most = self._now()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            self.most = max(self.most, self._now())

    @property
    def above(self) -> int:
        return self.most - self.first

    @staticmethod
    def _now() -> int:
        with open("/proc/self/status") as stream:
            fields = dict(line.split(":", 1) for line in stream)
        if "RssAnon" in fields:
            return int(fields["RssAnon"].split()[0]) * 1024
        return int(psutil.Process().memory_info().rss)


def figure_memmap() -> None:
    print("a memory map of 20,000,000 × 20 (3.2 GB) and a directory of parts, in its own process")
    subprocess.run([sys.executable, "-m", "benchmarks.linear", "--memmap", "20000000"], check=True)


def measure_memmap(n: int) -> None:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(dir=os.environ.get("USMO_SCRATCH")) as folder:
        file = os.path.join(folder, "table.npy")
        X = np.lib.format.open_memmap(file, mode="w+", dtype=np.float64, shape=(n, 20))
        labels = np.zeros(n, dtype=np.int8)
        labels[:POSITIVES] = 1
        for start in range(0, n, 500_000):
            part = slice(start, min(start + 500_000, n))
            positive = rng.random(part.stop - part.start) < 0.3
            if start == 0:
                positive[:POSITIVES] = True
            X[part] = rng.normal(size=(part.stop - part.start, 20)) + 0.5 * positive[:, None]
        X.flush()
        del X
        X = np.load(file, mmap_mode="r")
        compile_linear_solver()
        began = time.perf_counter()
        with anonymous_peak() as peak:
            model = LinearPUSVC(0.3, lam=1e-3).fit(X, labels)
        seconds = time.perf_counter() - began
        print(
            f"  {n} × 20: {seconds:.0f} s, {model.n_iter_} iterations, {len(model.history_)} rounds, gap "
            f"{model.certificate_.relative_gap:.0e}, anonymous memory {peak.above / 8 / n:.1f} numbers per row "
            "(promised ≤ 20)",
            flush=True,
        )
        small = n // 20
        by_map = LinearPUSVC(0.3, lam=1e-3).fit(X[:small], labels[:small])
        in_memory = LinearPUSVC(0.3, lam=1e-3).fit(np.array(X[:small]), labels[:small])
        os.mkdir(os.path.join(folder, "parts"))
        for k, rows in enumerate(np.array_split(np.arange(small), 7)):
            np.save(os.path.join(folder, "parts", f"{k}.npy"), X[rows])
        parts = LinearPUSVC(0.3, lam=1e-3).fit(
            PartFeatures.directory(os.path.join(folder, "parts")), labels[:small]
        )
        values = [m.certificate_.primal for m in (by_map, in_memory, parts)]
        worst = max(abs(value / values[1] - 1.0) for value in values)
        print(
            f"  on a twentieth: memory map and parts differ from memory by {worst:.0e} in the optimum", flush=True
        )


def figure_growth() -> None:
    print("growth of time with the rows, poker hands, λ = 1e-3")
    sizes, seconds = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000), []
    for n in sizes:
        X, y, prior = poker(n)
        seconds.append(
            best_time(lambda X=X, y=y, prior=prior: LinearPUSVC(prior, lam=1e-3).fit(X, y), 3 if n <= 10**6 else 1)
        )
    exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    print(f"  exponent {exponent:.2f} (promised ≤ 1.1); {' '.join(f'{s:.2f}' for s in seconds)} s", flush=True)


def figure_objective() -> None:
    print("objective against solver='qp' and 'usmo' on the 12 small tables × 4 λ, linear kernel")
    worst = {"qp": 0.0, "usmo": 0.0}
    gaps = []
    for name in SMALL:
        for lam in LAMBDAS:
            problem, matrix = paper_problem(name, "linear", lam)
            ours = fit(problem, matrix, solver="interior-point", tol=1e-5)[1]
            gaps.append(ours.relative_gap)
            for solver in worst:
                other = fit(problem, matrix, solver=solver, tol=1e-6)[1]
                difference = (ours.primal - other.primal) / max(1.0, abs(other.primal))
                worst[solver] = max(worst[solver], difference)
    print(
        f"  largest excess over qp {worst['qp']:.0e}, over usmo {worst['usmo']:.0e} (promised ≤ 1e-7); largest "
        f"gap of ours {max(gaps):.0e}",
        flush=True,
    )


def figure_nystroem() -> None:
    print("Nyström, MNIST 3 against the rest, n = 59,900, λ = 1e-4: 1,000 landmarks against the exact fit")
    X, y, prior = pu_table("mnist", 59_900)
    digits, positive = table("mnist")
    rng = np.random.default_rng(0)
    labelled = rng.permutation(np.flatnonzero(positive))[:POSITIVES]
    truth = positive[rng.permutation(np.setdiff1d(np.arange(len(positive)), labelled))[:59_900]]
    del digits
    rows = y == 0
    exact_seconds = 0.0
    for name, model in (
        ("exact", PUSVC(prior, lam=1e-4)),
        ("nystroem", PUSVC(prior, lam=1e-4, approximation="nystroem", n_components=1000)),
        ("rff", PUSVC(prior, lam=1e-4, approximation="rff", n_components=1000)),
    ):
        seconds = best_time(lambda model=model: model.fit(X, y), 1)
        exact_seconds = exact_seconds or seconds
        f = model.decision_function(X[rows])
        line = f"  {name:8s} time {seconds / exact_seconds:.2f} × exact  F1 {f1_score(truth, f > 0):.3f}  AUC "
        line += f"{roc_auc_score(truth, f):.4f}  gap {model.certificate_.relative_gap:.0e}"
        if name != "exact":
            a = model.approximation_
            line += (
                f"  on {a.n_compared} rows: objective {a.objective:.4f} against {a.exact_objective:.4f}, mean "
                f"|Δf| {a.mean_difference:.3f}, {a.changed:.1%} change class"
            )
        print(line, flush=True)


FIGURES = {
    "poker": figure_poker, "narrowing": figure_narrowing, "tables": figure_tables,
    "memory": figure_memory, "memmap": figure_memmap,
    "growth": figure_growth, "objective": figure_objective, "nystroem": figure_nystroem,
}  # fmt: skip

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", nargs="*", default=list(FIGURES), help=", ".join(FIGURES))
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--memmap", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory:
        measure_memory(arguments.memory)
    elif arguments.memmap:
        measure_memmap(arguments.memmap)
    else:
        compile_kernel_solvers()
        compile_linear_solver()
        for name in arguments.figures:
            FIGURES[name]()
