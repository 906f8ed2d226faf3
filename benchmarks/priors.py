"""Class-prior estimators against the truth: python -m benchmarks.priors [--draws 10] [--direct 1] [--tables ...]

17 tables (the 15 different ones of the reproduction, digits and breast cancer), or with ``--tables other`` those of
:mod:`benchmarks.keel`, × π of 0.1, 0.3, 0.5, 0.7, 0.9 × both scenarios × draws. 30 % of the positives are labelled, at
most 500; at most 1,500 unlabelled rows. Estimators on scores share the held-out scores of each problem. Those on rows
(penalised L1, KM2, TIcE) are slow and get the first ``--direct`` draws only. Coverage is that of the default interval
of level 0.9; error and coverage of the default are also printed apart for the problems in which it says that the table
determines the prior. Measurements are kept in out/priors.jsonl and not made again: delete the file after a change of
the code.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits

from benchmarks.keel import KEEL, keel_table
from benchmarks.results import Results
from benchmarks.splits import TASKS
from usmo.datasets import LARGE, SMALL, load
from usmo.priors import DEFAULT, NEED_NEGATIVES
from usmo.priors import ESTIMATORS as ALL
from usmo.priors.base import BootstrappedPrior
from usmo.priors.consensus import is_determined
from usmo.priors.scores import ScorePrior

TABLES = [name for name in SMALL if name not in ("heart", "house")] + [*LARGE, "digits", "breast cancer"]
"""Without heart and house, whose rows are also in heart-statlog and house-votes."""
NOT_AT_RANDOM = ("grouped", "class-structure")
"""Estimators for labels that are not at random."""
ESTIMATORS = {name: each for name, each in ALL.items() if name not in (*NEED_NEGATIVES, *NOT_AT_RANDOM)}
"""Those that see what all see; ``benchmarks.random`` has the others."""
OTHER = "other"
"""All tables of :mod:`benchmarks.keel`."""
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
    if name in KEEL:
        return keel_table(name)
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


class SharedScores:
    """Scores computed once for all estimators of a problem that follow one another."""

    def __init__(self) -> None:
        self.plain = ScorePrior._features
        self.scores: dict[Any, Any] = {}
        ScorePrior._features = lambda *a: self(*a)  # type: ignore[method-assign,assignment]

    def __call__(
        self, estimator: Any, X: Any, labelled: Any, weight: Any, repetition: int, groups: Any = None
    ) -> Any:
        key = X.tobytes(), labelled.tobytes(), weight.tobytes()
        if key not in self.scores:
            self.scores = {key: {}}
        found = self.scores[key]
        if repetition not in found:
            found[repetition] = self.plain(estimator, X, labelled, weight, repetition, groups)
        return found[repetition]


def add_tables(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--tables``; :func:`chosen_tables` makes names of tables of its value."""
    names, text = [*TABLES, *KEEL, OTHER], f"names, or {OTHER}: the tables of benchmarks.keel"
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=names, metavar="TABLE", help=text)


def chosen_tables(names: Sequence[str]) -> list[str]:
    """The names, with the tables of :mod:`benchmarks.keel` for ``OTHER``."""
    return [each for name in names for each in (KEEL if name == OTHER else (name,))]


Problem = tuple[str, float, str, int]
"""Table, prior, scenario and number of the draw."""


def problems(draws: Sequence[int], tables: Sequence[str] = TABLES) -> list[Problem]:
    return [
        (name, prior, scenario, k)
        for name in tables
        for prior in PRIORS
        for scenario in ("case-control", "censored")
        for k in draws
    ]


last_table = lru_cache(maxsize=1)(table)


def dense_rows(name: str, rows: np.ndarray) -> np.ndarray:
    Z = last_table(name)[0][rows]
    return np.asarray(Z.todense() if sparse.issparse(Z) else Z, dtype=float)


