"""
Few rows, thousands of columns, several rows per patient
========================================================

Tables from biology have few rows and thousands of columns, of which some matter; and several rows often come from one
patient. Here 60 patients gave four samples each, with 2,000 expression values; 100 genes differ a little between the
classes. 30 samples of diseased patients are known. The linear kernel needs no copy of the table, and its coefficients
rank the genes.

Samples of one patient resemble each other more than samples of one class do. ``groups`` names the patient of each
sample: samples of one patient are then held out together where λ is chosen. Without it, held-out samples look easier
to rank than samples of new patients are.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from usmo import PUSVC
from usmo.metrics import pu_roc_auc

patients, new_patients, genes, informative = 60, 60, 2000, 100
patient = np.repeat(np.arange(patients + new_patients), 4)
diseased = patient % 5 < 2
old = patient < patients


def draw(seed):
    """Samples of all patients, and labels of the first 60."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(patients + new_patients, genes))[patient]
    X = own + 0.3 * rng.normal(size=own.shape)
    X[np.ix_(diseased, np.arange(informative))] += 0.35
    X = StandardScaler().fit(X[old]).transform(X) / np.sqrt(genes)  # rows of length 1
    y = np.zeros(np.count_nonzero(old), dtype=int)
    y[rng.permutation(np.flatnonzero(diseased[old]))[:30]] = 1
    return X, y


# %%
# Eight draws of the table. The AUC on held-out rows needs no negatives; new patients tell how good it is in truth.

claims = {"samples held out": [], "patients held out": []}
truths = []
for seed in range(8):
    X, y = draw(seed)
    share = diseased[old][y == 0].mean()
    for name, groups in zip(claims, (None, patient[old]), strict=True):
        model = PUSVC(kernel="linear", prior=share, lam="cv").fit(X[old], y, groups=groups)
        rows, held_out = model.selection_.rows, model.selection_.held_out
        claims[name].append(pu_roc_auc(y[rows], held_out, prior=share))
    truths.append(roc_auc_score(diseased[~old], model.decision_function(X[~old])))
for name, values in claims.items():
    print(f"{name}: mean AUC {np.mean(values):.2f}")
print(f"new patients: mean AUC {np.mean(truths):.2f}")

# %%
# Left, what the held-out rows promise against what new patients show. Right, the genes with the largest coefficients of
# the last model, and how many of the informative ones are among them.

order = np.argsort(-np.abs(model.coef_[0]))
found = np.cumsum(order < informative)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot([0.4, 1], [0.4, 1], color="#999999", linestyle="--", linewidth=1)
for (name, values), colour, marker in zip(claims.items(), ("#d1495b", "#00798c"), "^o", strict=True):
    left.scatter(truths, values, color=colour, marker=marker, label=name)
left.set(xlabel="AUC on new patients", ylabel="AUC on held-out rows", title="Promised and true")
left.set(aspect="equal", ylim=(0.28, 1.02))
left.legend(frameon=False, loc="lower right")
right.plot(np.arange(1, 401), found[:400], color="#00798c", label="model")
right.plot(
    [0, 400], [0, 400 * informative / genes], color="#999999", linestyle="--", linewidth=1, label="by chance"
)
right.set(
    xlabel="genes with the largest coefficients", ylabel="informative ones among them", title="Ranking of genes"
)
right.legend(frameon=False, loc="lower right")
plt.show()
