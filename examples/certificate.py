"""
A certificate in pictures
=========================

Every convex fit ends with two numbers: the primal objective of the model, and a dual value that no model can go below.
Their difference, the duality gap, says how far the model can be from the optimum at most. The pictures show how both
come together, and what the optimality conditions look like row by row.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from usmo import PUSVC
from usmo.plots import ConvergenceDisplay

rng = np.random.default_rng(0)
positive = rng.normal([1.5, 1.0], 0.8, size=(160, 2))
negative = rng.normal([-1.0, -0.5], 1.0, size=(240, 2))
X = np.r_[positive, negative]
y = (np.arange(len(X)) < 60).astype(int)  # 60 labelled positives; 100 positives and 240 negatives are unlabelled
model = PUSVC(prior=100 / 340, lam=1e-3, solver="usmo", tol=1e-4).fit(X, y)
print(model.certificate_)

# %%
# Primal and dual
# ---------------
# A fit that is stopped early is a worse model, and its certificate says so. No knowledge of the optimum goes into it:
# the objective of the full fit, the dashed line, lies between the two values at every limit.

limits = [100, 150, 200, 250, 300, 400, 550, 800]
certificates = []
for limit in limits:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        early = PUSVC(prior=100 / 340, lam=1e-3, solver="usmo", tol=1e-4, max_iter=limit).fit(X, y)
    certificates.append(early.certificate_)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(limits, [c.primal for c in certificates], "o-", color="#d1495b", label="primal objective")
left.plot(limits, [c.dual for c in certificates], "s-", color="#00798c", label="dual objective")
left.axhline(model.certificate_.primal, color="black", linestyle="--", linewidth=1, label="optimum")
left.set(xlabel="two-row steps allowed", title="The optimum lies between the two")
left.set_ylim(model.certificate_.primal - 12, model.certificate_.primal + 12)
left.legend(frameon=False)
right.semilogy(limits, [max(c.relative_gap, 1e-9) for c in certificates], "o-", color="#333333")
right.set(xlabel="two-row steps allowed", title="Relative duality gap")

# %%
# The conditions, row by row
# --------------------------
# A dual variable at 0 asks for f ≤ -1, one at its kink h for -1 ≤ f ≤ 1, one at its bound c for f ≥ 1; in between, f is
# exactly -1 or 1. At the optimum every unlabelled row lies on this staircase.

exact = PUSVC(prior=100 / 340, lam=1e-3, tol=1e-6, threshold=0.0, class_weight=None).fit(X, y)
alpha = np.zeros(len(X))
alpha[exact.support_] = exact.dual_coef_[0]
c = 1 / (2 * 1e-3 * 340)
sigma, f = -alpha[y == 0] / c, exact.decision_function(X[y == 0])

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
low, high = f.min() - 0.3, f.max() + 0.3
axis.plot(
    [low, -1, -1, 1, 1, high], [0, 0, 0.5, 0.5, 1, 1], color="#cccccc", linewidth=6, label="optimality conditions"
)
axis.plot(f, sigma, "o", color="#00798c", markersize=4, label="unlabelled rows")
axis.set(
    xlabel="decision function f", ylabel="dual variable σ / c", yticks=[0, 0.5, 1], yticklabels=["0", "h", "c"]
)
axis.legend(frameon=False)

# %%
# The passes of a fit
# -------------------
# ``history_`` has the violation of the conditions and the kernel rows after each pass.

ConvergenceDisplay.from_estimator(PUSVC(prior=100 / 340, lam=1e-3, tol=1e-6).fit(X, y))
plt.show()
