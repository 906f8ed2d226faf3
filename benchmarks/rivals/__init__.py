"""Other methods, one file each, with ``fit(X, labels, prior, seed)``.

``labels`` is 1 for labelled positives and 0 for unlabelled rows. ``fit`` returns a decision function, positive for rows
called positive. All methods get the same rows, and the same rbf kernel (γ = "scale") if they use one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Fit = Callable[[Any, np.ndarray, float, int], Callable[[Any], np.ndarray]]


def rivals() -> dict[str, Fit]:
    """All methods of the comparison by name, ours first."""
    from benchmarks.rivals import (
        bagging_svm,
        balanced_svm,
        elkan_noto,
        naive_svm,
        nnpu_linear,
        one_class_svm,
        ramp,
        usmo_kernel,
        usmo_linear,
    )

    return {
        "PUSVC": usmo_kernel.fit,
        "LinearPUSVC": usmo_linear.fit,
        "RampPUSVC": ramp.fit,
        "SVC": naive_svm.fit,
        "SVC, balanced": balanced_svm.fit,
        "one-class SVM": one_class_svm.fit,
        "Elkan-Noto (SVC)": elkan_noto.fit,
        "bagging SVM": bagging_svm.fit,
        "nnPU linear": nnpu_linear.fit,
    }


def table_methods() -> dict[str, Callable[..., Any]]:
    """Methods for tables (:mod:`benchmarks.rivals.tables`) by name."""
    from benchmarks.rivals import tables

    return {
        "PU bagging of trees": tables.pu_bagging,
        "PU bagging, √d columns": partial(tables.pu_bagging, max_features="sqrt"),
        "random forest": tables.random_forest,
        "histogram boosting": tables.boosting,
        "logistic regression": tables.logistic,
    }
