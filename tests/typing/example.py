"""A user's script: ``make test`` checks it with ``mypy --strict``, and the tests run it.

``assert_type`` fails if a type is Any. A ``type: ignore`` that hides no error is an error in strict mode, so every
mistake marked below must be one for mypy.
"""

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

from usmo import PUSVC, PUSVCCV, LinearPUSVC, OpenSetPUSVC, PUOutlierDetector, RampPUSVC, load, path

X: NDArray[np.float64] = np.linspace(-1.0, 1.0, 60)[:, None]
y: NDArray[np.bool_] = np.arange(60) >= 50


def main() -> None:
    # Parameters by name, as numbers and as the words that are accepted
    model = PUSVC(
        0.4, lam=0.01, kernel="rbf", gamma="scale", scenario="case-control", threshold="prior", solver="blocks",
        approximation=None,
    )  # fmt: skip
    PUSVC(prior="estimate", lam="cv", kernel="poly", gamma=0.5, scenario="censored", threshold=0.0, solver="usmo")
    PUSVC(kernel=lambda A, B: A @ B.T, approximation="nystroem", n_components=10)

    # fit returns the estimator; its results have types
    assert_type(model.fit(X, y), PUSVC)
    assert_type(model.decision_function(X), NDArray[np.float64])
    assert_type(model.predict_proba(X), NDArray[np.float64])
    assert_type(model.certificate_.relative_gap, float)
    assert_type(model.certificate_.convex, bool)
    assert_type(model.prior_, float)
    assert_type(model.lam_, float)
    assert_type(model.threshold_, float)
    assert_type(model.n_iter_, int)
    assert_type(model.intercept_, NDArray[np.float64])
    assert_type(model.dual_coef_, NDArray[np.float64])

    # The other classifiers, and functions that return them
    linear = LinearPUSVC(0.4, lam=0.1, scenario="case-control", threshold=0.0).fit(X, y)
    assert_type(linear, LinearPUSVC)
    assert_type(linear.coef_, NDArray[np.float64])
    assert_type(linear.certificate_.gap, float)
    assert_type(RampPUSVC(0.4, kernel="linear").fit(X, y), RampPUSVC)
    assert_type(PUSVCCV(PUSVC(0.4), rule="min").fit(X, y), PUSVCCV)
    assert_type(PUOutlierDetector(contamination=0.1).fit(X, y), PUOutlierDetector)
    assert_type(OpenSetPUSVC(priors=0.2).fit(X, np.where(y, 1, -1)).none_prior_, float)
    assert_type(path(PUSVC(0.4), X, y, lams=[0.1, 0.01]), list[PUSVC])
    assert_type(path(linear, X, y, lams=[0.1]), list[LinearPUSVC])

    # A file may hold any classifier or pipeline: the user says which
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.usmo")
        loaded: PUSVC = load(Path(folder) / "model.usmo")
        assert_type(loaded.certificate_.relative_gap, float)


def mistakes() -> None:
    """Values and names that a type checker must reject; scikit-learn's validation rejects them in ``fit``."""
    PUSVC(prior="guess")  # type: ignore[arg-type]
    PUSVC(lam="best")  # type: ignore[arg-type]
    PUSVC(kernel="gaussian")  # type: ignore[arg-type]
    PUSVC(gamma="scaled")  # type: ignore[arg-type]
    PUSVC(scenario="case-controll")  # type: ignore[arg-type]
    PUSVC(threshold="zero")  # type: ignore[arg-type]
    PUSVC(solver="blokcs")  # type: ignore[arg-type]
    PUSVC(approximation="nystrom")  # type: ignore[arg-type]
    PUSVC(lamda=0.1)  # type: ignore[call-arg]
    LinearPUSVC(scenario="cencored")  # type: ignore[arg-type]
    RampPUSVC(kernel="gaussian")  # type: ignore[arg-type]
    PUSVCCV(rule="best")  # type: ignore[arg-type]
    PUOutlierDetector(contamination="auto")  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
