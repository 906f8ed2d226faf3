"""Quality of many methods on 20 tables: python -m benchmarks.quality [--draws 3] [--first 10]   (USMO_DATA set)

The tables are those of ``benchmarks.splits``: the 17, and breast cancer, digits (3 against the rest) and wine of
scikit-learn. Draws have 20, 50 or 100 labelled positives in turn, but at most half of those that are there. Every
method is measured in both scenarios, with the true prior and with the one that ``Consensus`` estimates: AUC, average
precision and F1 on the unlabelled rows (U), AUC on held-out rows. F1 calls as many rows positive as the prior says, for
every method. Scores of trees, boosting and logistic regression on U are out of bag or cross-fitted.

Measurements are appended to the file ``--results``, and those that are there are not made again: a run can be stopped,
and divided by ``--tables``, ``--draws`` and ``--methods``. The summary is that of the measurements asked for. The
parameters of our kernels were chosen with draws 0 and 1, so the first draw is 10 by default.
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

from benchmarks.rivals import METHODS, OURS, TREES, Setting
from benchmarks.splits import TABLES, dense_split
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
    """The measures in the order of ``MEASURES``, and the time of fitting and scoring."""

    measures: list[float]
    seconds: float


Rows = dict[Key, Row]


def settings_of(X: Any, labels: np.ndarray, share: float) -> Iterator[tuple[str, str, Setting]]:
    """Scenario, "true" or "estimated", and the setting; ``share`` is the true share of positives among U."""
    n, p = int((labels == 0).sum()), int((labels == 1).sum())
    for scenario in SCENARIOS:
        extra = p if scenario == "censored" else 0  # there the prior counts the labelled rows too
        true = (share * n + extra) / (n + extra)
        estimate = Consensus(scenario=scenario, random_state=0).fit(X, labels).prior_
        for name, prior in zip(PRIORS, (true, float(estimate)), strict=True):
            of_u = (prior * (n + extra) - extra) / n
            yield scenario, name, Setting(scenario, prior, float(np.clip(of_u, 1 / n, 1 - 1 / n)))


def measured(truth: np.ndarray, scores: np.ndarray, share: float) -> list[float]:
    """AUC, F1 if the given share of the rows is called positive, and average precision."""
    called = np.zeros(len(scores), dtype=bool)
    called[np.argsort(-scores, kind="stable")[: round(share * len(scores))]] = True
    f1 = f1_score(truth, called, zero_division=0)
    return [float(v) for v in (roc_auc_score(truth, scores), f1, average_precision_score(truth, scores))]


def measure(table: str, draw: int, methods: list[str], known: Rows) -> Iterator[tuple[Key, Row]]:
    """Measure what is missing of a draw of a table."""
    every = [Key(table, draw, *rest) for rest in _combinations(methods)]
    if all(key in known for key in every):
        return
    X, labels, share, truth, test, test_truth = dense_split(table, draw, POSITIVES[draw % len(POSITIVES)])
    fitted: dict[str, tuple[Any, float]] = {}
    for scenario, prior, setting in settings_of(X, labels, share):
        for name in methods:
            key = Key(table, draw, scenario, prior, name)
            if key in known:
                continue
            if name not in fitted:
                began = time.perf_counter()
                scores = METHODS[name].fit(X, labels, test, draw, setting)
                fitted[name] = scores, time.perf_counter() - began
            (on_u, on_test), seconds = fitted.pop(name) if METHODS[name].uses_prior else fitted[name]
            yield (
                key,
                Row([*measured(truth, on_u, setting.share), float(roc_auc_score(test_truth, on_test))], seconds),
            )


def _combinations(methods: list[str]) -> Iterator[tuple[str, str, str]]:
    return ((s, p, m) for s in SCENARIOS for p in PRIORS for m in methods)


def read(results: Path) -> Rows:
    """The measurements of a file."""
    lines = results.read_text().splitlines() if results.exists() else []
    return {Key(*key): Row(*row) for key, row in map(json.loads, lines)}


def averaged(
    rows: Rows, tables: list[str], methods: list[str], draws: range, scenario: str, prior: str
) -> np.ndarray:
    """Measures and seconds, tables × methods, mean over the draws."""
    return np.array(
        [
            [
                np.mean([[*row.measures, row.seconds] for row in cells], axis=0)
                for cells in ([rows[Key(t, d, scenario, prior, m)] for d in draws] for m in methods)
            ]
            for t in tables
        ]
    )


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


def show(rows: Rows, tables: list[str], methods: list[str], draws: range) -> None:
    """Print means for each setting and over all, by number of positives, and the tables where others are ahead."""
    every = {
        (s, p): averaged(rows, tables, methods, draws, s, p) for s in SCENARIOS for p in PRIORS
    }  # fmt: skip
    for (scenario, prior), values in every.items():
        print(f"\n{scenario}, {prior} prior, {len(tables)} tables, draws {draws.start} to {draws.stop - 1}")
        summarise(values, methods)
    mean = np.mean(list(every.values()), axis=0)
    print("\nmean of the four")
    summarise(mean, methods)
    print("\nAUC on U, case-control, true prior, by the number of labelled positives")
    for k, number in enumerate(POSITIVES):
        own = [d for d in draws if d % len(POSITIVES) == k]
        if own:
            values = averaged(
                rows, tables, methods, range(own[0], draws.stop, len(POSITIVES)), *SCENARIOS[:1], "true"
            )
            print(
                f"{number:4d}  "
                + "  ".join(f"{m} {v:.4f}" for m, v in zip(methods, values[:, :, 0].mean(0), strict=True))
            )
    others = [k for k, m in enumerate(methods) if m not in OURS]
    if others and methods[0] in OURS:
        print(f"\nAUC on U of {methods[0]} and of the best other method, mean of the four")
        for table, aucs in zip(tables, mean[:, :, 0], strict=True):
            best = max(others, key=lambda k, aucs=aucs: aucs[k])
            mark = "  below" if aucs[0] < aucs[best] - CLOSE else ""
            print(f"{table:16s}{aucs[0]:.3f}  {aucs[best]:.3f} {methods[best]}{mark}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--first", type=int, default=10, help="first draw")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES), metavar="TABLE")
    parser.add_argument(
        "--methods", nargs="+", choices=METHODS, default=[*OURS, *TREES], metavar="METHOD", help=", ".join(METHODS)
    )
    parser.add_argument("--results", type=Path, default=Path("out/quality.jsonl"), help="file of measurements")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    PUSVC(0.5, kernel="forest+rbf").fit(np.arange(8.0)[:, None], np.arange(8) % 2)  # compiles
    rows = read(options.results)
    draws = range(options.first, options.first + options.draws)
    options.results.parent.mkdir(parents=True, exist_ok=True)
    for draw in draws:
        for table in options.tables:
            with options.results.open("a") as file:
                for key, row in measure(table, draw, options.methods, rows):
                    rows[key] = row
                    file.write(json.dumps([key, row]) + "\n")
    show(rows, options.tables, options.methods, draws)


if __name__ == "__main__":
    main()
