"""
Labels that follow a column
===========================

A hospital knows more of its cases than a village practice. If the labelled positives come from certain values of a
column, a classifier learns that column, though it says nothing about the class. The propensity, the probability that a
positive is labelled, undoes that. It can be estimated as a function of the column.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from usmo import PUSVC

rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 2))
positive = X[:, 0] + 0.4 * rng.normal(size=1500) > 0.6  # the class depends on the first column
propensity = expit(-0.5 + 2 * X[:, 1])  # labels depend on the second
y = (positive & (rng.random(1500) < propensity)).astype(int)

options = {"prior": positive.mean(), "scenario": "censored"}
models = {
    "labels taken for random": PUSVC(**options).fit(X, y),
    "propensity estimated": PUSVC(**options, propensity="estimate", propensity_columns=[1]).fit(X, y),
}

# %%
# The line is the decision: it calls as many rows positive as there are positives. With the estimated propensity the
# decision hardly depends on the second column.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharex=True, sharey=True)
grid = np.stack(np.meshgrid(np.linspace(-3, 3, 80), np.linspace(-3, 3, 80)), axis=-1)
hidden = y == 0
for axis, (name, model) in zip(axes, models.items(), strict=True):
    values = model.decision_function(grid.reshape(-1, 2)).reshape(80, 80)
    axis.contour(grid[..., 0], grid[..., 1], values, levels=[0.0], colors="black")
    for rows, marker, colour, label in (
        (hidden & ~positive, ".", "#bbbbbb", "negative"),
        (hidden & positive, "^", "#d1495b", "positive, not labelled"),
        (~hidden, "+", "#00798c", "labelled positive"),
    ):
        axis.scatter(*X[rows].T, s=14, marker=marker, color=colour, linewidths=0.8, label=label)
    auc = roc_auc_score(positive[hidden], model.decision_function(X[hidden]))
    axis.set(title=f"{name}: AUC {auc:.3f}", xlabel="first column", xlim=(-3, 3), ylim=(-3, 3))
axes[0].set_ylabel("second column")
axes[0].legend(frameon=True, loc="lower left")
plt.show()

# %%
# The estimated propensity against the true one. Its level rests on the prior, its slope on the labels, and it is shrunk
# towards a constant.

estimated = models["propensity estimated"].propensity_model_
z = np.linspace(-3, 3, 100)
figure, axis = plt.subplots(figsize=(5, 3.4), layout="constrained")
axis.plot(z, expit(-0.5 + 2 * z), color="#999999", linestyle="--", label="true")
axis.plot(z, estimated(z), color="#d1495b", label="estimated")
axis.set(xlabel="second column", ylabel="probability of a label", ylim=(0, 1))
axis.legend(frameon=False)
plt.show()
