"""Starts for large exact fits: python -m benchmarks.divided [--rows 50000 100000 200000] [--lam 1e-3 1e-4]
(USMO_DATA set)

Kernel values over n², and processor seconds, of solving (tol 1e-3, without the certificate) from each start, for
poker hands of so many rows and for all rows of shuttle, bank and adult. Every start reaches the same tolerance. Lines
go to out/divided.jsonl; what is there already is skipped. ``--starts`` and ``--tables`` choose some of them.

sample    the solver's own: a sample is solved, recursively, its f is computed on all rows, thresholds give σ
clusters  as DC-SVM (Hsieh, Si, Dhillon, ICML 2014): k-means clusters of rows are solved as problems of their own, with
          their own labelled rows; their σ together are the start
both      the sample's f on all rows; then each cluster is solved with the rest of the sample as a fixed background
low rank  thresholds of f of the fit on so many Nyström features; a value between a row and a landmark counts as one
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from benchmarks.large import pu_table
from benchmarks.million import GAMMA, hands
from usmo.core.arrays import Array, Index, Mask
from usmo.core.labels import pu_problem
from usmo.core.problem import Problem
from usmo.core.solution import EvaluatedPoint, Solution
from usmo.fitting.columns import fit_features
from usmo.fitting.specification import Specification
from usmo.fitting.warm_up import compile_kernel_solvers, compile_newton_solver
from usmo.kernels.gamma import resolve_gamma
from usmo.kernels.kernel import Kernel
from usmo.kernels.maps import NystroemMap, choose_landmarks, mapped_features
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers import blocks, starts

RESULTS = Path("out/divided.jsonl")
TABLES = {"shuttle": 57_900, "bank": 45_000, "adult": 32_400}
CLUSTERS = 16
CACHE, TOL, ROUGH = 400.0, 1e-3, 0.1

Start = Callable[[Any, KernelMatrix], tuple[Array, Mask]]
"""From a run of the solver and the matrix of the table to σ, and which kernel rows are worth keeping."""


def clustering(X: Any, rows: Index) -> Iterator[Index]:
    """Positions in ``rows`` of the rows of each cluster."""
    label = MiniBatchKMeans(CLUSTERS, random_state=0, n_init=1, batch_size=4096).fit_predict(X[rows])
    for k in range(CLUSTERS):
        yield np.flatnonzero(label == k)


def clusters(run: Any, matrix: KernelMatrix) -> tuple[Array, Mask]:
    problem, sigma, distance = run.problem, np.zeros(run.problem.n), np.full(run.problem.n, np.inf)
    every = np.concatenate([problem.c_rows, problem.b_rows])
    for M in clustering(matrix.X, every):
        has_c = problem.n > M
        mine, known = M[has_c], M[~has_c] - problem.n
        small = Problem(problem.b_rows[known], problem.c_rows[mine], problem.b[known], problem.c[mine])
        if not 0.0 < small.total < small.c.sum():
            sigma[mine] = small.c * (small.total > 0.0)
            continue
        solution = _solved(small, blocks.local_rows(small, matrix, run.rows.dtype, CACHE))
        run.rows.entries += round(solution.kernel_rows * small.n)
        sigma[mine], distance[mine] = solution.sigma, _distance(solution)
    return problem.repair(sigma), _kept(run, sigma, distance)


def both(run: Any, matrix: KernelMatrix) -> tuple[Array, Mask]:
    problem, rows = run.problem, run.rows
    with mock.patch.object(blocks, "_SAMPLE_SHARES", ((np.inf, CLUSTERS),)):
        first, _ = OWN(run)
    sampled, sigma, distance = run.sigma.copy(), np.zeros(problem.n), np.full(problem.n, np.inf)
    G = rows.G()
    for M in clustering(matrix.X, problem.c_rows):
        share = float(first[M].sum()) / problem.total
        small = Problem(problem.b_rows, problem.c_rows[M], share * problem.b, problem.c[M])
        mine = M[sampled[M] > 0.0]
        without = G[M] + rows.only.matrix.product(M, mine, sampled[mine])
        rows.entries += len(M) * len(mine)
        point = EvaluatedPoint(np.zeros(len(M)), without)
        solution = blocks.solve(small, rows.open_subsample(M), first[M], point=point, tol=ROUGH)
        rows.close_subsample()
        rows.entries += round(solution.kernel_rows * small.n)
        sigma[M], distance[M] = solution.sigma, _distance(solution)
    return problem.repair(sigma), _kept(run, sigma, distance)


def low_rank(landmarks: int, run: Any, matrix: KernelMatrix) -> tuple[Array, Mask]:
    problem = run.problem
    chosen = choose_landmarks(matrix.X, problem.rows, landmarks, 0)
    features = mapped_features(matrix.X, NystroemMap(matrix.kernel, matrix.X[chosen]))
    solution = fit_features(problem, features, Specification(tol=ROUGH)).solution
    run.rows.entries += len(chosen) * problem.n
    sigma = starts.from_scores(problem, solution.G)
    return sigma, _kept(run, sigma, _distance(solution))


def _solved(problem: Problem, rows: Any) -> Solution:
    return blocks.solve(problem, rows, tol=ROUGH)


def _distance(solution: Solution) -> Array:
    return np.abs(np.abs(solution.G + solution.beta) - 1.0)


def _kept(run: Any, sigma: Array, distance: Array) -> Mask:
    """As many rows nearest a threshold as the solver's own start keeps in the cache."""
    kept = np.zeros(run.problem.n, bool)
    count = min(int(blocks._KEPT * run.problem.n), run.rows.holds)
    kept[np.argsort(np.where(sigma > 0.0, distance, np.inf))[:count]] = True
    return kept