def draw_of(name: str, prior: float, scenario: str, k: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The numbers of the rows of a problem, which are labelled, and the true prior."""
    return draw(last_table(name)[1], prior, scenario, 1000 * k + int(100 * prior))


def sample(name: str, prior: float, scenario: str, k: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The rows of a problem, which are labelled, and the true prior."""
    rows, labelled, true = draw_of(name, prior, scenario, k)
    return dense_rows(name, rows), labelled, true


def measure(estimator: str, problem: Problem) -> list[float]:
    """Error, seconds, whether the interval contains the truth, its width, and whether it determines the prior."""
    X, labelled, true = sample(*problem)
    bootstrapped = estimator != DEFAULT and issubclass(ESTIMATORS[estimator], BootstrappedPrior)
    own = {"n_bootstrap": 0} if bootstrapped else {}
    began = time.perf_counter()
    model = ESTIMATORS[estimator](scenario=problem[2], **own).fit(X, labelled)
    seconds = time.perf_counter() - began
    low, high = model.interval_
    determined = is_determined(*model.diagnostics_["interval_unlabelled"])
    return [model.prior_ - true, seconds, float(low <= true <= high), high - low, float(determined)]


def main(draws: Sequence[int], direct: int, tables: Sequence[str], results: Results) -> None:
    warnings.simplefilter("ignore")
    SharedScores()
    chosen = [name for name, each in ESTIMATORS.items() if direct or issubclass(each, ScorePrior)]
    found: dict[str, dict[Problem, list[float]]] = {name: {} for name in chosen}
    for name in tables:
        for problem in problems(draws, [name]):
            for estimator in chosen:
                if issubclass(ESTIMATORS[estimator], ScorePrior) or problem[3] - draws[0] < direct:
                    found[estimator][problem] = results.get((*problem, estimator), measure, estimator, problem)
        errors = [abs(row[0]) for problem, row in found[DEFAULT].items() if problem[0] == name]
        print(f"{name}: mean |error| of {DEFAULT} {np.mean(errors):.3f}", flush=True)
    show(found, draws, tables)


def show(found: dict[str, dict[Problem, list[float]]], draws: Sequence[int], tables: Sequence[str]) -> None:
    print(f"\n{len(found[DEFAULT])} problems, draws {[*draws]}; mean |error| (bias)")
    heads = [*(f"π={p}" for p in PRIORS), "case-ctrl", "censored", "all", "without hard", "seconds"]
    print(f"{'':16s}" + "".join(f"{head:>15s}" for head in heads))
    for name, rows in found.items():

        def cell(wanted: Callable[[Problem], bool], rows: dict[Problem, list[float]] = rows) -> str:
            e = np.array([row[0] for problem, row in rows.items() if wanted(problem)])
            return f"{np.abs(e).mean():8.3f} ({e.mean():+.2f})" if len(e) else ""

        cells = [cell(lambda problem, p=p: problem[1] == p) for p in PRIORS]
        cells += [cell(lambda problem, s=s: problem[2] == s) for s in ("case-control", "censored")]
        cells += [cell(lambda problem: True), cell(lambda problem: problem[0] not in HARD)]
        cells.append(f"{np.mean([row[1] for row in rows.values()]):8.2f}")
        print(f"{name:16s}" + "".join(f"{c:>15s}" for c in cells))
    for name in tables:
        line = [
            f"{estimator} {np.mean([abs(row[0]) for problem, row in rows.items() if problem[0] == name]):.3f}"
            for estimator, rows in found.items()
        ]
        print(f"{name:16s}" + "  ".join(line))
    print(f"\ncoverage (mean width) of the interval of {DEFAULT}")
    own = found[DEFAULT].items()
    for title, names in (*((name, [name]) for name in tables), ("all", tables)):
        ends = np.array([row[2:] for problem, row in own if problem[0] in names])
        print(f"{title:16s} {ends[:, 0].mean():.3f} ({ends[:, 1].mean():.2f})")
    values = np.array([row for _, row in own])
    for title, rows in (("determined", values[values[:, 4] > 0]), ("not determined", values[values[:, 4] == 0])):
        if len(rows):
            error, coverage = np.abs(rows[:, 0]).mean(), rows[:, 2].mean()
            print(f"prior {title}: {len(rows)} problems, mean |error| {error:.3f}, coverage {coverage:.3f}")
    print("the seconds of the first estimator on scores include the scores of all")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="first draw")
    parser.add_argument("--direct", type=int, default=1)
    add_tables(parser)
    parser.add_argument("--results", type=Path, default=Path("out/priors.jsonl"), help="file of measurements")
    given = parser.parse_args()
    tables = chosen_tables(given.tables)
    main(range(given.first, given.first + given.draws), given.direct, tables, Results(given.results))
