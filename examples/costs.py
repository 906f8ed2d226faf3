"""
When a missed positive is dear
==============================

``class_weight`` sets the costs of the two errors. The dearer a missed positive, the further the boundary moves
away from the positives. The certificate holds for every choice: all are the same convex problem with other bounds.
"""

import matplotlib.pyplot as plt
import numpy as np

from usmo import PUSVC

rng = np.random.default_rng(0)
n = 500
positive = rng.random(n) < 0.3
X = rng.normal(size=(n, 2)) + np.where(positive[:, None], [1.1, 0.7], [-0.4, -0.3])
y = np.zeros(n, dtype=int)
y[rng.permutation(np.flatnonzero(positive))[:60]] = 1
u = y == 0
prior = positive[u].mean()

# %%
# Rows inside the line are called positive. The recall and the share of false alarms are those of the unlabelled rows.

figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained", sharey=True)
grid = np.meshgrid(np.linspace(-3.5, 4, 120), np.linspace(-3.5, 4, 120))
points = np.column_stack([axis.ravel() for axis in grid])
for axis, cost in zip(axes, (1, 3, 10), strict=True):
    model = PUSVC(prior=prior, class_weight={0: 1, 1: cost}, threshold=0.0, lam=0.005).fit(X, y)
    f = model.decision_function(points).reshape(grid[0].shape)
    axis.contourf(*grid, f, levels=[f.min() - 1, 0, f.max() + 1], colors=["#eef2f5", "#f6d9dd"])
    axis.contour(*grid, f, levels=[0], colors="black", linewidths=1)
    for rows, marker, colour, label in (
        (u & ~positive, ".", "#8796a5", "negative"),
        (u & positive, "^", "#d1495b", "positive, not labelled"),
        (~u, "+", "#00798c", "labelled positive"),
    ):
        axis.scatter(*X[rows].T, s=18, marker=marker, color=colour, linewidths=1, label=label)
    called = model.predict(X[u]) == 1
    recall, alarms = called[positive[u]].mean(), called[~positive[u]].mean()
    axis.set_title(f"a miss costs {cost}\nrecall {recall:.2f}, false alarms {alarms:.2f}", fontsize=11)
    axis.set(xticks=[], yticks=[])
    print(f"cost {cost}: relative gap {model.certificate_.relative_gap:.1e}")
axes[0].legend(loc="lower left", fontsize=9)
plt.show()