OWN = blocks._subsample_start
STARTS: dict[str, Start | None] = {
    "sample": None,
    "clusters": clusters,
    "both": both,
    "low rank 500": partial(low_rank, 500),
    "low rank 1000": partial(low_rank, 1000),
}


def problem_of(name: str, n: int, lam: float) -> tuple[Problem, KernelMatrix]:
    """The paper's problem with the true prior: γ = 0.5 for standardised poker hands, "scale" for the others."""
    X, y, prior = hands(n) if name == "poker" else pu_table(name, n)
    kernel = Kernel("rbf", GAMMA if name == "poker" else resolve_gamma("scale", X))
    rows = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    return pu_problem(prior, lam, *rows), KernelMatrix(X, kernel)


def measure(name: str, n: int, lam: float, start: str) -> dict[str, Any]:
    """Solve from one start. Only the run on all rows begins with it; problems inside it have the solver's own."""
    problem, matrix = problem_of(name, n, lam)
    make = STARTS[start]

    def begin(run: Any) -> tuple[Array, Mask]:
        whole = run.problem is problem
        return make(run, matrix) if whole and make is not None else OWN(run)

    began = time.process_time()
    with mock.patch.object(blocks, "_subsample_start", begin):
        rows = blocks.local_rows(problem, matrix, blocks.choose_float_type(problem, matrix, TOL), CACHE)
        solution = blocks.solve(problem, rows, tol=TOL)
    return {
        "table": name, "rows": problem.n, "lam": lam, "start": start, "seconds": round(time.process_time() - began, 1),
        "values": round(solution.kernel_rows / problem.n, 3), "status": solution.status,
        "support": round(float(np.count_nonzero(solution.sigma) / problem.n), 3),
        "first violation": float(f"{solution.history[0].violation:.3g}"), "rounds": solution.iterations,
        "dual": float(solution.history[-1].objective),
    }  # fmt: skip


def main(arguments: argparse.Namespace) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    done = {(line["table"], line["asked"], line["lam"], line["start"]) for line in lines}
    sizes = [(name, TABLES[name]) for name in arguments.tables if name != "poker"]
    sizes += [("poker", n) for n in arguments.rows if "poker" in arguments.tables]
    compile_kernel_solvers()
    compile_newton_solver()
    for name, n in sizes:
        for lam in arguments.lam:
            for start in arguments.starts:
                if (name, n, lam, start) in done:
                    continue
                lines.append(measure(name, n, lam, start) | {"asked": n})
                with RESULTS.open("a") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
                print(lines[-1], flush=True)
    _print(lines)


def _print(lines: list[dict[str, Any]]) -> None:
    print(f"{'table':8s} {'rows':>8s} {'lam':>6s} {'support':>8s}", *(f"{name:>18s}" for name in STARTS))
    for name, n, lam in sorted({(line["table"], line["rows"], line["lam"]) for line in lines}):
        found = {
            line["start"]: line for line in lines if (line["table"], line["rows"], line["lam"]) == (name, n, lam)
        }
        cells = [
            f"{found[start]['values']:.3f} {found[start]['seconds']:7.1f} s" if start in found else ""
            for start in STARTS
        ]
        support = next(iter(found.values()))["support"]
        print(f"{name:8s} {n:8d} {lam:6g} {support:8.3f}", *(f"{cell:>18s}" for cell in cells))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 100_000, 200_000])
    parser.add_argument("--lam", type=float, nargs="+", default=[1e-3, 1e-4])
    parser.add_argument("--tables", nargs="+", default=[*TABLES, "poker"], choices=[*TABLES, "poker"])
    parser.add_argument("--starts", nargs="+", default=list(STARTS), choices=list(STARTS))
    main(parser.parse_args())
