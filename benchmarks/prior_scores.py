"""Classifiers that score rows for the prior estimate: python -m benchmarks.prior_scores   (USMO_DATA set)

On the first draw of every problem of ``benchmarks.priors``: |error| of the default estimator with the held-out scores
of each classifier. The first line is the default classifier.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.priors import problems, sample
from usmo.priors import DEFAULT, ESTIMATORS

CLASSIFIERS = {
    "radial features + logistic (default)": None,
    "logistic regression": make_pipeline(
        StandardScaler(), LogisticRegression(C=0.1, max_iter=300, class_weight="balanced")
    ),
    "random forest": RandomForestClassifier(100, min_samples_leaf=3, random_state=0),
    "gradient boosting": HistGradientBoostingClassifier(max_iter=60, random_state=0),
}

if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    warnings.simplefilter("ignore")
    every = [(scenario, *sample(name, prior, scenario, k)) for name, prior, scenario, k in problems(range(1))]
    print(f"{len(every)} problems{'':28s} mean |error|    bias   worst   seconds")
    for name, model in CLASSIFIERS.items():
        began = time.perf_counter()
        errors = [
            ESTIMATORS[DEFAULT](scenario=scenario, classifier=model, n_bootstrap=0).fit(X, labelled).prior_ - true
            for scenario, X, labelled, true in every
        ]
        e = np.array(errors)
        print(
            f"{name:40s} {np.abs(e).mean():8.3f} {e.mean():9.3f} {np.abs(e).max():7.2f} "
            f"{time.perf_counter() - began:9.0f}",
            flush=True,
        )
