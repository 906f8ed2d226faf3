"""Rules that choose Nyström landmarks: python -m benchmarks.landmarks   (USMO_DATA set)

For each table (10,000 unlabelled rows, λ = 1e-4): how far the regularised PU risk of the fit on the landmarks exceeds
the exact minimum, relative to uniform landmarks, mean over seeds; and the time to choose.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.cluster import kmeans_plusplus

from benchmarks.fits import fit
from benchmarks.large import NAMES, problem
from usmo.fitting.linear import fit_linear
from usmo.fitting.specification import Specification
from usmo.kernels.maps import NystroemMap, choose_landmarks
from usmo.kernels.row_blocks import ArrayFeatures

SEEDS = range(3)


def uniform(X: object, rows: np.ndarray, m: int, seed: int, kernel: object) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).choice(rows, m, replace=False))


def plus_plus(X: object, rows: np.ndarray, m: int, seed: int, kernel: object) -> np.ndarray:
    return choose_landmarks(X, rows, m, seed)


def plus_plus_all(X, rows, m, seed, kernel):  # type: ignore[no-untyped-def]
    """k-means++ on all rows instead of ten per landmark."""
    _, chosen = kmeans_plusplus(X[rows].astype(np.float64), m, random_state=seed)
    return np.sort(rows[np.unique(chosen)])


def leverage(X, rows, m, seed, kernel):  # type: ignore[no-untyped-def]
    """Ridge leverage scores, estimated from as many uniform landmarks."""
    rng = np.random.default_rng(seed)
    pilot = NystroemMap(kernel, X[np.sort(rng.choice(rows, m, replace=False))])
    Z = pilot.transform(X[rows])
    ridge = np.trace(Z.T @ Z) / (10.0 * Z.shape[1])
    scores = np.einsum("ij,ij->i", Z @ np.linalg.inv(Z.T @ Z + ridge * np.eye(Z.shape[1])), Z)
    residual = np.maximum(0.0, 1.0 - np.einsum("ij,ij->i", Z, Z))  # rbf: k(x,x) = 1
    chance = scores + residual / max(ridge, 1e-12)
    return np.sort(rng.choice(rows, m, replace=False, p=chance / chance.sum()))


RULES = {"uniform": uniform, "k-means++": plus_plus, "k-means++ (all)": plus_plus_all, "leverage": leverage}


def main() -> None:
    for m in (200, 1000):
        ratios: dict[str, list[float]] = {name: [] for name in RULES}
        spent: dict[str, list[float]] = {name: [] for name in RULES}
        for table in NAMES:
            task, matrix = problem(table, 10_000, 1e-4)
            exact = fit(task, matrix, solver="blocks")[1].primal
            rows, line = np.arange(len(matrix)), f"  {table:8s}"
            base = 0.0
            for name, rule in RULES.items():
                excess = []
                for seed in SEEDS:
                    began = time.perf_counter()
                    landmarks = rule(matrix.X, rows, m, seed, matrix.kernel)
                    spent[name].append(time.perf_counter() - began)
                    mapped = NystroemMap(matrix.kernel, matrix.X[landmarks])
                    rough = fit_linear(task, ArrayFeatures(mapped.transform(matrix.X)), Specification())
                    excess.append((rough.certificate.primal - exact) / task.c.sum())
                base = base or float(np.mean(excess))
                ratios[name].append(float(np.mean(excess)) / base)
                line += f"  {name} {np.mean(excess):.4f}"
            print(f"m = {m} {line}", flush=True)
        for name in RULES:
            mean = np.exp(np.mean(np.log(ratios[name])))
            print(
                f"m = {m}   {name:16s} excess / that of uniform {mean:.2f}, {np.mean(spent[name]):.2f} s to choose",
                flush=True,
            )


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    main()
