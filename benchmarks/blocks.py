"""Measure the block solver: python -m benchmarks.blocks [figure …]   (figures: see FIGURES below)

Every figure is a ratio or a count of one run; times are the best of several. USMO_DATA must be set.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from benchmarks.fits import best_time, fit, solve_blocks, time_and_memory
from benchmarks.large import NAMES, problem, pu_table
from usmo import PUSVC, path
from usmo.core.problem import Problem
from usmo.fitting import kernel as fitting
from usmo.fitting.warm_up import compile_kernel_solvers
from usmo.kernels.matrix import KernelMatrix
from usmo.kernels.tiles import add_rows, rbf_block, rbf_sums
from usmo.solvers import block_shards, blocks

LAMBDAS = (1e-3, 1e-4, 1e-5)


def rows_alone(task: Problem, kernel: KernelMatrix, solver_rows: float, dtype: object, support: int) -> float:
    """Seconds for the kernel rows of a fit alone: those of the solver, in new memory, and those of the certificate."""
    n = task.n
    matrix = kernel.restrict(task.c_rows, dtype)
    whole = KernelMatrix(kernel.X, kernel.kernel)
    everything = np.arange(len(whole))

    def work() -> None:
        left = round(solver_rows)
        while left > 0:
            matrix.block(np.arange(min(left, blocks.BLOCK)), slice(None))
            left -= blocks.BLOCK
        whole.product(everything, everything[: min(support, n)], np.ones(min(support, n)))

    return best_time(work)


def figure_rows() -> None:
    print("kernel rows / n at n = 10,000, and fit time / time of the same rows alone (certificate included)")
    over, ratios = [], []
    for name in NAMES:
        for lam in LAMBDAS:
            task, kernel = problem(name, 10_000, lam)
            dtype = blocks.choose_float_type(task, kernel, 1e-3)
            solution, certificate = fit(task, kernel)
            seconds = best_time(lambda task=task, kernel=kernel: fit(task, kernel))
            share = np.count_nonzero(solution.sigma) / task.n
            support = np.count_nonzero(task.table_coefficients(solution.sigma, len(kernel)))
            alone = rows_alone(task, kernel, solution.kernel_rows, dtype, support)
            over.append(solution.kernel_rows / task.n - share)
            ratios.append(seconds / alone)
            print(
                f"  {name:8s} lam {lam:g}  rows/n {solution.kernel_rows / task.n:.3f}  nnz/n {share:.3f}  over "
                f"{over[-1]:.3f}  rounds {solution.iterations:3d}  {np.dtype(dtype).name}  "
                f"gap {certificate.relative_gap:.1e}  kkt {certificate.kkt_violation:.1e}  "
                f"time/rows alone {ratios[-1]:.2f}",
                flush=True,
            )
    print(f"  over nnz/n: mean {np.mean(over):.3f}, worst {np.max(over):.3f}   (promised ≤ 0.25, ≤ 0.5)")
    print(f"  time / rows alone: mean {np.mean(ratios):.2f}, worst {np.max(ratios):.2f}   (promised ≤ 1.5)")


def figure_tiles() -> None:
    print("fused rbf tile against sklearn.metrics.pairwise.rbf_kernel, float64, 1,000 × 5,000")
    rng = np.random.default_rng(0)
    for d, promised in ((10, 4.0), (784, 1.3)):
        A, B = rng.normal(size=(1000, d)), rng.normal(size=(5000, d))
        a2, b2 = np.einsum("ij,ij->i", A, A), np.einsum("ij,ij->i", B, B)
        theirs = best_time(lambda A=A, B=B, d=d: rbf_kernel(A, B, gamma=1 / d), 15)
        ours = best_time(lambda A=A, B=B, a2=a2, b2=b2, d=d: rbf_block(A, B, a2, b2, 1 / d), 15)
        low = [x.astype(np.float32) for x in (A, B, a2, b2)]
        single = best_time(lambda low=low, d=d: rbf_block(*low, 1 / d), 15)
        print(f"  d {d:4d}: {theirs / ours:5.2f} × faster (promised {promised}); float32 {theirs / single:.2f} ×")


def figure_kept() -> None:
    print("2,048 kernel rows of 20,000 float32 values: computed again, or kept and read, in milliseconds")
    for d in (9, 63, 123, 703):
        again, kept = kept_seconds(d)
        print(f"  d {d:4d}: computed again {1e3 * again:.0f}, kept {1e3 * kept:.0f}")


def kept_seconds(d: int) -> tuple[float, float]:
    """Seconds for two sums over kernel rows computed again, and what keeping them for these sums costs more."""
    X = (np.random.default_rng(0).normal(size=(20_000, d)) / np.sqrt(d)).astype(np.float32)
    norms, slots = np.einsum("ij,ij->i", X, X), np.arange(2048)

    def summed(columns: int) -> float:
        weights = np.ones((2048, columns))
        take = lambda part: (X[part], norms[part])  # noqa: E731
        return best_time(lambda: rbf_sums(take, 20_000, X[:2048], norms[:2048], 1.0, weights))

    def read(lines: int) -> float:
        return best_time(lambda: add_rows(np.zeros((lines, 20_000)), rows, slots, np.ones((lines, 2048))))

    rows = rbf_block(X[:2048], X, norms[:2048], norms, 1.0)
    written = best_time(lambda: rbf_block(X[:2048], X, norms[:2048], norms, 1.0))
    return summed(2), written + read(1) - summed(1) + read(2)


def figure_rivals() -> None:
    _against({"SVC": SVC, "sklearnex": _sklearnex()})


def figure_sklearnex() -> None:
    _against({"sklearnex": _sklearnex()})


def _sklearnex() -> Any:
    try:
        from sklearnex.svm import SVC as FastSVC
    except ImportError:
        print("  sklearnex is not installed: pip install scikit-learn-intelex")
        return None
    return FastSVC


def _against(rivals: dict[str, Any]) -> None:
    """Times of rivals over ours, by the clock and of the processors.

    Runs alternate, and the best of each counts; ``SVC``, which is far slower, runs once.
    """
    print(
        f"fit against {' and '.join(rivals)} (P against U, balanced, same γ, C = 1); PUSVC with π given, λ = 1e-4"
    )
    ratios: dict[str, list[tuple[float, float]]] = {name: [] for name, make in rivals.items() if make is not None}
    for name in NAMES:
        for n in (10_000, 20_000):
            X, y, prior = pu_table(name, n)
            times: dict[str, list[tuple[float, float]]] = {rival: [] for rival in ("ours", *ratios)}
            for _ in range(3):
                times["ours"].append(_seconds(lambda X=X, y=y, p=prior: PUSVC(p, lam=1e-4).fit(X, y)))
                for rival in ratios:
                    if rival != "SVC" or not times[rival]:  # it takes long
                        model = rivals[rival](class_weight="balanced")
                        times[rival].append(_seconds(lambda X=X, y=y, model=model: model.fit(X, y)))
            best = {rival: np.min(seconds, axis=0) for rival, seconds in times.items()}
            line = f"  {name:8s} n {n:6d}  ours {best['ours'][0]:6.2f} s"
            for rival in ratios:
                clock, processor = best[rival] / best["ours"]
                ratios[rival].append((clock, processor))
                line += f"   {rival} {clock:5.2f} × our time, {processor:5.2f} × our processor time"
            print(line, flush=True)
    for rival, values in ratios.items():
        clock, processor = np.exp(np.mean(np.log(values), axis=0))
        print(f"  {rival}: geometric mean {clock:.2f} × our time, {processor:.2f} × our processor time")


def _seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock and of the processors."""
    began = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began[0], time.process_time() - began[1]


