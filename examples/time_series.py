"""
Time series through a precomputed kernel
========================================

Rows need not be vectors: a matrix of similarities is enough. Here heartbeats of different length are compared by the
autocorrelation of each, and the Gaussian kernel of these distances is given to ``PUSVC(kernel="precomputed")``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import pairwise_distances, roc_auc_score

from usmo import PUSVC

rng = np.random.default_rng(0)


def beat(irregular):
    """A noisy pulse train of 180 to 260 samples; irregular ones have intervals that vary."""
    length = int(rng.integers(180, 260))
    times = np.cumsum(rng.normal(20, 5.0 if irregular else 1.2, size=30)) - rng.uniform(0, 20)
    pulses = np.exp(-((np.arange(length)[:, None] - times) ** 2) / 8).sum(axis=1)
    return pulses + 0.25 * rng.normal(size=length)


def autocorrelation(series, lags=60):
    centred = series - series.mean()
    return np.array([centred[lag:] @ centred[: len(centred) - lag] for lag in range(1, lags + 1)]) / (
        centred @ centred
    )


irregular = rng.random(300) < 0.3
series = [beat(each) for each in irregular]
distance = pairwise_distances(np.array([autocorrelation(each) for each in series]))
K = np.exp(-(distance**2) / np.median(distance) ** 2)

y = np.zeros(300, dtype=int)
y[rng.permutation(np.flatnonzero(irregular))[:25]] = 1
u = y == 0
model = PUSVC(kernel="precomputed", prior=irregular[u].mean()).fit(K, y)
f = model.decision_function(K)
print(f"AUC on the unlabelled series: {roc_auc_score(irregular[u], f[u]):.3f}")
print(f"the kernel is positive semidefinite: {model.certificate_.convex}")

# %%
# The series with the highest and the lowest scores among the unlabelled ones:

order = np.flatnonzero(u)[np.argsort(-f[u])]
figure, axes = plt.subplots(3, 2, figsize=(10, 5), layout="constrained", sharex=True, sharey=True)
for column, (rows, title, colour) in enumerate(
    ((order[:3], "highest: most irregular", "#d1495b"), (order[-3:], "lowest: most regular", "#00798c"))
):
    for axis, row in zip(axes[:, column], rows, strict=True):
        axis.plot(series[row], color=colour, linewidth=1)
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_yticks([])
    axes[0, column].set_title(title)
plt.show()

# %%
# New series are compared with the training series: ``decision_function`` takes their rows of the kernel.

new = [beat(True), beat(False)]
to_training = pairwise_distances(
    np.array([autocorrelation(each) for each in new]), np.array([autocorrelation(each) for each in series])
)
print(model.predict_proba(np.exp(-(to_training**2) / np.median(distance) ** 2))[:, 1])
