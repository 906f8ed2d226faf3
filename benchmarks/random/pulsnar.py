"""PULSNAR, from its paper: clusters of the positives, each estimated by densities of predicted probabilities.

P. Kumar, C. G. Lambert. Positive unlabeled learning selected not at random (PULSNAR): class proportion estimation
without the selected completely at random assumption. PeerJ Computer Science 2024.

The positives are clustered by a Gaussian mixture, BIC choosing the number of clusters. For each cluster against U a
boosted classifier predicts held-out probabilities; with beta-kernel densities f_P and f_U of these on (0.5, 1), the
share is the α at which the slope of log|min(f_U - α·f_P)| changes most (PULSCAR). The shares are added up.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import jensenshannon
from scipy.stats import beta
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

MOST_CLUSTERS, FEWEST = 5, 20
ALPHAS = np.arange(1000) / 1000


def pulsnar(X: np.ndarray, labelled: np.ndarray, seed: int = 0) -> float:
    """The estimated share of positives among the unlabelled rows."""
    P, U = X[labelled], X[~labelled]
    cluster = _clusters(P, seed)
    return float(min(1.0, sum(pulscar(P[cluster == k], U, seed) for k in np.unique(cluster))))


def pulscar(P: np.ndarray, U: np.ndarray, seed: int = 0) -> float:
    """The share of U that is like P."""
    rows, y = np.vstack([P, U]), np.arange(len(P) + len(U)) < len(P)
    model = HistGradientBoostingClassifier(
        max_iter=60, min_samples_leaf=min(20, max(2, len(P) // 4)), random_state=seed
    )
    folds = StratifiedKFold(min(5, len(P)), shuffle=True, random_state=seed)
    probability = cross_val_predict(model, rows, y, cv=folds, method="predict_proba")[:, 1]
    spread = 3.5 * probability.std() / len(probability) ** (1 / 3)
    bins = int(np.clip(2 ** np.round(np.log2(np.ptp(probability) / max(spread, 1e-9))), 8, 512))
    at = np.linspace(0.0, 1.0, bins)
    histogram = np.histogram(probability, bins=bins, range=(0.0, 1.0))[0] / len(probability)
    width = minimize_scalar(
        lambda h: jensenshannon(_density(probability, at, h), histogram), bounds=(0.01, 0.5), method="bounded",
        options={"maxiter": 20},
    ).x  # fmt: skip
    f_p, f_u = _density(probability[y], at, width), _density(probability[~y], at, width)
    upper = at > 0.5
    least = (f_u[upper] - ALPHAS[:, None] * f_p[upper]).min(axis=1)
    slope = np.diff(np.log10(np.abs(least) + max(abs(f_p.min()), 1e-10)))
    return float(ALPHAS[1 + int(np.argmax(np.abs(np.diff(slope))))])


def _density(values: np.ndarray, at: np.ndarray, width: float) -> np.ndarray:
    density = beta.pdf(values, at[:, None] / width + 1, (1 - at[:, None]) / width + 1).mean(axis=1)
    return density / density.sum()


def _clusters(P: np.ndarray, seed: int) -> np.ndarray:
    most = max(1, min(MOST_CLUSTERS, len(P) // FEWEST))
    Z = StandardScaler().fit_transform(P)
    Z = PCA(min(10, *Z.shape), random_state=seed).fit_transform(Z)
    models = [
        GaussianMixture(k, covariance_type="diag", reg_covar=1e-3, random_state=seed).fit(Z)
        for k in range(1, most + 1)
    ]
    cluster = min(models, key=lambda model: model.bic(Z)).predict(Z)
    counts = np.bincount(cluster)
    # a handful of rows allows no cross-validation: they join the largest cluster
    return np.where(counts[cluster] < 5, int(np.argmax(counts)), cluster)
