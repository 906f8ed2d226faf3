"""
Outliers, with known inliers
============================

30 rows are known to be normal. The unlabelled rows hold outliers of two kinds: a cluster amid the inliers, and single
rows far away. Detectors that look at all rows take the cluster for normal; those that look at known inliers alone waste
what the unlabelled rows tell.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

from usmo import PUOutlierDetector

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 330)
inliers = np.column_stack([np.cos(angle), np.sin(angle)]) * 3 + rng.normal(scale=0.35, size=(330, 2))
cluster, far = rng.normal(scale=0.3, size=(30, 2)), rng.uniform(-5, 5, size=(10, 2))
X = np.r_[inliers, cluster, far]
normal = np.arange(len(X)) < 330
y = (np.arange(len(X)) < 30).astype(int)  # 1: known inlier, 0: unlabelled
u = y == 0

detectors = {
    "PUOutlierDetector": PUOutlierDetector(contamination=40 / 340).fit(X, y),
    "one-class SVM, known inliers": OneClassSVM(nu=0.1).fit(X[~u]),
    "isolation forest, all rows": IsolationForest(random_state=0).fit(X),
}

# %%
# Darker is less normal.

grid = np.meshgrid(np.linspace(-5.5, 5.5, 120), np.linspace(-5.5, 5.5, 120))
points = np.column_stack([axis.ravel() for axis in grid])
figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained", sharey=True)
for axis, (name, detector) in zip(axes, detectors.items(), strict=True):
    score = detector.score_samples(points).reshape(grid[0].shape)
    axis.contourf(*grid, score, levels=20, cmap="Blues_r")
    axis.scatter(*X[u & normal].T, s=8, color="#f0f0f0", edgecolor="#444444", linewidth=0.4, label="inlier")
    axis.scatter(*X[u & ~normal].T, s=18, marker="^", color="#d1495b", label="outlier")
    axis.scatter(*X[~u].T, s=24, marker="+", color="#e8a33d", label="known inlier")
    auc = roc_auc_score(normal[u], detector.score_samples(X[u]))
    axis.set_title(f"{name}\nAUC {auc:.3f}", fontsize=11)
    axis.set(xticks=[], yticks=[])
axes[0].legend(loc="lower left", fontsize=9)
plt.show()

# %%
# The rows called outliers. Give the contamination if you know it: estimated from 30 known inliers it is far too high.

detector = detectors["PUOutlierDetector"]
found = detector.predict(X[u]) == -1
print(
    f"contamination {PUOutlierDetector().fit(X, y).contamination_:.3f} estimated, {np.mean(~normal[u]):.3f} in truth"
)
print(
    f"{found.sum()} rows are called outliers, {np.sum(found & ~normal[u])} of the {np.sum(~normal[u])} are among them"
)
