"""Warnings about a finished fit: it stopped early, its kernel is indefinite, or its decision function is constant."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import ConvergenceWarning

from usmo.core.certificate import Certificate
from usmo.core.solution import Status
from usmo.fitting.certify import meets_tolerance
from usmo.system import caller

EQUAL_WITHIN = 4.0
"""Values that differ by no more than this multiple of the precision are not told apart by the fit."""

_EQUAL = 1e-6
"""Decision values closer than this count as equal."""

_INDIVISIBLE = 0.01
"""Difference between the prior and the share called positive from which a fit warns."""


def warn_if_short(status: Status, certificate: Certificate, tol: float) -> None:
    """Warn if a limit, a callback or rounding ended the fit, or if the kernel is indefinite.

    Solvers of linear models aim at a smaller gap than they must reach.
    """
    state = (
        f"the KKT violation is {certificate.kkt_violation:.2g} (tol={tol:g}), "
        f"the relative duality gap {certificate.relative_gap:.2g}"
    )
    if status in ("max_iter", "max_time"):
        advice = f"Raise {status}, or scale the columns of X"
        caller.warn(f"{status} ended the fit: {state}. {advice}.", ConvergenceWarning, topic="stopped-early")
    elif status == "stopped":
        caller.warn(f"a callback ended the fit: {state}.", ConvergenceWarning, topic="stopped-early")
    elif status == "precision" and not meets_tolerance(certificate, certificate.kkt_violation, tol):
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


def fit_precision(model: Any) -> float:
    """The difference of decision values up to which a fit does not tell rows apart."""
    certificate = getattr(model, "certificate_", None)
    return (
        EQUAL_WITHIN * (model.tol if certificate is None else min(model.tol, certificate.kkt_violation)) + _EQUAL
    )


def warn_if_constant(value_range: float, precision: float) -> bool:
    """Warn, and return True, if the decision values of the unlabelled rows differ by no more than the precision."""
    constant = value_range <= precision
    if constant:
        caller.warn(
            f"the decision function is constant: the unlabelled rows differ by {value_range:.1g} in it, and the fit is "
            f"precise to {precision:.1g}, so their order has no meaning. Lower lam, or use a kernel or columns that "
            "separate labelled from unlabelled rows; a linear kernel on few columns often does not.",
            topic="constant-decision-function",
        )
    return constant


def warn_if_indivisible(share: float, largest: float, prior: float) -> None:
    """Warn if equal rows, not the ``largest`` share of a single row, keep the share called positive off the prior."""
    if abs(share - prior) > max(_INDIVISIBLE, largest):
        caller.warn(
            f"{share:.3g} of the unlabelled rows are called positive, not the prior of {prior:.3g}: many rows have the "
            "same decision value at the threshold and cannot be told apart. They fall on the side nearer to the prior; "
            "columns with more different values would separate them.",
            topic="rows-that-cannot-be-told-apart",
        )
