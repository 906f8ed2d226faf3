"""
Finding documents by examples
=============================

The documents are the docstrings of scikit-learn's estimators. Eight linear models are known; which of the others are
linear models too? Words and pairs of words are columns, and the model is linear, so it says which words decide.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.utils.discovery import all_estimators

from usmo import LinearPUSVC

pairs = [(name, cls) for name, cls in all_estimators() if cls.__doc__]
names = np.array([name for name, _ in pairs])
documents = [cls.__doc__.split("Examples\n")[0] for _, cls in pairs]
relevant = np.array([cls.__module__.startswith("sklearn.linear_model") for _, cls in pairs])
print(f"{len(names)} documents, {relevant.sum()} of them about linear models")

# %%
# Eight of them are labelled.

rng = np.random.default_rng(1)
y = np.zeros(len(names), dtype=int)
y[rng.permutation(np.flatnonzero(relevant))[:8]] = 1
vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=3)
X = vectorizer.fit_transform(documents)
share = relevant[y == 0].mean()
model = LinearPUSVC(prior=share, lam=0.1).fit(X, y)
f = model.decision_function(X)
print("known:", ", ".join(names[y == 1]))
print(f"AUC on the others: {roc_auc_score(relevant[y == 0], f[y == 0]):.3f}")

# %%
# The ranking of the unlabelled documents, and the words with the largest coefficients:

unlabelled = np.flatnonzero(y == 0)
top = unlabelled[np.argsort(-f[unlabelled])][:25]
words, coef = vectorizer.get_feature_names_out(), model.coef_[0]
strong = np.argsort(-coef)[:15]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 6.5), layout="constrained")
colours = np.where(relevant[top], "#d1495b", "#9fb0c0")
bars = left.barh(range(len(top)), f[top], color=colours)
left.bar_label(bars, ["" if hit else " no" for hit in relevant[top]], fontsize=8)
left.set_yticks(range(len(top)), names[top], fontsize=8)
left.invert_yaxis()
left.set(xlabel="decision function", title="First 25 (no: not a linear model)")
right.barh(range(len(strong)), coef[strong], color="#00798c")
right.set_yticks(range(len(strong)), words[strong], fontsize=8)
right.invert_yaxis()
right.set(xlabel="coefficient", title="Words that speak for it")
plt.show()
