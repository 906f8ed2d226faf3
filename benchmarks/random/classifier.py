"""Classifiers on labels not at random: default, with the propensity estimated, with the true one, and bagged trees.

PUSVC with its defaults (rbf, columns standardised) and ``scenario="censored"``. Beside the mechanisms of
:mod:`benchmarks.random.mechanisms` there is

    other column    e = s(a + 2·z) of the column that separates the classes least, of those with ten values or the most

The propensity is estimated as a function of the score and as one of a column: that which labels follow in the
mechanisms "column" and "other column", and the one of "column" in all others, where it is the wrong assumption. All
methods know the prior of the sample, except in the last two columns, where it is estimated; the estimate there rests on
the column in the two mechanisms of columns, and else on the score. True propensities are scaled to imply the prior.

AUC and F1 are those of the unlabelled rows (U); AUC also that of held-out rows, a third of the table, which have not
lost the rows that were labelled. F1 calls rows with f > 0 positive, of the trees as many as the prior says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from benchmarks.random.mechanisms import FEWEST_LABELLED, FREQUENCY, MECHANISMS, Draw, draw
from benchmarks.results import Results
from benchmarks.rivals.tables import pu_bagging
from usmo import PUSVC

OTHER = "other column"
METHODS = ("default", "by score", "by column", "true e", "trees", "default, est. π", "est. e, est. π")
MEASURES = ("AUC held out", "AUC U", "F1 U")
STRENGTH, VALUES = 2.0, 10


def labelling_column(sample: Draw) -> int:
    """The column of which the propensity is an increasing function."""
    for j, column in enumerate(sample.X.T):
        if np.ptp(column) > 0 and (np.diff(sample.propensity[np.argsort(column, kind="stable")]) > -1e-9).all():
            return j
    raise ValueError("no column orders the rows as the propensity does")


def by_other_column(sample: Draw, seed: int) -> tuple[Draw, int]:
    """The sample with labels by the column that says least about the class, and the number of that column."""
    counts = np.array([len(np.unique(column)) for column in sample.X.T])
    fit = np.flatnonzero(counts >= min(VALUES, counts.max()))
    areas = [abs(roc_auc_score(sample.truth, sample.X[:, j]) - 0.5) for j in fit]
    column = int(fit[int(np.argmin(areas))])
    value = sample.X[:, column]
    z = (value - value.mean()) / value.std()
    a = brentq(lambda a: expit(a + STRENGTH * z[sample.truth]).mean() - FREQUENCY, -60.0, 60.0)
    e = expit(a + STRENGTH * z)
    labelled = sample.truth & (np.random.default_rng([seed, 2]).random(len(e)) < e)
    if labelled.sum() < FEWEST_LABELLED:
        labelled[np.argsort(-np.where(sample.truth, e, -1.0), kind="stable")[:FEWEST_LABELLED]] = True
    return replace(sample, labelled=labelled, propensity=e), column


def measured(sample: Draw, on_u: np.ndarray, called: np.ndarray, held: np.ndarray) -> list[float]:
    truth = sample.truth[~sample.labelled]
    f1 = f1_score(truth, called, zero_division=0)
    return [roc_auc_score(sample.held_truth, held), roc_auc_score(truth, on_u), f1]


def compare(sample: Draw, column: int, by: str, seed: int) -> np.ndarray:
    """The measures of all methods on one sample; ``by`` names the assumption of the last method."""
    scaler = StandardScaler().fit(sample.X)
    X, held = scaler.transform(sample.X), scaler.transform(sample.held_out)
    y, U = sample.labelled.astype(int), ~sample.labelled
    e = np.maximum(sample.propensity, 0.01)
    implied = float((1.0 / e[sample.labelled]).sum() / len(y))
    kinds: dict[str, dict[str, Any]] = {
        "score": {"propensity": "estimate"},
        "column": {"propensity": "estimate", "propensity_columns": [column]},
    }
    runs: list[tuple[Any, dict[str, Any], Any]] = [
        (sample.prior, {}, None),
        (sample.prior, kinds["score"], None),
        (sample.prior, kinds["column"], None),
        ("estimate", {}, np.minimum(1.0, e * implied / sample.prior)),
        ("estimate", {}, None),
        ("estimate", kinds[by], None),
    ]
    rows = []
    for prior, options, given in runs:
        model = PUSVC(prior, scenario="censored", random_state=seed, **options).fit(X, y, propensity=given)
        f = model.decision_function(X[U])
        rows.append(measured(sample, f, f > 0, model.decision_function(held)))
    on_u, on_held = pu_bagging(X, y, held, seed, max_features="sqrt")
    hidden = round(sample.prior * len(y)) - int(y.sum())
    called = np.zeros(len(on_u), dtype=bool)
    called[np.argsort(-on_u, kind="stable")[:hidden]] = True
    rows.insert(4, measured(sample, on_u, called, on_held))
    return np.array(rows)


def measure(name: str, mechanism: str, seed: int) -> list[list[float]]:
    """The measures of all methods on one draw."""
    column = labelling_column(draw(name, "column", seed, 1 / 3))
    if mechanism == OTHER:
        sample, column = by_other_column(draw(name, "random", seed, 1 / 3), seed)
    else:
        sample = draw(name, mechanism, seed, 1 / 3)
    return compare(sample, column, "column" if "column" in mechanism else "score", seed).tolist()


def main(draws: Sequence[int], tables: Sequence[str], results: Results) -> None:
    mechanisms = (*MECHANISMS, OTHER)
    values = np.zeros((len(tables), len(mechanisms), len(METHODS), len(MEASURES)))
    for t, name in enumerate(tables):
        for m, mechanism in enumerate(mechanisms):
            keys = [(name, mechanism, seed) for seed in draws]
            rows = [results.get(key, measure, *key) for key in keys]
            values[t, m] = np.mean(rows, axis=0)
            print(f"{name:15s}{mechanism:13s}" + " ".join(f"{v:.3f}" for v in values[t, m].T.ravel()), flush=True)
    print(f"\nmeans of {len(tables)} tables, draws {[*draws]}")
    for j, title in enumerate(MEASURES):
        print(f"\n{title:15s}" + "".join(f"{method:>17s}" for method in METHODS))
        for m, mechanism in enumerate(mechanisms):
            print(f"{mechanism:15s}" + "".join(f"{v:17.4f}" for v in values[:, m, :, j].mean(axis=0)))
