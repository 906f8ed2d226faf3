"""
A table of numbers, categories, dates and gaps
==============================================

A customer table as it comes: numbers of different scales, categories, a date, missing values. ``TableEncoder`` makes a
matrix of it, as the command line does. ``usmo.files.save`` saves the whole pipeline in one file.
"""

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

from usmo import PUSVC
from usmo.columns import TableEncoder
from usmo.plots import ScoreDisplay

rng = np.random.default_rng(0)
n = 1200
churned = rng.random(n) < 0.25
table = pl.DataFrame(
    {
        "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(10 - 0.3 * churned, 0.4)),
        "calls": rng.poisson(1 + 3 * churned),
        "plan": np.where(rng.random(n) < 0.2 + 0.5 * churned, "prepaid", rng.choice(["family", "business"], n)),
        "since": [
            f"20{15 + int(k) % 9 + int(late):02d}-06-01"
            for k, late in zip(rng.integers(0, 9, n), churned, strict=True)
        ],
        "newsletter": rng.random(n) < 0.5,
    }
).with_columns(pl.col("income").fill_nan(None))
print(table.head())

# %%
# 60 customers are known to have left. The others may have left or not: nobody has asked them yet.

y = np.zeros(n, dtype=int)
y[rng.permutation(np.flatnonzero(churned))[:60]] = 1
hidden = y == 0

model = make_pipeline(TableEncoder(), PUSVC(random_state=0)).fit(table, y)
for column in model[0].columns_:
    print(column["name"], "→", column["kind"])
print(f"prior {model[-1].prior_:.3f} estimated, {churned[hidden].mean():.3f} in truth")
print(f"AUC on the unlabelled rows: {roc_auc_score(churned[hidden], model.decision_function(table)[hidden]):.3f}")

# %%
# The scores of known and of unlabelled customers:

ScoreDisplay.from_estimator(model[-1], model[0].transform(table), y)
plt.show()
