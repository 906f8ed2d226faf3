"""
Choosing λ without negatives
============================

``PUSVC(lam="cv")`` chooses λ by the PU risk of held-out rows, which needs no negatives. ``usmo.path`` fits many λ, each
started from the one before. The true classes, which neither has seen, show whether the choice was good.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score, roc_auc_score

from usmo import PUSVC, PUSVCCV, path
from usmo.datasets import make_pu
from usmo.plots import PathDisplay

X, digit = load_digits(return_X_y=True)
X, truth = X / 16, digit == 8
y, prior = make_pu(truth, n_positives=50, random_state=0)
hidden = y == 0

search = PUSVCCV(PUSVC(prior=prior), lams=[0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003]).fit(X, y)
print(f"chosen λ {search.best_lam_:g}")

# %%
# The held-out risk, and the choice: the largest λ within one standard error of the smallest risk.

PathDisplay.from_estimator(search)

# %%
# Quality along the path, by the true classes:

lams = np.geomspace(0.3, 1e-4, 12)
models = path(PUSVC(prior=prior), X, y, lams=lams)
values = [model.decision_function(X[hidden]) for model in models]

figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
axis.plot(lams, [f1_score(truth[hidden], f > 0) for f in values], "o-", color="#d1495b", label="F1")
axis.plot(lams, [roc_auc_score(truth[hidden], f) for f in values], "s-", color="#00798c", label="AUC")
axis.axvline(search.best_lam_, color="black", linestyle="--", linewidth=1, label="chosen without negatives")
axis.set(xscale="log", xlabel="λ", title="On the hidden labels")
axis.legend(frameon=False)
plt.show()
