"""
The prior, and what depends on it
=================================

How many positives are there? The estimators of ``usmo.priors`` answer from the labelled positives and the unlabelled
rows. The second picture shows what changes if the answer is wrong: the number of rows called positive, and hardly their
order.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from usmo import PUSVC
from usmo.datasets import make_pu
from usmo.plots import PriorDisplay, SensitivityDisplay
from usmo.priors import ESTIMATORS

X, benign = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
y, truth = make_pu(1 - benign, n_positives=60, random_state=0)

estimates = {
    name: ESTIMATORS[name](random_state=0).fit(X, y) for name in ("consensus", "best-bin", "dedpul", "elkan-noto")
}
for name, estimate in estimates.items():
    low, high = estimate.interval_
    print(f"{name:12s} {estimate.prior_:.3f}, between {low:.3f} and {high:.3f}")
print(f"{'truth':12s} {truth:.3f}")

# %%
# The estimates and their intervals; "consensus" is the default:

PriorDisplay.from_estimator(estimates, true=truth)

# %%
# The same model with other priors:

model = PUSVC(prior=truth).fit(X, y)
SensitivityDisplay.from_estimator(model, X, y)
plt.show()
