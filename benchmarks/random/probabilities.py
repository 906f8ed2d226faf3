"""Probabilities of rows that were not in training: calibrated on values of the fit, and as ``fit`` calibrates them.

PUSVC with its defaults (rbf, columns standardised) and ``scenario="censored"``, labels at random, once with the prior
known and once with it estimated. A third of the table is held out. Its classes are weighted to the prior of the sample.
Shown are log loss and Brier score of the held-out rows. "values of the fit" are probabilities with slopes from the
decision values that the training rows have in the fit, "as fitted" those of ``predict_proba``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.preprocessing import StandardScaler

from benchmarks.random.mechanisms import draw
from benchmarks.results import Results
from usmo import PUSVC
from usmo.estimators.calibration import calibrated

CASES = ("prior known", "prior estimated")
METHODS = ("values of the fit", "as fitted")
MEASURES = ("log loss", "Brier score")
_SMALLEST = 1e-6
"""Probabilities lie this far from 0 and 1 at least in the log loss."""


def measure(name: str, seed: int) -> list[list[list[float]]]:
    """The measures of both methods, with the prior known and estimated."""
    sample = draw(name, "random", seed, 1 / 3)
    scaler = StandardScaler().fit(sample.X)
    X, held, truth = scaler.transform(sample.X), scaler.transform(sample.held_out), sample.held_truth
    share = truth.mean()
    weight = np.where(truth, sample.prior / share, (1.0 - sample.prior) / (1.0 - share))
    found = []
    for prior in (sample.prior, "estimate"):
        model = PUSVC(prior, scenario="censored", random_state=seed).fit(X, sample.labelled.astype(int))
        d_u = model.decision_function(X)
        d_p = d_u[sample.labelled]
        by_fit = calibrated(d_p, d_u, model.prior_, np.ones(len(d_p)), np.ones(len(d_u)))
        chances = by_fit(model.decision_function(held)), model.predict_proba(held)[:, 1]
        found.append([_measures(truth, chance, weight) for chance in chances])
    return found


def _measures(truth: np.ndarray, chance: np.ndarray, weight: np.ndarray) -> list[float]:
    inside = np.clip(chance, _SMALLEST, 1.0 - _SMALLEST)
    return [
        float(log_loss(truth, inside, sample_weight=weight)),
        float(brier_score_loss(truth, chance, sample_weight=weight)),
    ]


def main(draws: Sequence[int], tables: Sequence[str], results: Results) -> None:
    found = []
    for name in tables:
        found.append(np.mean([results.get((name, seed), measure, name, seed) for seed in draws], axis=0))
        print(
            f"{name:16s}" + " ".join(f"{value:.3f}" for value in found[-1].transpose(0, 2, 1).ravel()), flush=True
        )
    values = np.array(found)
    print(f"\nmeans of {len(tables)} tables, draws {[*draws]}")
    for k, measure_name in enumerate(MEASURES):
        print(f"\n{measure_name:18s}" + "".join(f"{title:>20s}" for title in (*METHODS, "tables better")))
        for j, case in enumerate(CASES):
            before, after = values[:, j, :, k].T
            print(f"{case:18s}{before.mean():20.3f}{after.mean():20.3f}{int((after < before).sum()):20d}")
