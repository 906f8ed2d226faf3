"""Warnings about a finished fit: it stopped early, its kernel is indefinite, or its decision function is constant."""

from __future__ import annotations

from sklearn.exceptions import ConvergenceWarning

from usmo.core.certificate import Certificate
from usmo.core.solution import Status
from usmo.estimators.threshold import EQUAL_WITHIN
from usmo.system import caller

_EQUAL = 1e-6
"""Decision values closer than this count as equal."""


def warn_if_short(status: Status, certificate: Certificate, tol: float) -> None:
    """Warn if a limit, a callback or rounding ended the fit, or if the kernel is indefinite."""
    state = (
        f"the KKT violation is {certificate.kkt_violation:.2g} (tol={tol:g}), "
        f"the relative duality gap {certificate.relative_gap:.2g}"
    )
    if status in ("max_iter", "max_time"):
        advice = f"Raise {status}, or scale the columns of X"
        caller.warn(f"{status} ended the fit: {state}. {advice}.", ConvergenceWarning, topic="stopped-early")
    elif status == "stopped":
        caller.warn(f"a callback ended the fit: {state}.", ConvergenceWarning, topic="stopped-early")
    elif status == "precision":
        caller.warn(
            f"rounding ended the fit before tol was met: {state}. Scale the columns of X (for example with "
            "StandardScaler) or raise lam.",
            ConvergenceWarning,
            topic="ended-by-rounding",
        )
    if not certificate.convex:
        caller.warn(
            "the kernel matrix is indefinite: the solution is a stationary point, and its duality gap does not "
            "bound the distance to the best one. Choose a positive semidefinite kernel.",
            topic="indefinite-kernel",
        )


def warn_if_constant(value_range: float, precision: float) -> None:
    """Warn if the decision values of the unlabelled rows differ by no more than their precision."""
    if value_range <= EQUAL_WITHIN * precision + _EQUAL:
        caller.warn(
            f"the decision function is constant: the unlabelled rows differ by {value_range:.1g} in it, with a KKT "
            f"violation of {precision:.1g}, so their order has no meaning. Lower lam, or use a kernel or columns that "
            "separate labelled from unlabelled rows; a linear kernel on few columns often does not.",
            topic="constant-decision-function",
        )
