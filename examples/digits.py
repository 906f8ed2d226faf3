"""
Handwritten digits
==================

Find a handwritten digit from a few labelled examples and many unlabelled images.

The data are the 1,797 images that come with scikit-learn. 40 images of the digit are labelled, all others unlabelled.
The script prints the estimated prior, the certificate and the quality on the hidden labels, compares with an SVM that
treats unlabelled images as negative, and saves a picture.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score
from sklearn.svm import SVC

from usmo import PUSVC
from usmo.datasets import make_pu


def main(digit: int, known_images: int, save: Path | None) -> None:
    """Fit, print the comparison, draw, and save the picture if a path is given."""
    X, target = load_digits(return_X_y=True)
    X, truth = X / 16.0, (target == digit).astype(int)
    known, true_prior = make_pu(truth, n_positives=known_images, random_state=0)
    hidden = known == 0

    model = PUSVC().fit(X, known)
    naive = {
        "SVC, unlabelled = negative": SVC().fit(X, known),
        "  the same, balanced": SVC(class_weight="balanced").fit(X, known),
    }

    low, high = model.prior_interval_
    certificate = model.certificate_
    print(f"Known: {known.sum()} images of a {digit}. Unlabelled: {hidden.sum()} images.\n")
    print(f"prior        {model.prior_:.3f} estimated, between {low:.3f} and {high:.3f} (true: {true_prior:.3f})")
    print(
        f"certificate  the objective is within {100 * certificate.relative_gap:.4f} % of the optimum "
        f"(gap {certificate.gap:.1e}, KKT violation {certificate.kkt_violation:.1e})"
    )
    print(f"work         {model.n_iter_} rounds, {model.kernel_rows_:.0f} kernel rows of {hidden.sum()}\n")
    print(f"On the {hidden.sum()} hidden labels        F1  precision  recall    AUC")
    for name, estimator in ({"usmo.PUSVC": model} | naive).items():
        f, y = estimator.decision_function(X[hidden]), truth[hidden]
        positive = f > 0
        print(
            f"{name:28s}  {f1_score(y, positive):.3f}      {precision_score(y, positive, zero_division=0):.3f}   "
            f"{recall_score(y, positive):.3f}  {roc_auc_score(y, f):.3f}"
        )
    figure = draw(model, X, truth, known, digit)
    if save is not None:
        save.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(save, dpi=130)
        print(f"\npicture saved to {save}")


def draw(model: PUSVC, X: np.ndarray, truth: np.ndarray, known: np.ndarray, digit: int) -> Figure:
    """Draw the scores of the unlabelled images by hidden class, and the images with the highest f and f nearest 0."""
    f, hidden = model.decision_function(X), known == 0
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", width_ratios=[1.35, 1])
    bins = np.linspace(f.min(), f.max(), 50)
    for positive, name, colour in (
        (0, "unlabelled, other digits", "#9fb0c0"),
        (1, f"unlabelled, truly a {digit}", "#d1495b"),
    ):
        left.hist(f[hidden & (truth == positive)], bins=bins, label=name, color=colour, alpha=0.85)
    left.axvline(0.0, color="black", linewidth=1, label="decision threshold")
    ticks = f[~hidden]
    left.plot(
        ticks,
        np.full(len(ticks), -4.0),
        "|",
        color="#00798c",
        markersize=8,
        label=f"known images of a {digit}",
    )
    left.set(xlabel="decision function f(x)", ylabel="images", title="Scores of the unlabelled images")
    left.legend(frameon=False, fontsize=9)
    left.spines[["top", "right"]].set_visible(False)

    unlabelled = np.flatnonzero(hidden)
    ranked = unlabelled[np.argsort(-f[unlabelled])]
    doubtful = unlabelled[np.argsort(np.abs(f[unlabelled]))]
    rows = [ranked[:8], ranked[8:16], ranked[16:24], doubtful[:8], doubtful[8:16], doubtful[16:24]]
    tile = np.ones((len(rows) * 9 + 4, 8 * 9 + 1))
    for r, images in enumerate(rows):
        top = r * 9 + 1 + 3 * (r >= 3)
        for c, image in enumerate(images):
            tile[top : top + 8, c * 9 + 1 : c * 9 + 9] = 1.0 - X[image].reshape(8, 8)
    right.imshow(tile, cmap="gray")
    right.set_yticks([13, 43], ["highest f", "f nearest 0"], rotation=90, va="center")
    right.set_xticks([])
    right.spines[:].set_visible(False)
    right.tick_params(length=0)
    right.set_title("Surest positives, and the doubtful")
    return figure


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Find a handwritten digit among unlabelled images.")
    parser.add_argument("--digit", type=int, default=3, choices=range(10))
    parser.add_argument("--known", type=int, default=40, help="images of the digit whose label is known")
    parser.add_argument("--save", type=Path, default=None, help="where to save the picture")
    arguments = parser.parse_args()
    main(arguments.digit, arguments.known, arguments.save)
