"""
Few rows, thousands of columns
==============================

Tables from biology have tens of rows and thousands of columns, of which a few matter. Here 120 samples have 3,000
expression values; 100 genes differ between the classes. 15 diseased samples are known. The linear kernel needs no copy
of the table, and its coefficients rank the genes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from usmo import PUSVC

rng = np.random.default_rng(0)
samples, genes, informative = 120, 3000, 100
diseased = np.arange(samples) < 50
X = rng.normal(size=(samples, 40)) @ rng.normal(size=(40, genes)) * 0.1 + rng.normal(size=(samples, genes))
X[np.ix_(diseased, np.arange(informative))] += 1.0
X = StandardScaler().fit_transform(X) / np.sqrt(genes)  # rows of length 1
y = np.zeros(samples, dtype=int)
y[:15] = 1
hidden = y == 0

model = PUSVC(kernel="linear", prior=35 / 105, lam=0.02).fit(X, y)
f = model.decision_function(X)
print(f"AUC on the {hidden.sum()} unlabelled samples: {roc_auc_score(diseased[hidden], f[hidden]):.3f}")
print(f"relative duality gap {model.certificate_.relative_gap:.1e}")

# %%
# The coefficients, and how many of the informative genes are among the largest:

size = np.abs(model.coef_[0])
order = np.argsort(-size)
found = np.cumsum(order < informative)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for truth, name, colour in ((False, "healthy", "#9fb0c0"), (True, "diseased", "#d1495b")):
    left.hist(
        f[hidden & (diseased == truth)],
        bins=np.linspace(f.min(), f.max(), 25),
        color=colour,
        alpha=0.85,
        label=name,
    )
left.axvline(0, color="black", linewidth=1)
left.set(xlabel="decision function", ylabel="unlabelled samples", title="Scores by true class")
left.legend(frameon=False)
right.plot(np.arange(1, 401), found[:400], color="#00798c")
right.axhline(informative, color="#999999", linestyle="--", linewidth=1)
right.set(
    xlabel="genes with the largest coefficients", ylabel="informative ones among them", title="Ranking of genes"
)
plt.show()
