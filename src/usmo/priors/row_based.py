"""Estimators from the rows, without scores: penalised L1 distance, kernel mean embedding, tree induction."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import euclidean_distances
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from usmo.core.arrays import Array, Index, Mask
from usmo.priors.base import BootstrappedPrior
from usmo.priors.samples import Sample


class RowPrior(BootstrappedPrior):
    """An estimator from the rows themselves, at most 2,000 of P and of U."""

    _most_rows = 2000

    def __init__(
        self,
        *,
        scenario: str = "case-control",
        level: float = 0.9,
        n_bootstrap: int = 10,
        random_state: int | None = 0,
    ) -> None:
        self.scenario = scenario
        self.level = level
        self.n_bootstrap = n_bootstrap
        self.random_state = random_state

    def _features(self, X: Any, labelled: Mask, weight: Array, repetition: int, groups: Index | None) -> Array:
        return self._scaled(np.asarray(X.todense()) if sparse.issparse(X) else X, weight)

    def _scaled(self, X: Array, weight: Array) -> Array:
        return StandardScaler().fit_transform(X, sample_weight=weight)


class PenalisedL1(RowPrior):
    """Penalised L1 distance, without a classifier: a published method for comparisons, often far off.

    The estimate is the θ that minimises a penalised L1 distance between θ·p_P and p_U. With Gaussian functions φ
    centred at random rows of U, β(θ) = θ·mean_P φ - mean_U φ and α = max(0, β)/λ, the distance is αᵀβ - θ + 1.
    Width and λ are chosen for each θ: those with the least -αᵀβ on held-out folds. At most 2,000 rows of P and of U
    are used.

    Parameters
    ----------
    scenario : {"case-control", "censored"}, default="case-control"
        What the prior refers to: the unlabelled rows, or all rows.
    level : float, default=0.9
        Probability of the interval.
    n_bootstrap : int, default=10
        Bootstrap draws for the interval; below 2 the interval is the estimate alone.
    random_state : int, default=0
        Seed; None is 0, so that estimates are reproducible.

    Attributes
    ----------
    prior_ : float
        The estimate, strictly between 0 and 1.
    interval_ : tuple of float
        Normal interval from the standard deviation over bootstrap draws: sampling error only.
    diagnostics_ : dict
        ``prior_unlabelled`` and ``interval_unlabelled``, estimate and interval of the share among the unlabelled rows;
        ``width`` and ``regularisation`` (λ) at the estimate.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    References
    ----------
    M. C. du Plessis, G. Niu, M. Sugiyama. Class-prior estimation for learning from positive and unlabeled data.
    Machine Learning 106, 2017.
    """

    _folds, _centres = 5, 300

    def _fold_count(self) -> int:
        return self._folds

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        rng = np.random.default_rng(self._seed)
        theta = np.linspace(0.01, 0.99, 99)
        regularisation = np.logspace(-3, 1, 10)
        centres = sample.U[rng.permutation(len(sample.U))[: self._centres]]
        distances = [euclidean_distances(rows, centres, squared=True) for rows in (sample.P, sample.U)]
        median = np.sqrt(np.median(np.concatenate(distances))) or 1.0
        folds = [rng.permutation(len(rows)) % self._folds for rows in (sample.P, sample.U)]
        if sample.groups is not None:
            folds = list(sample.group_folds(self._folds))
        best, distance, chosen = np.full(len(theta), np.inf), np.empty(len(theta)), np.empty((len(theta), 2))
        for width in median * np.logspace(-2, 1, 10):
            phi = [np.exp(d / (-2.0 * width**2)) for d in distances]
            sums = [
                np.stack([(w * (fold == k)) @ f for k in range(self._folds)])
                for f, w, fold in zip(phi, (sample.w_p, sample.w_u), folds, strict=True)
            ]
            sizes = [
                np.array([[(w * (fold == k)).sum()] for k in range(self._folds)])
                for w, fold in zip((sample.w_p, sample.w_u), folds, strict=True)
            ]
            test = [np.divide(a, n, where=n > 0, out=np.zeros_like(a)) for a, n in zip(sums, sizes, strict=True)]
            whole = [a.sum(0) / n.sum() for a, n in zip(sums, sizes, strict=True)]
            # a single distinct row is in one fold: no other rows are left to train on
            train = [
                np.divide(a.sum(0) - a, n.sum() - n, where=n < n.sum(), out=np.tile(mean, (self._folds, 1)))
                for a, n, mean in zip(sums, sizes, whole, strict=True)
            ]
            gain = np.zeros(len(theta))
            for k in range(self._folds):
                beta = theta[:, None] * train[0][k] - train[1][k]
                gain += np.einsum("tc,tc->t", np.maximum(0.0, beta), theta[:, None] * test[0][k] - test[1][k])
            beta = theta[:, None] * whole[0] - whole[1]
            overlap = (np.maximum(0.0, beta) ** 2).sum(axis=1)
            for lam in regularisation:
                score = -gain / lam
                better = score < best
                best[better] = score[better]
                distance[better] = overlap[better] / lam - theta[better] + 1.0
                chosen[better] = width, lam
        k = int(np.argmin(distance))
        return float(theta[k]), {"width": float(chosen[k, 0]), "regularisation": float(chosen[k, 1])}


class KernelMean(RowPrior):
    """KM2, from distances between rows, without a classifier: a published method for small tables.

    It asks how far the kernel mean of U can move away from that of P and still be the mean of a distribution. d(λ) is
    the distance of λ·φ(U) + (1-λ)·φ(P) from the convex hull of the rows' images; it is about 0 up to λ = 1/(1-π).
    The estimate takes the λ at which the slope of d passes 0.8·d'(1.05) + 0.2·‖φ(U) - φ(P)‖, and π = (λ-1)/λ.
    The kernel is Gaussian; of five widths around the median distance, the one with the greatest ‖φ(U) - φ(P)‖ is
    taken. The kernel matrix is dense, so at most 400 rows of P and of U are used.

    Parameters
    ----------
    scenario : {"case-control", "censored"}, default="case-control"
        What the prior refers to: the unlabelled rows, or all rows.
    level : float, default=0.9
        Probability of the interval.
    n_bootstrap : int, default=10
        Bootstrap draws for the interval; below 2 the interval is the estimate alone.
    random_state : int, default=0
        Seed; None is 0, so that estimates are reproducible.

    Attributes
    ----------
    prior_ : float
        The estimate, strictly between 0 and 1.
    interval_ : tuple of float
        Normal interval from the standard deviation over bootstrap draws: sampling error only.
    diagnostics_ : dict
        ``prior_unlabelled`` and ``interval_unlabelled``, estimate and interval of the share among the unlabelled rows;
        ``slope``, the threshold on the slope of d, and ``distance``, ‖φ(U) - φ(P)‖.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    References
    ----------
    H. Ramaswamy, C. Scott, A. Tewari. Mixture proportion estimation via kernel embedding of distributions. ICML
    2016.
    """

    _most_rows = 400

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        rows = np.vstack([sample.U, sample.P])
        u = np.concatenate([sample.w_u / sample.w_u.sum(), np.zeros(len(sample.P))])
        p = np.concatenate([np.zeros(len(sample.U)), sample.w_p / sample.w_p.sum()])
        squared = euclidean_distances(rows, squared=True)
        median = np.sqrt(np.median(squared)) or 1.0
        kernels = [np.exp(squared / (-2.0 * (median * width) ** 2)) for width in np.logspace(-1, 1, 5)]
        K = max(kernels, key=lambda k: float((u - p) @ k @ (u - p)))
        distance = np.sqrt(max(float((u - p) @ K @ (u - p)), 1e-300))
        hull = _Hull(K, u)
        slope = 0.8 * hull.slope(1.05, u, p) + 0.2 * distance
        low, high = 1.0, 50.0
        while 1.0 / low - 1.0 / high > 0.005:
            middle = 2.0 / (1.0 / low + 1.0 / high)  # halves the range of π
            low, high = (low, middle) if hull.slope(middle, u, p) > slope else (middle, high)
        return float(1.0 - 0.5 * (1.0 / low + 1.0 / high)), {"slope": slope, "distance": distance}


class _Hull:
    """Distance to the convex hull of the rows' images, by accelerated projected gradient steps.

    Each search starts from the nearest point of the one before.
    """

    def __init__(self, K: Array, start: Array) -> None:
        self.K, self.w = K, start
        vector = np.ones(len(K))  # power iteration: the step is one over the largest eigenvalue of K
        for _ in range(20):
            vector = K @ vector
            vector /= np.linalg.norm(vector)
        self.step = 1.0 / (1.02 * float(vector @ K @ vector))

    def slope(self, lam: float, u: Array, p: Array) -> float:
        """d'(λ), by the envelope theorem the component of (target - nearest point) along φ(U) - φ(P)."""
        target = lam * u + (1.0 - lam) * p
        w, ahead, t = self.w, self.w, 1.0
        for _ in range(300):
            new = _on_simplex(ahead - self.step * (self.K @ (ahead - target)))
            t_new = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            ahead = new + (t - 1.0) / t_new * (new - w)
            moved = float(np.abs(new - w).sum())
            w, t = new, t_new
            if moved < 1e-6:
                break
        self.w = w
        away = self.K @ (target - w)
        distance = np.sqrt(max(float((target - w) @ away), 1e-300))
        return float((u - p) @ away) / distance


