"""The certificate of a solution: primal and dual value, their gap and the optimality conditions."""

from __future__ import annotations

from dataclasses import dataclass

from usmo.core.shards import Partial


@dataclass(frozen=True)
class Certificate:
    """How good a solution is, from decision values computed anew.

    Attributes
    ----------
    primal, dual : float
        The two objectives in the scale of :mod:`usmo.core.problem`.
    gap : float
        ``primal - dual`` plus ``rounding``. The primal value is at most this far above the optimum.
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
    precision : {"float64", "float32 with bounds"}
        Float type of the kernel values. Large Gaussian fits are certified in float32: each decision value has a bound
        on its rounding error (:mod:`usmo.kernels.bounded`), and rows that these bounds do not keep away from every
        kink of their loss are computed again in float64. Primal and dual value are then float32 sums. On wide tables
        kernel rows that are still in memory are used, if the decision values that they give agree with those computed
        from the table on a sample of 512 rows.
    rounding : float
        The most that rounding of float32 kernel values can add to the gap; 0 for "float64".
    """

    primal: float
    dual: float
    gap: float
    relative_gap: float
    kkt_violation: float
    equality_residual: float
    convex: bool = True
    precision: str = "float64"
    rounding: float = 0.0

    @classmethod
    def of(
        cls, parts: Partial, violation: float, beta: float, total: float, convex: bool, precision: str = "float64"
    ) -> Certificate:
        """The certificate of β from the merged ``Problem.objective_parts``; ``total`` is Σb of all rows."""
        quad, loss, slack, concave, imbalance, rounding = parts.sums
        primal, gap = float(loss + 0.5 * quad), float(slack + rounding - beta * imbalance)
        return cls(
            primal=primal,
            dual=float(concave - 0.5 * quad),
            gap=gap,
            relative_gap=gap / max(1.0, abs(primal)),
            kkt_violation=violation,
            equality_residual=abs(float(imbalance)) / total,
            convex=convex,
            precision=precision,
            rounding=float(rounding),
        )
