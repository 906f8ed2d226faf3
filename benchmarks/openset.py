"""Open-set recognition: python -m benchmarks.openset [--draws 3] [--mnist]   (``--mnist`` needs USMO_DATA)

Of scikit-learn's digits (or 4,000 digits of MNIST) six classes are known, with 20 or 50 labelled images each. All other
images of the training half are unlabelled, those of four unseen digits among them. Measured on the other half: accuracy
over the six classes and "none of these", and the AUC of unseen against known digits. Last, the kernel rows that the
fits of the six classes compute, in rows of the training table: with one table for all, and class by class.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict

import numpy as np
from scipy.special import softmax
from scipy.stats import weibull_min
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from usmo import PUSVC, OpenSetPUSVC
from usmo.datasets.loading import table_file

NONE = -1
TAIL, TAIL_SHARE = 20, 4
"""Distances to which OpenMax fits its distribution: as many as its authors take, at most a quarter of a class."""


class Case:
    """One draw: labelled, unlabelled and test images. The truth is NONE for unseen digits."""

    def __init__(self, X: np.ndarray, digit: np.ndarray, labelled: int, draw: int) -> None:
        rng = np.random.default_rng(draw)
        self.known = np.sort(rng.permutation(10)[:6])
        truth = np.where(np.isin(digit, self.known), digit, NONE)
        train, test = train_test_split(np.arange(len(digit)), test_size=0.5, random_state=draw, stratify=digit)
        self.X, self.truth, self.test_X, self.test = X[train], truth[train], X[test], truth[test]
        self.y = np.full(len(train), NONE)
        for k in self.known:
            self.y[rng.permutation(np.flatnonzero(self.truth == k))[:labelled]] = k
        hidden = self.truth[self.y == NONE]
        self.shares = {int(k): float(np.mean(hidden == k)) for k in self.known}
        self.none_share = float(np.mean(hidden == NONE))

    def measured(self, found: np.ndarray, none_score: np.ndarray) -> tuple[float, float]:
        return accuracy_score(self.test, found), roc_auc_score(self.test == NONE, none_score)


def ours(case: Case, priors: object) -> tuple[float, float]:
    model = OpenSetPUSVC(priors=priors).fit(case.X, case.y)
    chance = model.predict_proba(case.test_X)
    return case.measured(model.classes_[chance.argmax(axis=1)], chance[:, -1])


def one_vs_rest(case: Case, at_share: bool) -> tuple[float, float]:
    """The greatest decision value of one-vs-rest, with a threshold at 0 or at the true share of unseen digits."""
    labelled = case.y != NONE
    model = OneVsRestClassifier(SVC(class_weight="balanced")).fit(case.X[labelled], case.y[labelled])
    f = model.decision_function(case.test_X)
    highest = model.decision_function(case.X[~labelled]).max(axis=1)
    threshold = np.quantile(highest, case.none_share) if at_share else 0.0
    found = np.where(f.max(axis=1) > threshold, model.classes_[f.argmax(axis=1)], NONE)
    return case.measured(found, -f.max(axis=1))


def open_max(case: Case) -> tuple[float, float]:
    """OpenMax (Bendale, Boult, CVPR 2016) on the decision values of one-vs-rest.

    A Weibull distribution of the largest distances between a class's decision values, cross-validated, and
    their mean tells how unusual a row is for that class. So much of the probability of the class goes to "none".
    """
    labelled = case.y != NONE
    X, y = case.X[labelled], case.y[labelled]
    model = OneVsRestClassifier(SVC(class_weight="balanced"))
    held_out = cross_val_predict(model, X, y, cv=5, method="decision_function")
    f = model.fit(X, y).decision_function(case.test_X)
    unusual = np.empty_like(f)
    for j, k in enumerate(model.classes_):
        centre = held_out[y == k].mean(axis=0)
        tail = np.sort(np.linalg.norm(held_out[y == k] - centre, axis=1))
        tail = tail[-min(TAIL, len(tail) // TAIL_SHARE) :]
        unusual[:, j] = weibull_min.cdf(np.linalg.norm(f - centre, axis=1), *weibull_min.fit(tail, floc=0.0))
    chance = softmax(f, axis=1)
    none = (chance * unusual).sum(axis=1)
    chance *= 1.0 - unusual
    found = np.where(none > chance.max(axis=1), NONE, model.classes_[chance.argmax(axis=1)])
    return case.measured(found, none)


def unlabelled_as_class(case: Case) -> tuple[float, float]:
    """An SVC for which unlabelled is one more class."""
    model = SVC(class_weight="balanced").fit(case.X, case.y)
    return case.measured(model.predict(case.test_X), model.decision_function(case.test_X)[:, 0])


def kernel_rows(case: Case) -> tuple[float, float]:
    """Kernel rows of the shared fit and of separate fits with the same γ and priors."""
    shared = OpenSetPUSVC(priors=case.shares).fit(case.X, case.y)
    alone = 0.0
    for k, model in zip(case.known, shared.estimators_, strict=True):
        rows = (case.y == k) | (case.y == NONE)
        gamma = 1.0 / (case.X.shape[1] * case.X.var())
        alone += (
            PUSVC(case.shares[int(k)], lam=model.lam, gamma=gamma)
            .fit(case.X[rows], case.y[rows] == k)
            .kernel_rows_
        )
    return sum(model.kernel_rows_ for model in shared.estimators_), alone


METHODS = {
    "OpenSetPUSVC": lambda case: ours(case, "estimate"),
    "  the same, true priors": lambda case: ours(case, case.shares),
    "one-vs-rest SVC, threshold 0": lambda case: one_vs_rest(case, False),
    "  the same, true share of unseen": lambda case: one_vs_rest(case, True),
    "OpenMax on one-vs-rest SVC": open_max,
    "SVC, unlabelled as a class": unlabelled_as_class,
}


def images(mnist: bool) -> tuple[np.ndarray, np.ndarray]:
    if not mnist:
        X, digit = load_digits(return_X_y=True)
        return X / 16.0, digit
    with np.load(table_file("mnist")) as stored:
        rows = np.random.default_rng(0).permutation(len(stored["y"]))[:4000]
        return stored["X"][rows] / 255.0, stored["y"][rows].astype(int)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--mnist", action="store_true")
    arguments = parser.parse_args()
    X, digit = images(arguments.mnist)
    for labelled in (20, 50):
        results: dict[str, list[tuple[float, float]]] = defaultdict(list)
        counted = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for draw in range(arguments.draws):
                case = Case(X, digit, labelled, draw)
                for method, measure in METHODS.items():
                    results[method].append(measure(case))
                counted.append(kernel_rows(case))
        print(f"{labelled} labelled images of each of six digits, mean of {arguments.draws} draws")
        for method, values in results.items():
            accuracy, auc = np.mean(values, axis=0)
            print(f"  {method:36s} accuracy {accuracy:.3f}   AUC of unseen {auc:.3f}")
        shared, alone = np.mean(counted, axis=0)
        print(f"  kernel rows of {len(case.y)}: {shared:.0f} shared, {alone:.0f} class by class")


if __name__ == "__main__":
    main()
