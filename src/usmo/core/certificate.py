"""The certificate of a solution: primal and dual value, their gap and the optimality conditions."""

from __future__ import annotations

from dataclasses import dataclass

from usmo.core.shards import Partial


@dataclass(frozen=True)
class Certificate:
    """How good a solution is, from decision values computed anew in float64.

    Attributes
    ----------
    primal, dual : float
        The two objectives in the scale of :mod:`usmo.core.problem`.
    gap : float
        ``primal - dual``. The primal value is at most this far above the optimum.
    relative_gap : float
        ``gap / max(1, |primal|)``.
    kkt_violation : float
        Largest violation of the optimality conditions, in units of the decision function. A dual variable within
        rounding of a bound or of its kink counts as being there.
    equality_residual : float
        ``|Σσ - Σb| / Σb``.
    convex : bool
        False if the kernel matrix shows negative curvature. The gap then measures the distance from a stationary
        point and does not bound the distance from the global optimum.
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    kkt_violation: float
    equality_residual: float
    convex: bool = True

    @classmethod
    def of(cls, parts: Partial, violation: float, beta: float, total: float, convex: bool) -> Certificate:
        """The certificate of β from the merged ``Problem.objective_parts``; ``total`` is Σb of all rows."""
        quad, loss, slack, concave, imbalance = parts.sums
        primal, gap = float(loss + 0.5 * quad), float(slack - beta * imbalance)
        return cls(
            primal=primal,
            dual=float(concave - 0.5 * quad),
            gap=gap,
            relative_gap=gap / max(1.0, abs(primal)),
            kkt_violation=violation,
            equality_residual=abs(float(imbalance)) / total,
            convex=convex,
        )
