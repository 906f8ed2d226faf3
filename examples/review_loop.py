"""
A review of a table of numbers
==============================

1,797 images of digits, 64 numbers each, and one of them is known to be an eight. Somebody looks at the rows that the
ranking proposes and says yes or no; here the true labels answer. After every answer the model is fitted again. The
stopping rule says when random rows are worth more than ranked ones, and when the review may end.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from usmo.review import Review

X, digit = load_digits(return_X_y=True)
truth = digit == 8
labels = np.zeros(len(X), dtype=int)
labels[np.flatnonzero(truth)[0]] = 1
review = Review(X, labels)  # rule="audit": a recall of 95 % with 95 % confidence

reviewed, hits, most, random_rows = [0], [0], [int((labels == 0).sum())], []
while not (verdict := review.stop()).stop:
    rows = review.next(max(10, reviewed[-1] // 10))
    if verdict.phase == "audit":
        random_rows.append((reviewed[-1], reviewed[-1] + len(rows)))
    review.tell(rows, truth[rows])
    reviewed.append(reviewed[-1] + len(rows))
    hits.append(review.found)
    most.append(review.found + review.remaining().high)

wanted = int(truth.sum()) - 1
print(f"{review.found} of {wanted} eights found in {reviewed[-1]:,} of {len(X) - 1:,} rows")
print(f"{review.stop().sentence}: {review.found / wanted:.1%}")

# %%
# The ranking finds nearly all eights in a fifth of the rows. The promise costs more than the finding: random rows have
# to show that none is left where the ranking does not look. The upper line is the largest number of eights that
# ``remaining()`` does not rule out. Before the audit it assumes that the ranking is no worse than random order; in the
# shaded part it assumes nothing.

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
for k, (start, end) in enumerate(random_rows):
    axes.axvspan(start, end, color="#dfe7ee", lw=0, label="audit: random rows" if k == 0 else None)
axes.plot(reviewed, hits, color="#d1495b", lw=2, label="eights found")
axes.plot(reviewed, most, color="#00798c", ls="--", label="at most so many in all")
axes.plot([0, len(X)], [0, wanted], color="#9fb0c0", lw=1, label="random order")
axes.axhline(0.95 * wanted, color="#777777", lw=0.8, ls=":")
axes.annotate("95 %", (len(X), 0.95 * wanted), va="top", ha="right", color="#555555")
axes.set(xlabel="rows reviewed", ylabel="eights", xlim=(0, len(X)), ylim=(0, 1.5 * wanted))
axes.legend(loc="lower right")
plt.show()

# %%
# The first 24 rows of the review, with those that are eights in red: one example is enough to start, and the rejected
# rows teach the rest.

first = [entry.row for entry in review.history()][:24]
figure, grid = plt.subplots(2, 12, figsize=(10, 2), layout="constrained")
for axes, row in zip(grid.ravel(), first, strict=True):
    axes.imshow(X[row].reshape(8, 8), cmap="Reds" if truth[row] else "Greys")
    axes.set_axis_off()
plt.show()
