"""Quality on all 17 tables with the true prior: python -m benchmarks.quality [--draws 3]   (USMO_DATA set)

F1 and AUC on the unlabelled rows and on held-out rows, of USMO and of other methods. Small tables: a third of the rows
is held out, a fifth of the positives of the rest is labelled. Large tables: 100 positives, 4,000 unlabelled and 4,000
held-out rows; columns standardised. Every method has its default parameters.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from benchmarks.rivals import rivals
from usmo.datasets import LARGE, SMALL, load, make_pu

TASKS = {"shuttle": 1, "mnist": 3, "poker-hand": 0}
"""The positive class of tables with many classes."""


def split(name: str, draw: int) -> tuple[Any, np.ndarray, float, np.ndarray, Any, np.ndarray]:
    """X, labels, prior, the truth of the unlabelled rows, held-out rows and their truth."""
    rng = np.random.default_rng(draw)
    X, y = load(name)
    positive = y == TASKS.get(name, 1)
    order = rng.permutation(len(positive))
    if name in SMALL:
        held, rest = order[: len(order) // 3], order[len(order) // 3 :]
        labels, prior = make_pu(positive[rest].astype(int), fraction=0.2, random_state=draw)
    else:
        held, rest = order[:4000], order[4000:]
        labelled = rest[positive[rest]][:100]
        others = np.setdiff1d(rest, labelled, assume_unique=True)[:4000]
        rest = np.concatenate([labelled, rng.permutation(others)])
        labels = (np.arange(len(rest)) < len(labelled)).astype(int)
        prior = float(positive[rest[labels == 0]].mean())
    if name not in SMALL:
        scaler = MaxAbsScaler() if hasattr(X, "tocsr") else StandardScaler()
        train, test = scaler.fit_transform(X[rest]), scaler.transform(X[held])
    else:
        train, test = X[rest], X[held]
    return train, labels, prior, positive[rest[labels == 0]], test, positive[held]


def main(draws: int) -> None:
    warnings.simplefilter("ignore")
    methods = rivals()
    ranks: dict[str, list[np.ndarray]] = {
        key: [] for key in ("F1 on U", "AUC on U", "F1 held out", "AUC held out")
    }
    for name in (*SMALL, *LARGE):
        table = np.zeros((len(methods), 4))
        seconds = np.zeros(len(methods))
        for draw in range(draws):
            X, labels, prior, truth, test, test_truth = split(name, draw)
            for k, fit in enumerate(methods.values()):
                began = time.perf_counter()
                decision = fit(X, labels, prior, draw)
                seconds[k] += time.perf_counter() - began
                f, g = decision(X[labels == 0]), decision(test)
                table[k] += [
                    f1_score(truth, f > 0, zero_division=0), roc_auc_score(truth, f),
                    f1_score(test_truth, g > 0, zero_division=0), roc_auc_score(test_truth, g),
                ]  # fmt: skip
        table /= draws
        for j, values in enumerate(ranks.values()):
            values.append(rankdata(-np.round(table[:, j], 4)))
        print(f"{name}: " + "  ".join(
            f"{method} {table[k, 0]:.3f}/{table[k, 1]:.3f} {table[k, 2]:.3f}/{table[k, 3]:.3f}"
            for k, method in enumerate(methods)
        ), flush=True)  # fmt: skip
    print(f"\nmean rank ± standard deviation over 17 tables, {draws} draws (1 is best of {len(methods)})")
    print(f"{'':18s}" + "".join(f"{key:>18s}" for key in ranks))
    for k, method in enumerate(methods):
        cells = (np.array(values)[:, k] for values in ranks.values())
        print(f"{method:18s}" + "".join(f"{c.mean():12.1f} ± {c.std():.1f}" for c in cells))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=3)
    main(parser.parse_args().draws)
