"""The large tables of the benchmarks: scaled, one class against the rest, 100 labelled positives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from usmo.core.labels import pu_problem
from usmo.core.problem import Problem
from usmo.datasets import load
from usmo.kernels.gamma import resolve_gamma
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix

NAMES = ("mnist", "adult", "bank", "shuttle")


def table(name: str) -> tuple[Any, np.ndarray]:
    """X and the positive rows: MNIST 3, adult > 50K, bank "yes" (one-hot, standardised), shuttle class 1."""
    X, y = load({"adult": "adult-a9a", "bank": "bank-marketing"}.get(name, name))
    if name == "mnist":
        return (X / 255.0).astype(np.float32), y == 3
    if name == "bank":
        with np.load(Path(os.environ["USMO_DATA"]) / "bank-marketing.npz", allow_pickle=False) as stored:
            categorical = stored["is_categorical"]
        X = np.hstack(
            [(c[:, None] == np.unique(c)) if k else c[:, None] for c, k in zip(X.T, categorical, strict=True)]
        )
    return (X if name == "adult" else (X - X.mean(axis=0)) / X.std(axis=0)), y == 1


def pu_table(name: str, n: int, positives: int = 100, seed: int = 0) -> tuple[Any, np.ndarray, float]:
    """X, labels and the true prior of n unlabelled rows; the labelled rows come first."""
    X, positive = table(name)
    rng = np.random.default_rng(seed)
    labelled = rng.permutation(np.flatnonzero(positive))[:positives]
    rest = rng.permutation(np.setdiff1d(np.arange(len(positive)), labelled))[:n]
    rows = np.concatenate([labelled, rest])
    return X[rows], (np.arange(len(rows)) < positives).astype(int), float(positive[rest].mean())


def problem(name: str, n: int, lam: float) -> tuple[Problem, KernelMatrix]:
    """The training problem with γ = "scale" and the true prior."""
    X, y, prior = pu_table(name, n)
    kernel = Kernel("rbf", resolve_gamma("scale", X))
    rows = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    return pu_problem(prior, lam, *rows), KernelMatrix(X, kernel)
