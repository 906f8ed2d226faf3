"""
Screening documents
===================

Which of many documents belong into a literature review? One relevant document is known. Every row of the table has a
title and an abstract; the review joins them, ranks by words and topics, and refits after each answer. The documents are
docstrings of scikit-learn's estimators, and those of linear models are relevant. Figures on abstracts of papers are in
:doc:`the page on reviews </review>`.
"""

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from sklearn.utils.discovery import all_estimators

from usmo.review import RULES, Review

pairs = [(name, cls) for name, cls in all_estimators() if cls.__doc__]
relevant = np.array([cls.__module__.startswith("sklearn.linear_model") for _, cls in pairs])
texts = [cls.__doc__.split("Examples\n")[0] for _, cls in pairs]
table = pl.DataFrame({"title": [text.split("\n")[0] for text in texts], "abstract": texts})
print(f"{len(table):,} documents, {relevant.sum()} relevant")

labels = np.zeros(len(table), dtype=int)
labels[np.flatnonzero(relevant)[0]] = 1

# %%
# The loop, without a stopping rule that interferes. After every batch all rules are asked what they would say.

review = Review(table, labels, rule="irrelevant")
rules = {name: RULES[name]() for name in ("irrelevant", "estimate", "buscar")}
reviewed, found, ended = [0], [0], {}
while review.found < relevant.sum() - 1 or len(ended) < len(rules):
    rows = review.next(max(10, reviewed[-1] // 10))
    if not len(rows):
        break
    review.tell(rows, relevant[rows])
    reviewed.append(reviewed[-1] + len(rows))
    found.append(review.found)
    for name, rule in rules.items():
        if name not in ended and rule.verdict(review.course()).stop:
            ended[name] = reviewed[-1]

# %%
# The curve rises early: most of the work lies in making sure. A rule that stops early promises nothing.

wanted = int(relevant.sum()) - 1
figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
axes.plot(reviewed, found, color="#d1495b", lw=2, label="relevant documents found")
axes.plot([0, len(table)], [0, wanted], color="#9fb0c0", lw=1, label="random order")
for name, at in ended.items():
    recall = found[reviewed.index(at)] / wanted
    promise = "promises 95 %" if name == "buscar" else "promises nothing"
    axes.axvline(at, color="#00798c", lw=1, ls="--")
    axes.annotate(
        f"{name}: found {100 * recall:.0f} %\n{promise}", (at, 0.45 * wanted), xytext=(-3, 0),
        textcoords="offset points", rotation=90, ha="right", fontsize=8,
    )  # fmt: skip
axes.set(xlabel="documents reviewed", ylabel="relevant", xlim=(0, len(table)), ylim=(0, 1.05 * wanted))
axes.legend(loc="lower right")
plt.show()
