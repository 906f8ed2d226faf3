"""The choice of λ against folds fitted separately."""

import numpy as np
import pytest

from tests.fitting.moons import moons
from usmo import PUSVC, path
from usmo.core.table import Table
from usmo.core.targets import LabelRule
from usmo.fitting.select import select
from usmo.fitting.specification import Specification
from usmo.kernels.kernel import Kernel
from usmo.kernels.row_sampling import distinct_rows
from usmo.metrics import risk_with_error


def test_risks_of_the_selection_are_those_of_separate_fits():
    """Each fold is fitted by ``path`` on a table of its rows alone."""
    X, y, _, prior = moons(n_p=30, n_u=120)
    model = PUSVC(prior, gamma=0.7, tol=1e-5, threshold=0.0, class_weight=None)
    table = Table.of(X, y, LabelRule(np.array([0, 1]), 1), None, square=False)
    lams = [0.1, 0.01, 0.001]
    spec = Specification(Kernel("rbf", gamma=0.7), tol=1e-5)
    selection = select(table, spec, prior, [0.7], lams=lams, folds=3, seed=5)
    fold = np.empty(len(y), int)
    for rows in (table.labelled, table.unlabelled):  # dealt in the order of their keys
        fold[distinct_rows(X, rows, None, 5)[0]] = np.arange(len(rows)) % 3
    values = np.empty((3, len(y)))
    for k in range(3):
        kept = fold != k
        for j, fitted in enumerate(path(model, X[kept], y[kept], lams=lams)):
            values[j, ~kept] = fitted.decision_function(X[~kept])
    for j in range(3):
        risk, error = risk_with_error(y, values[j], prior=prior)
        assert selection.mean[0, j] == pytest.approx(risk, abs=0.02)
        assert selection.error[0, j] == pytest.approx(error, rel=0.1)
    assert selection.best_lam == lams[int(np.argmin(selection.mean[0]))]
    within = selection.mean[0] <= selection.mean.min() + selection.error[0, int(np.argmin(selection.mean[0]))]
    assert selection.lam == max(lam for lam, ok in zip(lams, within, strict=True) if ok)
