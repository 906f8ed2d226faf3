"""Another mixture of the same classes: ``adapt`` on tables whose share of positives is not that of training.

A model is fitted to half of each class, mixed to a prior of 0.5 with 40 % of the positives labelled at random
(scenario "censored"), once with the prior known and once with it estimated. The other half is mixed to shares of 0.1,
0.3, 0.7 and 0.9. Shown are |error| of the adapted prior, coverage of its interval, F1 of the model and of its copy, the
drift and whether it warns. "noise" are the same rows with normal noise of one standard deviation in every column: no
mixture of the known classes.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

from benchmarks.random.mechanisms import FREQUENCY, pool_of
from benchmarks.results import Results
from usmo import PUSVC

SHARES = (0.1, 0.3, 0.7, 0.9)
TRAINING = 0.5
MOST_ROWS = 1500
COLUMNS = ("error", "covered", "F1 before", "F1 after", "drift", "warned", "drift, noise", "warned, noise")


def mixture(positive: np.ndarray, negative: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Rows of both classes, as many as there are of the rarer one, in this share."""
    size = int(min(MOST_ROWS, len(positive) / share, len(negative) / (1 - share)))
    hits = max(1, round(share * size))
    return rng.permutation(
        np.concatenate([rng.permutation(positive)[:hits], rng.permutation(negative)[: size - hits]])
    )


def adapted(model: Any, X: np.ndarray) -> tuple[Any, bool]:
    """The copy for these rows, and whether it warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return model.adapt(X), any("does not fit" in str(each.message) for each in caught)


def measure(name: str, seed: int) -> list[list[list[float]]]:
    """The columns for each share, with the prior of training known and estimated."""
    pool = pool_of(name)
    rng = np.random.default_rng([seed, 3])
    halves = [np.array_split(rng.permutation(np.flatnonzero(pool.truth == kind)), 2) for kind in (True, False)]
    first = mixture(halves[0][0], halves[1][0], TRAINING, rng)
    scaler = StandardScaler().fit(pool.X[first])
    y = (pool.truth[first] & (rng.random(len(first)) < FREQUENCY)).astype(int)
    X = scaler.transform(pool.X[first])
    models = [PUSVC(prior, scenario="censored", random_state=seed).fit(X, y) for prior in (TRAINING, "estimate")]
    found = []
    for share in SHARES:
        new = mixture(halves[0][1], halves[1][1], share, rng)
        Z, truth = scaler.transform(pool.X[new]), pool.truth[new]
        noisy = Z + rng.normal(size=Z.shape)
        found.append([_columns(model, Z, noisy, truth) for model in models])
    return found


def _columns(model: Any, Z: np.ndarray, noisy: np.ndarray, truth: np.ndarray) -> list[float]:
    (copy, warned), (other, warned_noise) = adapted(model, Z), adapted(model, noisy)
    low, high = copy.prior_interval_
    true = float(truth.mean())
    f1 = [float(f1_score(truth, each.predict(Z), zero_division=0)) for each in (model, copy)]
    covered = float(low <= true <= high)
    return [abs(copy.prior_ - true), covered, *f1, copy.drift_, float(warned), other.drift_, float(warned_noise)]


def main(draws: Sequence[int], tables: Sequence[str], results: Results) -> None:
    found = []
    for name in tables:
        found.append(np.mean([results.get((name, seed), measure, name, seed) for seed in draws], axis=0))
        print(
            f"{name:16s} error, prior known {found[-1][:, 0, 0].mean():.3f}, drift {found[-1][:, 0, 4].mean():.2f}"
        )
    values = np.mean(found, axis=0)
    print(f"\nmeans of {len(tables)} tables, draws {[*draws]}")
    for k, known in enumerate(("prior of training known", "prior of training estimated")):
        print(f"\n{known:28s}" + "".join(f"{title:>15s}" for title in COLUMNS))
        for share, row in zip(SHARES, values[:, k], strict=True):
            print(f"share {share:<22}" + "".join(f"{value:15.3f}" for value in row))
