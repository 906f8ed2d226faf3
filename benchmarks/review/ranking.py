"""Work saved and time to discovery of the review and of rivals, over collections and seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks.review.collections import RARE, TEXT, table, text
from benchmarks.review.rivals import Bagging, RandomOrder, ReviewedSVM
from usmo.review.measures import average_time_to_discovery, places_of, work_saved
from usmo.review.simulation import Plan, review_order

OURS = "usmo review"


def methods(kind: str, seed: int) -> dict[str, Any]:
    """The ways to rank, by name; None is the review's own."""
    if kind == "text":
        rivals: dict[str, Any] = {
            "SVM on reviewed, 9.8 in all": ReviewedSVM(True, seed),
            "SVM on reviewed, 9.8 each": ReviewedSVM(False, seed),
        }  # fmt: skip
    else:
        rivals = {
            "PU bagging of trees": Bagging(1.0, seed=seed),
            "PU bagging, rejected x 20": Bagging(20.0, seed=seed),
        }
    return {OURS: None, **rivals, "random order": RandomOrder(seed)}


def run(kind: str, seeds: int, jobs: int, folder: Path) -> None:
    """Simulate all reviews; print a table; keep the labels along our orders for ``stopping``."""
    folder.mkdir(parents=True, exist_ok=True)
    names = TEXT if kind == "text" else tuple(RARE)
    results: dict[str, dict[str, np.ndarray]] = {}
    for name in names:
        data = (text if kind == "text" else table)(name)
        jobs_of = [(method, seed) for seed in range(seeds) for method in methods(kind, seed)]
        along = Parallel(n_jobs=jobs)(delayed(_one)(kind, data, method, seed) for method, seed in jobs_of)
        n = len(data.truth) - 1
        for (method, _), labels in zip(jobs_of, along, strict=True):
            places = places_of(labels)
            pair = work_saved(places, n), average_time_to_discovery(places, n)
            results.setdefault(method, {}).setdefault(name, []).append(pair)  # type: ignore[arg-type,union-attr]
        ours = [labels for (method, _), labels in zip(jobs_of, along, strict=True) if method == OURS]
        np.savez_compressed(folder / f"{name}.npz", along=np.array(ours))
        print(f"{name}: {n + 1:,} rows, {data.truth.sum()} positive", flush=True)
    print(f"\n{seeds} seeds, one positive to start from. Work saved at 95 % recall / mean time to discovery")
    print(f"{'':30}" + "".join(f"{name[:12]:>16}" for name in names) + f"{'mean':>16}")
    for method, by_name in results.items():
        means = np.array([np.mean(by_name[name], axis=0) for name in names])
        cells = [*means, means.mean(axis=0)]
        print(f"{method:30}" + "".join(f"{f'{w:.3f} / {a:.3f}':>16}" for w, a in cells))


def _one(kind: str, data: Any, method: str, seed: int) -> np.ndarray:
    """The true labels along the order of one simulated review."""
    X = data.plain if method != OURS else data.X
    ranker = methods(kind, seed)[method]
    order = review_order(X, data.truth, seed, Plan(rules=()), ranker)
    return np.asarray(data.truth[order.rows])
