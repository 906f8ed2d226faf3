"""
Digits that nobody has shown before
===================================

Labelled images of the digits 0 to 4, and unlabelled images of all ten. ``OpenSetPUSVC`` puts an image into one of the
five classes or into none of them. A classifier of the five alone must call every 7 something.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import ConfusionMatrixDisplay

from usmo import OpenSetPUSVC

X, digit = load_digits(return_X_y=True)
X = X / 16
truth = np.where(digit < 5, digit, -1)
rng = np.random.default_rng(0)
y = np.full(len(digit), -1)  # -1: unlabelled
for k in range(5):
    y[rng.permutation(np.flatnonzero(digit == k))[:40]] = k
hidden = y == -1

model = OpenSetPUSVC().fit(X, y)
found, chance = model.predict(X[hidden]), model.predict_proba(X[hidden])
print(f"accuracy over five classes and none: {np.mean(found == truth[hidden]):.3f}")
print(f"share of none: {model.none_prior_:.3f} estimated, {np.mean(truth[hidden] == -1):.3f} in truth")

# %%
# Which digits are taken for which, and how sure the model is of "none":

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
order = [*range(5), -1]
display = ConfusionMatrixDisplay.from_predictions(
    truth[hidden],
    found,
    labels=order,
    display_labels=[*map(str, range(5)), "none"],
    cmap="Blues",
    ax=left,
    colorbar=False,
)
left.set_title("True class and prediction")
bins = np.linspace(0, 1, 31)
right.hist(chance[truth[hidden] == -1, -1], bins=bins, color="#d1495b", alpha=0.85, label="digits 5 to 9")
right.hist(chance[truth[hidden] != -1, -1], bins=bins, color="#9fb0c0", alpha=0.85, label="digits 0 to 4")
right.set(xlabel='probability of "none of these"', ylabel="unlabelled images", title="How sure is it?")
right.legend(frameon=False, loc="upper center")
plt.show()
