"""
What known negatives bring
==========================

Somebody has looked at some rows and found them negative. Most often these are the rows at the top of a ranking, so they
are not a random sample of the negatives. A supervised classifier takes them for one; the PU fit uses them beside the
unlabelled rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from usmo import PUSVC

X, digit = load_digits(return_X_y=True)
X, truth = X / 16, digit % 2 == 1  # odd digits are the positives
test = np.arange(len(X)) >= 1200
known = np.random.default_rng(0).permutation(np.flatnonzero(truth & ~test))[:20]
y = np.zeros(len(X), dtype=int)
y[known] = 1
train = ~test
prior = truth[train & (y == 0)].mean()

first = PUSVC(prior=prior).fit(X[train], y[train])
ranking = np.flatnonzero(train & (y == 0))
ranking = ranking[np.argsort(-first.decision_function(X[ranking]))]
from_the_top = ranking[~truth[ranking]]  # negatives in the order in which a reviewer meets them
at_random = np.random.default_rng(1).permutation(from_the_top)

# %%
# AUC on 597 held-out images:

counts = [5, 10, 20, 50, 100]
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for axis, (title, negatives) in zip(
    axes,
    {"negatives from the top of a ranking": from_the_top, "negatives at random": at_random}.items(),
    strict=True,
):
    pu, supervised = [], []
    for count in counts:
        labels = y.copy()
        labels[negatives[:count]] = -1
        pu.append(PUSVC(prior=prior).fit(X[train], labels[train]))
        rows = train & (labels != 0)
        supervised.append(SVC(class_weight="balanced").fit(X[rows], labels[rows]))
    for name, models, style, colour in (
        ("PUSVC", pu, "o-", "#d1495b"),
        ("SVC on the labelled rows", supervised, "s-", "#00798c"),
    ):
        auc = [roc_auc_score(truth[test], model.decision_function(X[test])) for model in models]
        axis.plot(counts, auc, style, color=colour, label=name)
    plain = roc_auc_score(truth[test], first.decision_function(X[test]))
    axis.axhline(plain, color="#999999", linestyle="--", linewidth=1, label="PUSVC without negatives")
    axis.set(xlabel="known negatives", xscale="log", title=title, xticks=counts, xticklabels=counts)
axes[0].set_ylabel("AUC")
axes[0].legend(frameon=False)
plt.show()
