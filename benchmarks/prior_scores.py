"""Which classifier scores rows best for the best-bin prior estimate: python -m benchmarks.prior_scores

Twelve tables × true π of 0.1, 0.3, 0.5, 0.7, three tenths of the positives labelled; |error| of the estimate
by the classifier whose held-out scores it uses. The first line is what ``usmo.priors.BestBin`` does.
"""

from __future__ import annotations

import time
from unittest import mock

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from usmo import priors
from usmo.datasets import SMALL, load

TABLES = [name for name in SMALL if name not in ("heart", "house")]  # the same rows as two of the others
RIVALS = {
    "radial features + logistic (default)": None,
    "logistic regression": make_pipeline(
        StandardScaler(), LogisticRegression(C=0.1, max_iter=300, class_weight="balanced")
    ),
    "random forest": RandomForestClassifier(100, min_samples_leaf=3, class_weight="balanced", random_state=0),
    "gradient boosting": HistGradientBoostingClassifier(max_iter=60, class_weight="balanced", random_state=0),
}


def cases():
    tables = {name: load(name) for name in TABLES}
    X, y = load_digits(return_X_y=True)
    tables["digits"] = X, (y == 3).astype(int)
    X, y = load_breast_cancer(return_X_y=True)
    tables["breast cancer"] = X, 1 - y
    for X, y in tables.values():
        for prior in (0.1, 0.3, 0.5, 0.7):
            rng = np.random.default_rng(int(100 * prior))
            positive, negative = rng.permutation(np.flatnonzero(y == 1)), rng.permutation(np.flatnonzero(y == 0))
            count = max(20, int(0.3 * len(positive)))
            labelled, rest = positive[:count], positive[count:]
            size = int(min(len(rest) / prior, len(negative) / (1 - prior)))
            hidden = round(prior * size)
            rows = np.concatenate([labelled, rest[:hidden], negative[: size - hidden]])
            yield X[rows], np.arange(len(rows)) < count, hidden / size


if __name__ == "__main__":
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    every = list(cases())
    print(f"{len(every)} problems{'':28s} mean |error|    bias   worst   seconds")
    for name, model in RIVALS.items():

        def scores(X, labelled, weight, keys, k, model=model):
            return cross_val_predict(model, X, labelled, cv=folds, method="predict_proba")[:, 1]

        began, errors = time.perf_counter(), []
        for X, labelled, true in every:
            own = mock.patch.object(
                priors, "_held_out_scores", scores if model is not None else priors._held_out_scores
            )
            with own:
                errors.append(priors.BestBin().fit(X, labelled).prior_ - true)
        e = np.array(errors)
        print(
            f"{name:40s} {np.abs(e).mean():8.3f} {e.mean():9.3f} {np.abs(e).max():7.2f} "
            f"{time.perf_counter() - began:9.0f}",
            flush=True,
        )
