"""From a decision to the next candidate while a fit runs, and the time of a fit."""

from __future__ import annotations

import os
import tempfile
import time
from typing import Any

import numpy as np
from scipy import sparse

from usmo.review import BackgroundRefit, Review

_DECISIONS = 60


def run() -> None:
    """Dense tables of 20 columns with the default kernel, and sparse documents of 60 words."""
    print(f"{'rows':>8} {'table':>7} {'first fit':>10} {'refit':>8} {'tell to next, median':>21} {'worst':>8}")
    for rows in (10_000, 100_000):
        for kind in ("dense", "sparse"):
            _measure(rows, kind)


def _measure(rows: int, kind: str) -> None:
    rng = np.random.default_rng(0)
    X, truth = (_dense if kind == "dense" else _documents)(rows, rng)
    known = np.zeros(rows, dtype=int)
    known[np.flatnonzero(truth)[:5]] = 1
    with tempfile.TemporaryDirectory() as folder:
        review = Review(X, known, store=os.path.join(folder, "latency.review"))
        begin = time.perf_counter()
        review.refit()
        first = time.perf_counter() - begin
        batch = review.next(50)
        review.tell(batch, truth[batch])
        begin = time.perf_counter()
        review.refit()
        refit = time.perf_counter() - begin
        waits = []
        with BackgroundRefit(review) as background:
            row = review.next(1)
            for _ in range(_DECISIONS):
                begin = time.perf_counter()
                review.tell(row, truth[row])
                background.poke()
                row = review.next(1)
                waits.append(time.perf_counter() - begin)
                time.sleep(0.02)
        review.close()
    median, worst = 1e3 * np.median(waits), 1e3 * max(waits)
    print(f"{rows:8,} {kind:>7} {first:9.2f}s {refit:7.2f}s {median:18.0f} ms {worst:5.0f} ms", flush=True)


def _dense(rows: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    truth = rng.random(rows) < 0.02
    return rng.normal(size=(rows, 20)) + 1.2 * truth[:, None] * (np.arange(20) < 6), truth


def _documents(rows: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Rows of 60 words from a vocabulary of 50,000, rare words more often in positives."""
    truth = rng.random(rows) < 0.01
    words = np.minimum(rng.pareto(1.1, size=(rows, 60)) * 30, 49_999).astype(int)
    topic = truth[:, None] & (rng.random((rows, 60)) < 0.15)
    words[topic] = 20_000 + rng.integers(0, 200, int(topic.sum()))
    X = sparse.csr_matrix((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, 60)), (rows, 50_000))
    X.sum_duplicates()
    X.data = 1 + np.log(X.data)
    idf = np.log((1 + rows) / (1 + np.bincount(X.indices, minlength=50_000))) + 1
    X = X @ sparse.diags(idf)
    length = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags(1 / length) @ X), truth
