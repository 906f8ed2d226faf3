"""What a learnt rule makes of the same summaries: python -m benchmarks.prior_rule [--draws 2] [--first 200]

On the problems of ``benchmarks.priors``: a forest learns the share of positives among the unlabelled rows from what
the estimators find, and is tried on the tables that it was not trained on, each in turn. It shows how much a better
combination of these numbers could gain. Measurements are kept in out/prior_rule.jsonl and not made again: delete the
file after a change of the code. USMO_DATA must be set.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from benchmarks.priors import HARD, PRIORS, TABLES, Problem, problems, sample
from benchmarks.results import Results
from usmo.priors import ClassStructure

SUMMARIES = ("best_bin", "saturation", "share_positive", "share_unlabelled", "separation", "looks_positive")
DEFAULT = slice(0, 2)
"""The two summaries of which the default is the mean."""


def measure(problem: Problem) -> list[float]:
    """The summaries, the logarithms of the numbers of rows, and the true share among the unlabelled rows."""
    X, labelled, true = sample(*problem)
    found = ClassStructure(n_bootstrap=0).fit(X, labelled).diagnostics_
    n_p, n_u = int(labelled.sum()), int((~labelled).sum())
    share = (true * (n_p + n_u) - n_p) / n_u if problem[2] == "censored" else true
    return [*(float(found[name]) for name in SUMMARIES), np.log(n_p), np.log(n_u), share]


def main(draws: Sequence[int], results: Results) -> None:
    every = problems(draws)
    rows = np.array([results.get(problem, measure, problem) for problem in every])
    features, share = rows[:, :-1], rows[:, -1]
    table = np.array([problem[0] for problem in every])
    learnt = np.empty(len(share))
    for name in TABLES:
        other = table != name
        forest = ExtraTreesRegressor(300, min_samples_leaf=4, random_state=0).fit(features[other], share[other])
        learnt[~other] = forest.predict(features[~other])
    n_p, n_u = np.exp(features[:, -2:].T)
    # in the censored scenario the prior is that of all rows
    scale = np.where([problem[2] == "censored" for problem in every], n_u / (n_p + n_u), 1.0)
    prior, easy = np.array([problem[1] for problem in every]), ~np.isin(table, HARD)
    print(f"{len(every)} problems, draws {[*draws]}; mean |error|, by prior, of all, without {' and '.join(HARD)}")
    for title, value in (("default", features[:, DEFAULT].mean(axis=1)), ("learnt rule", learnt)):
        error = np.abs(value - share) * scale
        masks = [*(prior == each for each in PRIORS), prior > 0.0, easy]
        print(f"{title:12s}" + "".join(f"{error[mask].mean():8.3f}" for mask in masks))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--first", type=int, default=200, help="first draw")
    parser.add_argument("--results", type=Path, default=Path("out/prior_rule.jsonl"), help="file of measurements")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    main(range(given.first, given.first + given.draws), Results(given.results))
