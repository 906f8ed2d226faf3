"""Quality of many methods on 20 tables: python -m benchmarks.quality [--draws 3] [--first 10]   (USMO_DATA set)

The tables are those of ``benchmarks.splits``: the 17, and breast cancer, digits (3 against the rest) and wine of
scikit-learn. Draws have 20, 50 or 100 labelled positives in turn, but at most half of those that are there. Every
method is measured in both scenarios, with the true prior and with the one that ``Consensus`` estimates: AUC, average
precision and F1 on the unlabelled rows (U), AUC on held-out rows. F1 calls as many rows positive as the prior says, for
every method. Scores of trees, boosting and logistic regression on U are out of bag or cross-fitted. ``--tables``
also knows images: each digit of scikit-learn's ("digits 0", …) and of MNIST ("mnist 0", …) against the others.

Seconds are those of the processor in all threads, so that other programs do not count. OMP_NUM_THREADS=1 keeps waiting
threads out of them.

Measurements are appended to the file ``--results``, and those that are there are not made again: a run can be stopped,
and divided by any of the other options. The summary is that of the measurements asked for. The parameters of our
kernels were chosen with draws 0 to 4, so the first draw is 10 by default.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from benchmarks.rivals import MACHINES, METHODS, OURS, TREES, Setting
from benchmarks.splits import IMAGES, TABLES, dense_split
from usmo import PUSVC
from usmo.priors import Consensus

POSITIVES = (20, 50, 100)
SCENARIOS = ("case-control", "censored")
PRIORS = ("true", "estimated")
MEASURES = ("AUC", "F1", "average precision", "AUC held out")
CLOSE = 0.01
"""AUC by which a table may lie below the best other method without being named."""


class Key(NamedTuple):
    """What is measured: a method on a draw of a table, in a scenario, with the true or the estimated prior."""

    table: str
    draw: int
    scenario: str
    prior: str
    method: str


class Row(NamedTuple):
    """The measures in the order of ``MEASURES``, and the processor time of fitting and scoring."""

    measures: list[float]
    seconds: float


Rows = dict[Key, Row]


class Plan(NamedTuple):
    """The measurements asked for."""

    tables: list[str]
    draws: range
    scenarios: list[str]
    priors: list[str]
    methods: list[str]

    def keys(self, table: str, draw: int) -> list[Key]:
        """The measurements of a draw of a table."""
        return [Key(table, draw, s, p, m) for s in self.scenarios for p in self.priors for m in self.methods]


def setting_of(X: Any, labels: np.ndarray, share: float, scenario: str, prior: str) -> Setting:
    """The setting of a scenario with the true or the estimated prior; ``share`` is that of positives among U."""
    n, p = int((labels == 0).sum()), int((labels == 1).sum())
    extra = p if scenario == "censored" else 0  # there the prior counts the labelled rows too
    if prior == "true":
        value = (share * n + extra) / (n + extra)
    else:
        value = float(Consensus(scenario=scenario, random_state=0).fit(X, labels).prior_)
    of_u = (value * (n + extra) - extra) / n
    return Setting(scenario, value, float(np.clip(of_u, 1 / n, 1 - 1 / n)))


def measured(truth: np.ndarray, scores: np.ndarray, share: float) -> list[float]:
    """AUC, F1 if the given share of the rows is called positive, and average precision."""
    called = np.zeros(len(scores), dtype=bool)
    called[np.argsort(-scores, kind="stable")[: round(share * len(scores))]] = True
    f1 = f1_score(truth, called, zero_division=0)
    return [float(v) for v in (roc_auc_score(truth, scores), f1, average_precision_score(truth, scores))]


def measure(keys: list[Key]) -> Iterator[tuple[Key, Row]]:
    """Measure methods on one draw of a table. Those that do not use the prior are fitted once."""
    table, draw = keys[0][:2]
    X, labels, share, truth, test, test_truth = dense_split(table, draw, POSITIVES[draw % len(POSITIVES)])
    fitted: dict[str, tuple[Any, float]] = {}
    settings: dict[tuple[str, str], Setting] = {}
    for key in keys:
        which = key.scenario, key.prior
        if which not in settings:
            settings[which] = setting_of(X, labels, share, *which)
        setting, method = settings[which], METHODS[key.method]
        if key.method not in fitted or method.uses_prior:
            began = time.process_time()
            scores = method.fit(X, labels, test, draw, setting if method.uses_prior else None)
            fitted[key.method] = scores, time.process_time() - began
        (on_u, on_test), seconds = fitted[key.method]
        yield key, Row([*measured(truth, on_u, setting.share), float(roc_auc_score(test_truth, on_test))], seconds)


def read(results: Path) -> Rows:
    """The measurements of a file."""
    lines = results.read_text().splitlines() if results.exists() else []
    return {Key(*key): Row(*row) for key, row in map(json.loads, lines)}


def averaged(rows: Rows, plan: Plan, scenario: str, prior: str) -> np.ndarray:
    """Measures and seconds, tables × methods, mean over the draws."""

    def mean(table: str, method: str) -> np.ndarray:
        cells = [rows[Key(table, draw, scenario, prior, method)] for draw in plan.draws]
        return np.mean([[*row.measures, row.seconds] for row in cells], axis=0)

    return np.array([[mean(table, method) for method in plan.methods] for table in plan.tables])


def summarise(values: np.ndarray, methods: list[str]) -> None:
    """Print means and mean ranks over tables; ``values`` as from :func:`averaged`."""
    print(
        f"{'mean (mean rank ± deviation)':28s}"
        + "".join(f"{head:>22s}" for head in MEASURES)
        + f"{'seconds':>10s}"
    )
    ranks = rankdata(-np.round(values[:, :, :4], 4), axis=1)
    for k, method in enumerate(methods):
        cells = (
            f"{values[:, k, j].mean():.4f} ({ranks[:, k, j].mean():.1f} ± {ranks[:, k, j].std():.1f})"
            for j in range(4)
        )
        print(f"{method:28s}" + "".join(f"{cell:>22s}" for cell in cells) + f"{values[:, k, 4].mean():10.2f}")


def show(rows: Rows, plan: Plan) -> None:
    """Print means for each setting and over all, by number of positives, and AUC by table."""
    every = {(s, p): averaged(rows, plan, s, p) for s in plan.scenarios for p in plan.priors}
    for (scenario, prior), values in every.items():
        print(f"\n{scenario}, {prior} prior, {len(plan.tables)} tables, draws {[*plan.draws]}")
        summarise(values, plan.methods)
    mean = np.mean(list(every.values()), axis=0)
    print("\nmean of these settings")
    summarise(mean, plan.methods)
    print("\nAUC on U by the number of labelled positives")
    for k, number in enumerate(POSITIVES):
        own = [draw for draw in plan.draws if draw % len(POSITIVES) == k]
        if own:
            part = plan._replace(draws=range(own[0], plan.draws.stop, len(POSITIVES)))
            auc = np.mean([averaged(rows, part, *setting)[:, :, 0].mean(axis=0) for setting in every], axis=0)
            print(f"{number:4d}  " + "  ".join(f"{m} {v:.4f}" for m, v in zip(plan.methods, auc, strict=True)))
    print("\nAUC on U by table, mean of these settings")
    for table, aucs in zip(plan.tables, mean[:, :, 0], strict=True):
        print(f"{table:16s}" + " ".join(f"{auc:.3f}" for auc in aucs))
    others = [k for k, method in enumerate(plan.methods) if method in TREES or method in MACHINES]
    if others:
        behind = mean[:, others, 0].max(axis=1) - mean[:, 0, 0]
        names = [f"{plan.tables[t]} ({behind[t]:.3f})" for t in np.flatnonzero(behind > CLOSE)]
        print(
            f"\n{plan.methods[0]} is more than {CLOSE} below the best other method on: {', '.join(names) or 'none'}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--first", type=int, default=10, help="first draw")
    parser.add_argument(
        "--tables", nargs="+", choices=[*TABLES, *IMAGES], default=list(TABLES), metavar="TABLE",
        help=", ".join([*TABLES, *IMAGES]),
    )  # fmt: skip
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--priors", nargs="+", choices=PRIORS, default=list(PRIORS))
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS, default=[*OURS, *TREES], metavar="METHOD", help=", ".join(METHODS)
    )
    parser.add_argument("--results", type=Path, default=Path("out/quality.jsonl"), help="file of measurements")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    PUSVC(0.5, kernel="forest+rbf").fit(np.arange(8.0)[:, None], np.arange(8) % 2)  # compiles
    draws = range(options.first, options.first + options.draws)
    plan = Plan(options.tables, draws, options.scenarios, options.priors, options.methods)
    options.results.parent.mkdir(parents=True, exist_ok=True)
    rows = read(options.results)
    for draw in draws:
        for table in plan.tables:
            missing = [key for key in plan.keys(table, draw) if key not in rows]
            if missing:
                with options.results.open("a") as file:
                    for key, row in measure(missing):
                        rows[key] = row
                        file.write(json.dumps([key, row]) + "\n")
    show(rows, plan)


if __name__ == "__main__":
    main()
