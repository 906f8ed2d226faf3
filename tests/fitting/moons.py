"""Two noisy half circles: the table for tests of selection, threshold and probabilities."""

import numpy as np


def moons(prior=0.3, n_p=60, n_u=400, seed=0, noise=0.6):
    """X, y, the truth of the unlabelled rows, and their share of positives."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n_u) < prior
    angle = rng.random(n_p + n_u) * np.pi
    side = np.r_[np.ones(n_p, bool), positive]
    X = np.c_[np.cos(angle), np.sin(angle)] * np.where(side, 1.0, -1.0)[:, None]
    X += np.where(side, 0.0, 1.0)[:, None] * [1.0, 0.5] + noise * 0.4 * rng.normal(size=X.shape)
    return X, np.r_[np.ones(n_p, int), np.zeros(n_u, int)], positive, positive.mean()
