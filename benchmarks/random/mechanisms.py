"""Tables whose positives are labelled by a known mechanism, at random or not.

A draw is one sample of a table (scenario "censored"): every positive x gets a label with probability e(x), 0.4 in the
mean. With z the normal score of the ranks among the positives,

    random          e = 0.4
    score 0.5, 1, 2 e = s(a + k·z) of the true score: log odds of a forest trained with all labels, cross-fitted
    column          e = s(a + 2·z) of the column that separates the classes best
    cluster         e = 0 in one of three k-means clusters of the positives, constant elsewhere

s(t) = 1/(1 + e^-t), and a makes the mean 0.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import norm, rankdata
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import StandardScaler

from benchmarks.priors import TABLES, table

__all__ = ["MECHANISMS", "PRIORS", "TABLES", "Draw", "draw", "pool_of"]

STRENGTHS = {"score 0.5": 0.5, "score 1": 1.0, "score 2": 2.0}
STRONGEST = "score 2"
MECHANISMS = ("random", *STRENGTHS, "column", "cluster")
PRIORS = (0.2, 0.35, 0.5)
"""Shares of positives in a sample; a draw takes them in turn."""
FREQUENCY = 0.4
"""Mean probability that a positive is labelled."""
MOST_ROWS, MOST_OF_A_CLASS = 1500, 3000
"""Rows of a sample at most, and rows of each class from which samples are drawn."""
FEWEST_LABELLED = 10


@dataclass(frozen=True)
class Draw:
    """One sample: rows, which are labelled, which are positive, e(x) of each row, the prior; and rows kept apart.

    ``propensity`` is that of a positive at x; ``held_out`` and ``held_truth`` are rows of the same table that are not
    in the sample.
    """

    X: np.ndarray
    labelled: np.ndarray
    truth: np.ndarray
    propensity: np.ndarray
    prior: float
    held_out: np.ndarray
    held_truth: np.ndarray


@dataclass(frozen=True)
class Pool:
    """The rows of a table from which samples are drawn, with what the mechanisms need."""

    X: np.ndarray
    truth: np.ndarray
    score: np.ndarray
    column: np.ndarray
    cluster: np.ndarray


@lru_cache(maxsize=2)
def pool_of(name: str) -> Pool:
    X, y = table(name)
    rng = np.random.default_rng(0)
    classes = (rng.permutation(np.flatnonzero(mask))[:MOST_OF_A_CLASS] for mask in (y, ~y))
    rows = rng.permutation(np.concatenate(list(classes)))
    X, truth = X[rows], y[rows]
    X = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    forest = RandomForestClassifier(300, min_samples_leaf=2, n_jobs=1, random_state=0)
    share = cross_val_predict(forest, X, truth, cv=5, method="predict_proba")[:, 1]
    areas = np.array([roc_auc_score(truth, column) for column in X.T])
    best = int(np.argmax(np.abs(areas - 0.5)))
    Z = StandardScaler().fit_transform(X)
    means = KMeans(3, n_init=5, random_state=0).fit(Z[truth])
    return Pool(X, truth, logit(np.clip(share, 0.002, 0.998)), X[:, best], means.predict(Z))


def draw(
    name: str, mechanism: str, seed: int, held_out: float = 0.0, prior: float | None = None,
    frequency: float = FREQUENCY,
) -> Draw:  # fmt: skip
    """A sample of the table, its labels by the mechanism, and a share of the table kept apart.

    The prior is by default one of ``PRIORS``, by the seed. ``frequency`` is the share of positives labelled.
    """
    if mechanism not in MECHANISMS:
        raise ValueError(f"mechanism must be one of {', '.join(MECHANISMS)}, got {mechanism!r}")
    pool = pool_of(name)
    # the rows of a draw are the same for all mechanisms
    rng = np.random.default_rng([seed, 1])
    order = rng.permutation(len(pool.truth))
    apart, rest = np.split(order, [int(held_out * len(order))])
    prior = PRIORS[seed % len(PRIORS)] if prior is None else prior
    positive, negative = rest[pool.truth[rest]], rest[~pool.truth[rest]]
    size = int(min(MOST_ROWS, len(positive) / prior, len(negative) / (1 - prior)))
    hits = round(prior * size)
    rows = rng.permutation(np.concatenate([positive[:hits], negative[: size - hits]]))
    truth = pool.truth[rows]
    e = _propensity(pool, rows, mechanism, seed, frequency)
    labelled = truth & (rng.random(size) < e)
    if labelled.sum() < FEWEST_LABELLED:
        likely = np.argsort(-np.where(truth, e + 0.01 * rng.random(size), -1.0))
        labelled[likely[:FEWEST_LABELLED]] = True
    return Draw(pool.X[rows], labelled, truth, e, hits / size, pool.X[apart], pool.truth[apart])


def _propensity(pool: Pool, rows: np.ndarray, mechanism: str, seed: int, frequency: float) -> np.ndarray:
    truth = pool.truth[rows]
    if mechanism == "random":
        return np.full(len(rows), frequency)
    if mechanism == "cluster":
        cluster = pool.cluster[rows]
        shares = np.bincount(cluster[truth], minlength=3) / truth.sum()
        left_out = int(np.argsort(np.abs(shares - 0.3))[seed % 2])
        return np.where(cluster == left_out, 0.0, min(0.95, frequency / (1.0 - shares[left_out])))
    value = pool.column[rows] if mechanism == "column" else pool.score[rows]
    z = _normal_scores(value, truth)
    strength = STRENGTHS.get(mechanism, 2.0)
    a = brentq(lambda a: expit(a + strength * z[truth]).mean() - frequency, -30.0, 30.0)
    return expit(a + strength * z)


def _normal_scores(value: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Normal scores of the ranks among the positives; other rows take those of the positives around them."""
    known = np.sort(value[truth])
    at = norm.ppf((rankdata(known) - 0.5) / len(known))
    return np.interp(value, known, at)


def numbers(draws: list[Any]) -> str:
    """How many rows and labels the draws have, for the heading of a table."""
    rows, labels = [len(d.truth) for d in draws], [int(d.labelled.sum()) for d in draws]
    return f"{min(rows)} to {max(rows)} rows, {min(labels)} to {max(labels)} labelled"