def figure_qp() -> None:
    print("fit against solver='qp' (MNIST, λ = 1e-4)")
    for n in (2000, 4000):
        X, y, prior = pu_table("mnist", n)
        ours = best_time(lambda X=X, y=y, prior=prior: PUSVC(prior, lam=1e-4).fit(X, y))
        theirs = best_time(lambda X=X, y=y, prior=prior: PUSVC(prior, lam=1e-4, solver="qp").fit(X, y), 1)
        print(f"  n {n}: {theirs / ours:.0f} × faster   (promised 50)", flush=True)


def figure_mnist() -> None:
    print("MNIST n = 59,900, rbf, λ = 1e-4, τ = 1e-3, in its own process")
    subprocess.run([sys.executable, "-m", "benchmarks.blocks", "--mnist"], check=True)


def measure_mnist() -> None:
    X, y, prior = pu_table("mnist", 59_900)
    compile_kernel_solvers()
    model = PUSVC(prior, lam=1e-4)
    seconds, above = time_and_memory(model, X, y)
    n, nonzero = int((y == 0).sum()), len(model.support_) - int(y.sum())
    print(
        f"  {seconds:.0f} s, rows/n {model.kernel_rows_ / n:.3f}, nnz/n {nonzero / n:.3f}, "
        f"peak over the data {above / 2**20:.0f} MB (promised ≤ 1500; data {X.nbytes / 2**20:.0f} MB), "
        f"gap {model.certificate_.relative_gap:.1e}, kkt {model.certificate_.kkt_violation:.1e}",
        flush=True,
    )