def _on_simplex(v: Array) -> Array:
    """Euclidean projection on the points with non-negative coordinates that sum to one."""
    ordered = np.sort(v)[::-1]
    excess = (np.cumsum(ordered) - 1.0) / np.arange(1, len(v) + 1)
    return np.maximum(v - excess[np.count_nonzero(ordered > excess) - 1], 0.0)


class Tice(RowPrior):
    """TIcE, from regions that a tree finds, without a classifier: for positives that a few columns tell apart.

    The tree searches for regions with many labels; each gives a lower bound of the label frequency c. In a region with
    T rows, L of them labelled, c ≥ L/T - √(c(1-c)(1-δ)/(δT)) holds with probability 1-δ; δ = max(0.025, 1/(1+0.004·n)).
    One fold grows the tree, the other rows give its best bound; the bounds of five folds are averaged, and a second
    pass uses the c of the first. The share of positives among all rows is labelled/(c·n). At most 2,000 rows of P and
    of U are used.

    Parameters
    ----------
    scenario : {"case-control", "censored"}, default="case-control"
        What the prior refers to: the unlabelled rows, or all rows.
    level : float, default=0.9
        Probability of the interval.
    n_bootstrap : int, default=10
        Bootstrap draws for the interval; below 2 the interval is the estimate alone.
    random_state : int, default=0
        Seed; None is 0, so that estimates are reproducible.

    Attributes
    ----------
    prior_ : float
        The estimate, strictly between 0 and 1.
    interval_ : tuple of float
        Normal interval from the standard deviation over bootstrap draws: sampling error only.
    diagnostics_ : dict
        ``prior_unlabelled`` and ``interval_unlabelled``, estimate and interval of the share among the unlabelled rows;
        ``label_frequency``, the estimate of c.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.

    References
    ----------
    J. Bekker, J. Davis. Estimating the class prior in positive and unlabeled data through decision tree induction.
    AAAI 2018.
    """

    _folds = 5
    _splits, _smallest, _prior_count, _most_features = 60, 10.0, 5.0, 60
    """Splits of a tree, least weight of a region, rows without label added to a share, features tried per split."""

    def _fold_count(self) -> int:
        return self._folds

    def _scaled(self, X: Array, weight: Array) -> Array:
        return MinMaxScaler().fit_transform(X)

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        X = np.vstack([sample.P, sample.U])
        labels = np.concatenate([sample.w_p, np.zeros(len(sample.U))])
        weight = np.concatenate([sample.w_p, sample.w_u])
        rng = np.random.default_rng(self._seed)
        fold = rng.permutation(len(X)) % self._folds
        if sample.groups is not None:
            fold = np.concatenate(sample.group_folds(self._folds))
        c = 0.5
        for _ in range(2):
            c = float(np.mean([self._bound(X, labels, weight, fold == k, c, rng) for k in range(self._folds)]))
            c = min(max(c, 1e-6), 1.0)
        n_p, n_u = float(sample.w_p.sum()), float(sample.w_u.sum())
        return float(np.clip(n_p * (1.0 - c) / (c * n_u), 0.0, 1.0)), {"label_frequency": c}

    def _bound(
        self, X: Array, labels: Array, weight: Array, tree: np.ndarray, c: float, rng: np.random.Generator
    ) -> float:
        """Highest lower bound of c: regions are grown on the rows of ``tree`` and measured on the others."""
        n = float(weight[~tree].sum())
        delta = max(0.025, 1.0 / (1.0 + 0.004 * n))
        best = float(labels[~tree].sum()) / n

        def label_share(rows: np.ndarray) -> float:
            return float(labels[rows].sum() / (weight[rows].sum() + self._prior_count))

        rows, others = np.flatnonzero(tree), np.flatnonzero(~tree)
        queue = [(-label_share(rows), 0, rows, others)]
        for count in range(1, self._splits + 1):
            if not queue:
                break
            _, _, rows, others = heapq.heappop(queue)
            total = float(weight[others].sum())
            if total >= self._smallest:
                margin = np.sqrt(c * (1.0 - c) * (1.0 - delta) / (delta * total))
                best = max(best, float(labels[others].sum()) / total - margin)
            if not len(rows):
                continue
            columns = rng.permutation(X.shape[1])[: self._most_features]
            Z = X[np.ix_(rows, columns)]
            median = _median(Z, weight[rows])
            above = median < Z
            w, s = weight[rows], labels[rows]
            high_w, high_s = w @ above, s @ above
            score = np.maximum(
                high_s / (high_w + self._prior_count),
                (s.sum() - high_s) / (w.sum() - high_w + self._prior_count),
            )
            score[(high_w == 0) | (high_w == w.sum())] = -1.0
            j = int(np.argmax(score))
            if score[j] < 0:
                continue
            side, other_side = above[:, j], X[others, columns[j]] > median[j]
            for k, (a, b) in enumerate(((side, other_side), (~side, ~other_side))):
                if weight[others[b]].sum() >= self._smallest:
                    heapq.heappush(queue, (-label_share(rows[a]), 2 * count + k, rows[a], others[b]))
        return best


def _median(X: Array, weight: Array) -> Array:
    """The weighted median of each column: the least value with half of the weight at or below it."""
    order = np.argsort(X, axis=0)
    below = np.cumsum(weight[order], axis=0)
    at = np.argmax(below >= 0.5 * below[-1], axis=0)[None]
    return np.take_along_axis(X, np.take_along_axis(order, at, axis=0), axis=0)[0]
