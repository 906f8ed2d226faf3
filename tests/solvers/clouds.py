"""Tables for the linear solver."""

import numpy as np


def clouds(n, d, prior, p=100, seed=0):
    """Labelled rows P from a shifted cloud, unlabelled rows U from a mixture of it and one around zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(p + n, d)) + 2.0 / np.sqrt(d) * np.r_[np.ones(p), rng.random(n) < prior][:, None]
    return X, np.arange(p), np.arange(p, p + n)