def figure_path() -> None:
    print("path of 20 λ from 1e-1 to 1e-5 against one cold fit at 1e-5, n = 10,000")
    for name in ("mnist", "bank"):
        X, y, prior = pu_table(name, 10_000)
        lams = np.logspace(-1, -5, 20)
        one = best_time(lambda X=X, y=y, prior=prior: PUSVC(prior, lam=1e-5).fit(X, y), 2)
        many = best_time(lambda X=X, y=y, prior=prior, lams=lams: path(PUSVC(prior), X, y, lams=lams), 1)
        models = path(PUSVC(prior), X, y, lams=lams)
        worst = max(model.certificate_.kkt_violation for model in models)
        rows = sum(model.kernel_rows_ for model in models) / 10_000
        print(
            f"  {name}: {many / one:.2f} × (promised ≤ 4); rows/n {rows:.2f} in all, worst kkt {worst:.1e}",
            flush=True,
        )


def figure_growth() -> None:
    print("growth of time with n (λ = 1e-4)")
    for name in ("mnist", "shuttle"):
        sizes, seconds, rows = (5000, 10_000, 20_000, 40_000), [], []
        for n in sizes:
            X, y, prior = pu_table(name, n)
            models: list[PUSVC] = []
            seconds.append(
                best_time(lambda X=X, y=y, prior=prior, m=models: m.append(PUSVC(prior, lam=1e-4).fit(X, y)), 2)
            )
            rows.append(models[0].kernel_rows_)
        exponents = [np.polyfit(np.log(sizes), np.log(values), 1)[0] for values in (seconds, rows)]
        times = " ".join(f"{s:.1f}" for s in seconds)
        print(
            f"  {name}: exponent {exponents[0]:.2f} (promised ≤ 2), of kernel rows {exponents[1]:.2f}; {times} s",
            flush=True,
        )


def figure_compile() -> None:
    print("first fit on a cold Numba cache against a warm one")
    call = "PUSVC(0.5).fit(np.arange(8.0)[:, None], [0, 0, 0, 0, 0, 1, 1, 1])"
    code = f"import numpy as np; from usmo import PUSVC; {call}"
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}

        def run() -> None:
            subprocess.run([sys.executable, "-c", code], env=environment, check=True, stderr=subprocess.PIPE)

        cold = best_time(run, 1)
        warm = best_time(run)
    print(f"  cold adds {cold - warm:.1f} s (promised ≤ 10, announced on stderr), {cold / warm:.1f} × warm")


def figure_shares() -> None:
    print("shares of a fit (n = 10,000, λ = 1e-4): certificate, update of G in the rounds; and other block sizes")
    for name in NAMES:
        task, kernel = problem(name, 10_000, 1e-4)
        spent = {"update": 0.0, "certificate": 0.0, "round": False}

        def timed(work: Callable[..., object], part: str, spent: dict = spent) -> Callable[..., object]:
            def run(*args: object, **options: object) -> object:
                began = time.perf_counter()
                answer = work(*args, **options)
                if part == "certificate" or spent["round"]:
                    spent[part] += time.perf_counter() - began
                return answer

            return run

        def in_round(self: object, *args: object, work: Callable = blocks._Run.round, s: dict = spent) -> object:
            s["round"] = True
            answer = work(self, *args)
            s["round"] = False
            return answer

        with (
            mock.patch.object(block_shards, "add_rows", timed(block_shards.add_rows, "update")),
            mock.patch.object(fitting, "certify", timed(fitting.certify, "certificate")),
            mock.patch.object(blocks._Run, "round", in_round),
        ):
            whole = best_time(lambda task=task, kernel=kernel: fit(task, kernel), 1)
        shares = {part: spent[part] / whole for part in ("certificate", "update")}
        line = f"  {name:8s} certificate {shares['certificate']:.2f}  update in rounds {shares['update']:.3f}"
        base = 0.0
        for size in (512, 256, 1024):
            with mock.patch.object(blocks, "BLOCK", size):
                seconds = best_time(lambda task=task, kernel=kernel: solve_blocks(task, kernel))
                rows = solve_blocks(task, kernel).kernel_rows / task.n
            base = base or seconds
            line += f"  block {size}: time {seconds / base:.2f} rows/n {rows:.3f}"
        print(line, flush=True)


FIGURES = {
    "rows": figure_rows, "tiles": figure_tiles, "kept": figure_kept, "rivals": figure_rivals,
    "sklearnex": figure_sklearnex, "qp": figure_qp, "mnist": figure_mnist,
    "path": figure_path, "growth": figure_growth, "compile": figure_compile, "shares": figure_shares,
}  # fmt: skip

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", nargs="*", default=list(FIGURES), help=", ".join(FIGURES))
    parser.add_argument("--mnist", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.mnist:
        measure_mnist()
    else:
        compile_kernel_solvers()
        for name in arguments.figures:
            FIGURES[name]()
