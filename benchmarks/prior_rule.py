"""The prior by a rule learnt from what the estimators find: python -m benchmarks.prior_rule [--draws 3] [--first 200]

A forest learns the share of positives among the unlabelled rows from the diagnostics of ``ClassStructure`` on all
tables but one, and is tried on that one. It shows how much a better combination of these numbers could gain. The
numbers of rows do not depend on the prior here. In ``benchmarks.priors`` they do, and a rule that is trained there
reads the prior from them. Measurements are kept in out/prior_rule.jsonl and not made again: delete the file after a
change of the code. USMO_DATA must be set.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from benchmarks.priors import HARD, MOST_LABELLED, MOST_UNLABELLED, PRIORS, TABLES, dense_rows, last_table
from benchmarks.results import Results
from usmo.priors import ClassStructure

SUMMARIES = ("best_bin", "saturation", "share_positive", "share_unlabelled", "separation", "looks_positive")
DEFAULT = slice(0, 2)
"""The two summaries of which the default is the mean."""
FEWEST_LABELLED, LABELLED = 20, 0.4
"""Fewest labelled positives, and the largest share of the positives that is labelled."""


def draw(name: str, prior: float, k: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The rows of a problem, which are labelled, and the share of positives among the unlabelled ones.

    All priors of a draw have the same numbers of labelled and of unlabelled rows.
    """
    y = last_table(name)[1]
    rng = np.random.default_rng([k, TABLES.index(name)])
    positive, negative = rng.permutation(np.flatnonzero(y)), rng.permutation(np.flatnonzero(~y))
    most = min(MOST_LABELLED, int(LABELLED * len(positive)))
    n_p = round(np.exp(rng.uniform(np.log(FEWEST_LABELLED), np.log(most))))
    # as many rows as every prior allows
    n_u = int(min(MOST_UNLABELLED, (len(positive) - n_p) / max(PRIORS), len(negative) / (1.0 - min(PRIORS))))
    hits = round(prior * n_u)
    rows = np.concatenate([positive[: n_p + hits], negative[: n_u - hits]])
    return dense_rows(name, rows), np.arange(len(rows)) < n_p, hits / n_u


def measure(name: str, prior: float, k: int) -> list[float]:
    """The summaries, the logarithms of the numbers of rows, and the true share among the unlabelled rows."""
    X, labelled, share = draw(name, prior, k)
    found = ClassStructure(n_bootstrap=0).fit(X, labelled).diagnostics_
    sizes = np.log([labelled.sum(), (~labelled).sum()])
    return [*(float(found[summary]) for summary in SUMMARIES), *sizes.tolist(), share]


def main(draws: Sequence[int], results: Results) -> None:
    every = [(name, prior, k) for name in TABLES for k in draws for prior in PRIORS]
    rows = np.array([results.get(problem, measure, *problem) for problem in every])
    features, share = rows[:, :-1], rows[:, -1]
    name_of, prior_of = (np.array([problem[i] for problem in every]) for i in (0, 1))
    learnt = np.empty(len(share))
    for name in TABLES:
        other = name_of != name
        forest = ExtraTreesRegressor(300, min_samples_leaf=4, random_state=0).fit(features[other], share[other])
        learnt[~other] = forest.predict(features[~other])
    easy = ~np.isin(name_of, HARD)
    default = features[:, DEFAULT].mean(axis=1)
    print(f"{len(every)} problems, draws {[*draws]}; mean |error|, by prior, of all, without {' and '.join(HARD)}")
    estimates = {"default": default, "learnt rule": learnt, "mean of both": 0.5 * (default + learnt)}
    for title, value in estimates.items():
        masks = [*(prior_of == each for each in PRIORS), prior_of > 0.0, easy]
        print(f"{title:14s}" + "".join(f"{np.abs(value - share)[mask].mean():8.3f}" for mask in masks))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--first", type=int, default=200, help="first draw")
    parser.add_argument("--results", type=Path, default=Path("out/prior_rule.jsonl"), help="file of measurements")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    main(range(given.first, given.first + given.draws), Results(given.results))
