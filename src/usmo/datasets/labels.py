"""Hiding labels: a labelled table becomes one of labelled positives and unlabelled rows."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state

from usmo.metrics import check_scenario


def make_pu(
    y: Any,
    *,
    n_positives: int | None = None,
    fraction: float | None = None,
    scenario: Literal["case-control", "censored"] = "case-control",
    random_state: Any = None,
) -> tuple[np.ndarray, float]:
    """Keep the label of ``n_positives`` or a ``fraction`` of the positives; all other rows become unlabelled.

    Parameters
    ----------
    y : array
        True classes; the greater of its two values is positive.
    n_positives, fraction : int or float
        How many positives stay labelled; give exactly one of the two.
    scenario : {"case-control", "censored"}
        What the returned prior refers to: the unlabelled rows, or all rows.
    random_state : int, RandomState instance or None
        Seed of the choice.

    Returns
    -------
    labels : ndarray of int
        1 for labelled positives, 0 for unlabelled rows.
    prior : float
        The true share of positives for the scenario.
    """
    if (n_positives is None) == (fraction is None):
        raise ValueError(f"give either n_positives or fraction, got {n_positives} and {fraction}")
    check_scenario(scenario)
    classes, code = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"y must hold two values, got {len(classes)}")
    positives = np.flatnonzero(code == 1)
    count = round(fraction * len(positives)) if fraction is not None else int(n_positives or 0)
    if not 1 <= count <= len(positives):
        raise ValueError(f"between 1 and all {len(positives)} positives can stay labelled, got {count}")
    labels = np.zeros(len(code), dtype=np.int64)
    labels[check_random_state(random_state).permutation(positives)[:count]] = 1
    sample = code if scenario == "censored" else code[labels == 0]
    return labels, float(np.mean(sample == 1))
