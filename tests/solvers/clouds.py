"""Tables for the solvers by columns."""

import numpy as np


def clouds(n, d, prior, p=100, seed=0):
    """Labelled rows P from a shifted cloud, unlabelled rows U from a mixture of it and one around zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(p + n, d)) + 2.0 / np.sqrt(d) * np.r_[np.ones(p), rng.random(n) < prior][:, None]
    return X, np.arange(p), np.arange(p, p + n)


def random_task(seed):
    """Rows with zeros, some empty, some equal, and b and c of every size with 0 < Σb < Σc."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 40)), int(rng.integers(1, 30))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.1, 0.5, 1.0]))
    if seed % 4 == 0:
        X[rng.integers(n)] = 0.0
        X[:, rng.integers(d)] = 0.0
    if seed % 4 == 1:
        X[rng.integers(n, size=n // 2)] = X[0]
    if seed % 4 == 2:
        X += 3.0
    lam = 10.0 ** rng.uniform(-4, 1)
    c = rng.random(n) ** (5 if seed % 3 == 0 else 0) * (rng.random(n) < 0.9)
    c[rng.integers(n)] = 1.0
    c /= 2.0 * lam * c.sum()
    b = np.where(rng.random(n) < 0.3, rng.random(n), 0.0)
    b[rng.integers(n)] += 0.1
    b *= rng.choice([1e-3, 0.2, 0.5, 0.999]) * c.sum() / b.sum()
    return X, b, c
