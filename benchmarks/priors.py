"""Class-prior estimators against the truth: python -m benchmarks.priors [--draws 10] [--direct 1] [--tables ...]

17 tables (the 15 different ones of the reproduction, digits and breast cancer) × π of 0.1, 0.3, 0.5, 0.7, 0.9 ×
both scenarios × draws. 30 % of the positives are labelled, at most 500; at most 1,500 unlabelled rows.
Estimators on scores share the held-out scores of each problem. Those on rows (penalised L1, KM2, TIcE) are slow and get
the first ``--direct`` draws only. Coverage is that of the default interval of level 0.9.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits

from benchmarks.splits import TASKS
from usmo.datasets import LARGE, SMALL, load
from usmo.priors import DEFAULT, NEED_NEGATIVES
from usmo.priors import ESTIMATORS as ALL
from usmo.priors.scores import ScorePrior

TABLES = [name for name in SMALL if name not in ("heart", "house")] + [*LARGE, "digits", "breast cancer"]
"""Without heart and house, whose rows are also in heart-statlog and house-votes."""
ESTIMATORS = {name: estimator for name, estimator in ALL.items() if name not in (*NEED_NEGATIVES, "grouped")}
"""Those that see what all see; ``benchmarks.random`` has the others."""
HARD = ("liverDisorders", "poker-hand")
"""Tables on which no classifier measured has an AUC of 0.7."""
PRIORS = (0.1, 0.3, 0.5, 0.7, 0.9)
LABELLED, MOST_LABELLED, MOST_UNLABELLED = 0.3, 500, 1500


def table(name: str) -> tuple[Any, np.ndarray]:
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X, y == 3
    if name == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return X, y == 0
    X, y = load(name)
    return X, y == TASKS.get(name, 1)


def draw(y: np.ndarray, prior: float, scenario: str, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows, which of them are labelled, and the true prior of the scenario."""
    rng = np.random.default_rng(seed)
    positive, negative = rng.permutation(np.flatnonzero(y)), rng.permutation(np.flatnonzero(~y))
    if scenario == "censored":
        size = int(min(MOST_UNLABELLED, len(positive) / prior, len(negative) / (1 - prior)))
        hits = round(prior * size)
        count = max(min(20, hits // 2), round(LABELLED * hits))
        rows = np.concatenate([positive[:hits], negative[: size - hits]])
    else:
        count = min(max(20, int(LABELLED * len(positive))), MOST_LABELLED)
        rest = positive[count:]
        size = int(min(MOST_UNLABELLED, len(rest) / prior, len(negative) / (1 - prior)))
        hits = round(prior * size)
        rows = np.concatenate([positive[:count], rest[:hits], negative[: size - hits]])
    return rows, np.arange(len(rows)) < count, hits / size


class _Shared:
    """Scores computed once for all estimators of a problem."""

    def __init__(self) -> None:
        self.plain = ScorePrior._features
        self.scores: dict[Any, Any] = {}

    def __call__(self, estimator: Any, X: Any, labelled: Any, weight: Any, repetition: int) -> Any:
        key = X.tobytes(), labelled.tobytes(), weight.tobytes()
        if key not in self.scores:
            self.scores = {key: {}}
        found = self.scores[key]
        if repetition not in found:
            found[repetition] = self.plain(estimator, X, labelled, weight, repetition)
        return found[repetition]


def problems(
    draws: int, tables: Sequence[str] = TABLES
) -> Iterator[tuple[str, float, str, int, Any, np.ndarray, float]]:
    for name in tables:
        X, y = table(name)
        for prior in PRIORS:
            for scenario in ("case-control", "censored"):
                for k in range(draws):
                    rows, labelled, true = draw(y, prior, scenario, 1000 * k + int(100 * prior))
                    Z = X[rows]
                    Z = np.asarray(Z.todense()) if sparse.issparse(Z) else np.asarray(Z, dtype=float)
                    yield name, prior, scenario, k, Z, labelled, true


def main(draws: int, direct: int, tables: Sequence[str]) -> None:
    warnings.simplefilter("ignore")
    shared = _Shared()
    ScorePrior._features = lambda *a: shared(*a)  # type: ignore[method-assign,assignment]
    chosen = {name: each for name, each in ESTIMATORS.items() if direct or issubclass(each, ScorePrior)}
    results: dict[str, list[tuple[str, float, str, float, float, bool, float]]] = {name: [] for name in chosen}
    last = ""
    for table_name, prior, scenario, k, X, labelled, true in problems(draws, tables):
        if table_name != last and last:
            errors = [abs(r[3]) for r in results[DEFAULT] if r[0] == last]
            print(f"{last}: mean |error| of {DEFAULT} {np.mean(errors):.3f}", flush=True)
        last = table_name
        for name, estimator in chosen.items():
            on_scores = issubclass(estimator, ScorePrior)
            if not on_scores and k >= direct:
                continue
            own = {} if name in (DEFAULT, "best-bin") else {"n_bootstrap": 0}
            began = time.perf_counter()
            model = estimator(scenario=scenario, **own).fit(X, labelled)
            seconds = time.perf_counter() - began
            low, high = model.interval_
            results[name].append(
                (table_name, prior, scenario, model.prior_ - true, seconds, low <= true <= high, high - low)
            )
    print(f"\n{len(results[DEFAULT])} problems, {draws} draws; mean |error| (bias)")
    heads = [*(f"π={p}" for p in PRIORS), "case-ctrl", "censored", "all", "without hard", "seconds"]
    print(f"{'':16s}" + "".join(f"{head:>15s}" for head in heads))
    for name, rows in results.items():

        def cell(chosen: list[Any]) -> str:
            e = np.array([r[3] for r in chosen])
            return f"{np.abs(e).mean():8.3f} ({e.mean():+.2f})"

        cells = [cell([r for r in rows if r[1] == p]) for p in PRIORS]
        cells += [cell([r for r in rows if r[2] == s]) for s in ("case-control", "censored")]
        easy = [r for r in rows if r[0] not in HARD]
        cells += [cell(rows), cell(easy) if easy else ""]
        cells.append(f"{np.mean([r[4] for r in rows]):8.2f}")
        print(f"{name:16s}" + "".join(f"{c:>15s}" for c in cells))
    rows = results[DEFAULT]
    print(f"\nthe interval of {DEFAULT} contains the truth in {np.mean([r[5] for r in rows]):.3f} of all problems")
    for name in tables:
        line = [
            f"{estimator} {np.mean([abs(r[3]) for r in rows if r[0] == name]):.3f}"
            for estimator, rows in results.items()
        ]
        print(f"{name:16s}" + "  ".join(line))
    print(f"\ncoverage (mean width) of the interval of {DEFAULT}")
    for name in tables:
        own_rows = [r for r in results[DEFAULT] if r[0] == name]
        print(f"{name:16s} {np.mean([r[5] for r in own_rows]):.2f} ({np.mean([r[6] for r in own_rows]):.2f})")
    print("the seconds of the first estimator on scores include the scores of all")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--direct", type=int, default=1)
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES, metavar="TABLE")
    arguments = parser.parse_args()
    main(arguments.draws, arguments.direct, arguments.tables)
