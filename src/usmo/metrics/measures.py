"""Recall, precision, F1, false positive rate, risks and AUC from P, U and π (equations: :mod:`usmo.metrics`)."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from usmo.core.arrays import Array
from usmo.core.dual import loss as unlabelled_loss
from usmo.core.labels import ClassWeight, Risk, check_class_weight, labelled_propensity
from usmo.core.weights import scaled
from usmo.metrics.sample import (
    PUSample,
    above_threshold,
    checked_prior,
    checked_values,
    checked_weights,
    combined,
)

LOSSES = ("double hinge", "zero-one")
"""Losses that :func:`risk_with_error` accepts."""


def pu_recall(
    y: Any, f: Any, *,
    prior: float | None = None, scenario: str = "case-control", threshold: float = 0.0, sample_weight: Any = None,
) -> float:  # fmt: skip
    """Recall r = P_P(f > threshold): the share of the labelled positives that are called positive.

    Unbiased if P is a random sample of the positives. ``prior`` and ``scenario`` have no effect; they give all
    measures the same signature.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Two values: the greater marks labelled positives, the other unlabelled rows. Or 1, 0 and -1 for positives,
        unlabelled rows and known negatives.
    f : array of shape (n_samples,)
        Decision values, greater for rows more likely positive.
    prior : float
        π in (0, 1), the share of positives among the unlabelled rows ("case-control") or all rows ("censored"). Here it
        may be left out.
    scenario : {"case-control", "censored"}, default="case-control"
        How the rows were drawn; see :mod:`usmo.metrics`.
    threshold : float, default=0.0
        Rows with f above it are called positive.
    sample_weight : array of shape (n_samples,), optional
        A row of weight two counts as two equal rows; a row of weight zero is ignored.
    """
    checked_prior(prior, needed=False)
    return PUSample.of(y, f, scenario, sample_weight).shares(threshold)[0]


def pu_precision(
    y: Any, f: Any, *,
    prior: float, scenario: str = "case-control", threshold: float = 0.0, sample_weight: Any = None,
) -> float:  # fmt: skip
    """Precision π·r/q: the share of true positives among the rows of U called positive.

    Consistent, as a ratio of unbiased estimates. Clipped to [0, 1]: in the population q ≥ π·r, so a smaller q of a
    small sample is replaced by π·r. 0 if no row is called positive. Parameters as for :func:`pu_recall`.
    """
    prior = checked_prior(prior)
    r, q = PUSample.of(y, f, scenario, sample_weight).shares(threshold, prior)
    return prior * r / max(q, prior * r) if r > 0 else 0.0


def pu_f1(
    y: Any, f: Any, *,
    prior: float, scenario: str = "case-control", threshold: float = 0.0, sample_weight: Any = None,
) -> float:  # fmt: skip
    """F1 = 2·π·r / (q + π), the harmonic mean of precision and recall.

    Consistent. Clipped to [0, 1] as :func:`pu_precision` is: q is at least π·r. The value for the same rows grows
    with π, so it is only as good as π. Parameters as for :func:`pu_recall`.
    """
    prior = checked_prior(prior)
    r, q = PUSample.of(y, f, scenario, sample_weight).shares(threshold, prior)
    return 2.0 * prior * r / (max(q, prior * r) + prior)


def pu_false_positive_rate(
    y: Any, f: Any, *,
    prior: float, scenario: str = "case-control", threshold: float = 0.0, sample_weight: Any = None,
) -> float:  # fmt: skip
    """False positive rate (q - π·r) / (1-π): the share of the negatives that are called positive.

    Unbiased before it is clipped to [0, 1]; clipping makes rates near 0 slightly too great on average. A value of 0
    means "too small to see in this sample". Parameters as for :func:`pu_recall`.
    """
    prior = checked_prior(prior)
    r, q = PUSample.of(y, f, scenario, sample_weight).shares(threshold, prior)
    return min(max((q - prior * r) / (1.0 - prior), 0.0), 1.0)


def pu_zero_one_risk(
    y: Any, f: Any, *,
    prior: float, scenario: str = "case-control", threshold: float = 0.0, nonnegative: bool = False,
    sample_weight: Any = None,
) -> float:  # fmt: skip
    """Probability of a wrong class, 2·π·(1-r) + q - π.

    Unbiased and not clipped: in a small sample it may be negative. With ``nonnegative`` the term of the negatives
    is clipped at zero, π·(1-r) + max(0, q - π·r): never negative, slightly too great on average, and more robust
    to a model that has memorised which rows are labelled. Other parameters as for :func:`pu_recall`.
    """
    prior = checked_prior(prior)
    r, q = PUSample.of(y, f, scenario, sample_weight).shares(threshold, prior)
    negatives = q - prior * r
    return prior * (1.0 - r) + (max(0.0, negatives) if nonnegative else negatives)


def pu_double_hinge_risk(
    y: Any, f: Any, *, prior: float, scenario: str = "case-control", sample_weight: Any = None
) -> float:
    """π·mean_P(-f) + mean_U max(0, f, (1+f)/2): what the solvers minimise, without the penalty.

    The unbiased estimate of the expected double hinge loss max(-z, 0, (1-z)/2). Not clipped: on training rows it
    can be negative. It depends on the scale of f, so use it to compare decision functions of the same family, for
    example along λ. Parameters as for :func:`pu_recall`, without a threshold.
    """
    prior = checked_prior(prior)
    sample = PUSample.of(y, f, scenario, sample_weight)
    composite, opposite = _losses("double hinge", sample.f, 0.0)
    return prior * sample.mean_p(composite) + sample.mean_u(opposite)


def pu_roc_auc(
    y: Any, f: Any, *, prior: float, scenario: str = "case-control", sample_weight: Any = None
) -> float:
    """Area under the ROC curve of positives against negatives, (AUC_PU - π/2) / (1-π).

    AUC_PU is the area of P against U; ties count one half. Unbiased before it is clipped to [0, 1]. Which of two
    models is better on the same rows does not depend on π; the value does, and its error is that of AUC_PU times
    1/(1-π). Parameters as for :func:`pu_recall`, without a threshold.
    """
    prior = checked_prior(prior)
    sample = PUSample.of(y, f, scenario, sample_weight)
    auc = (sample.mean_p(_shares_below(sample, sample.unlabelled)) - 0.5 * prior) / (1.0 - prior)
    if sample.negative.any():
        # how often a positive lies above a row: its variance over U and over N is that of the two areas
        above = 1.0 - _shares_below(sample, sample.labelled)
        variances = [
            _variance(above[rows], sample.weight[rows]) / sample.size(rows) + 1e-12
            for rows in (sample.unlabelled, sample.negative)
        ]
        own = sample.mean_p(_shares_below(sample, sample.negative))
        auc = combined(auc, variances[0] / (1.0 - prior) ** 2, own, variances[1])
    return min(max(auc, 0.0), 1.0)


def _variance(values: Array, weight: Array) -> float:
    """The weighted variance."""
    return float(np.average((values - np.average(values, weights=weight)) ** 2, weights=weight))


def _shares_below(sample: PUSample, rows: Any) -> Array:
    """For every row the share of ``rows`` with a smaller f."""
    return share_below(sample.f, sample.f[rows], sample.weight[rows])


def share_below(values: Array, others: Array, weight: Array) -> Array:
    """For each value the share of the weight of ``others`` that are smaller; equal ones count one half."""
    order = np.argsort(others, kind="stable")
    below = np.append(0.0, np.cumsum(weight[order])) / weight.sum()
    less, at_most = (below[np.searchsorted(others[order], values, side=side)] for side in ("left", "right"))
    return 0.5 * (less + at_most)


def lee_liu(
    y: Any, f: Any, *,
    prior: float | None = None, scenario: str = "case-control", threshold: float = 0.0, sample_weight: Any = None,
) -> float:  # fmt: skip
    """The criterion of Lee and Liu (ICML 2003), r²/q = precision·recall/π.

    Needs no π (``prior`` has no effect): for comparing models on the same rows if π is not known. It is high where
    F1 is high and at most 1/π; the value alone means nothing. 0 if no row of U is called positive. Other
    parameters as for :func:`pu_recall`.
    """
    checked_prior(prior, needed=False)
    r, q = PUSample.of(y, f, scenario, sample_weight).shares(threshold)
    return r * r / q if q > 0 else 0.0


def risk_with_error(
    y: Any, f: Any, *,
    prior: float, scenario: str = "case-control", threshold: float = 0.0, sample_weight: Any = None,
    loss: str = "double hinge", class_weight: ClassWeight = None, eta: float = 0.0, propensity: Any = None,
) -> tuple[float, float]:  # fmt: skip
    """The unbiased risk and its standard error.

    The PU risk is π·mean_P(a) + mean_U(b) with a = ℓ(f) - ℓ(-f) and b = ℓ(-f). In general it is

        π·mean_P[w₊·ℓ(f) - (1-η)·w₋·ℓ(-f)]  +  (1-η)·w₋·mean_U ℓ(-f)  +  η·w₋·(1-π)·mean_N ℓ(-f)

    with costs w₋ and w₊ and the share η of the PN risk. The influence of a row is, for each part that it is in, the
    factor of the part times (value - mean)/size; error² is the sum of their squares. In "censored" the labelled rows
    are in P and in U, which adds a covariance. Variances divide by n - 1. π is treated as exact.

    Parameters
    ----------
    loss : {"double hinge", "zero-one"}, default="double hinge"
        The loss ℓ.
    class_weight : None, "balanced" or {0: w₋, 1: w₊}, default=None
        The costs of the two errors, as for :class:`usmo.PUSVC`.
    eta : float, default=0.0
        η from 0 to 1, used if y has known negatives.
    propensity : float or array, optional
        The probability of a label for each row, if it was a positive; those of labelled rows are used.
    y, f, prior, scenario, threshold, sample_weight
        As for :func:`pu_recall`; ``prior`` is needed, and ``threshold`` applies to "zero-one" only. Integer weights are
        numbers of equal rows; other weights enter the error squared.

    Returns
    -------
    risk, standard_error : float
        The error is NaN if there are fewer than two labelled or two unlabelled rows.
    """
    prior = checked_prior(prior)
    if loss not in LOSSES:
        raise ValueError(f"loss must be 'double hinge' or 'zero-one', got {loss!r}")
    check_class_weight(class_weight)
    if isinstance(eta, bool) or not isinstance(eta, Real) or not 0.0 <= eta <= 1.0:
        raise ValueError(f"eta must be a number from 0 to 1, got {eta!r}")
    sample = PUSample.of(y, f, scenario, sample_weight)
    in_p = sample.weight
    if propensity is not None:
        in_p = sample.weight.copy()
        in_p[sample.labelled] /= labelled_propensity(propensity, len(y), sample.rows[sample.labelled])
    return risk_of_sample(sample, in_p, prior, Risk(scenario, class_weight, eta), loss, threshold)


def risk_of_sample(
    sample: PUSample, in_p: Array, prior: float, risk: Risk, loss: str = "double hinge", threshold: float = 0.0
) -> tuple[float, float]:
    """The same for checked values; ``in_p`` are the weights of the rows as labelled positives."""
    low, high = risk.costs(prior)
    eta = risk.eta if sample.negative.any() else 0.0
    composite, opposite = _losses(loss, sample.f, threshold)
    parts = [
        (sample.labelled, high * composite + (high - (1.0 - eta) * low) * opposite, prior, in_p),
        (sample.unlabelled, opposite, (1.0 - eta) * low, sample.weight),
    ]
    if eta > 0.0:
        parts.append((sample.negative, opposite, eta * low * (1.0 - prior), sample.weight))
    total_risk, influence, enough = 0.0, np.zeros(len(sample.f)), True
    for rows, values, share, weight in parts:
        mean = float(np.average(values[rows], weights=weight[rows]))
        total_risk += share * mean
        total, size = float(weight[rows].sum()), sample.size(rows)
        enough &= size >= 2
        relative = weight[rows] / sample.weight[rows]
        influence[rows] += (
            share * relative * (values[rows] - mean) / total * math.sqrt(size / max(size - 1.0, 1.0))
        )
    weight = sample.weight if sample.integer_weights else sample.weight**2
    return total_risk, math.sqrt(float(weight @ influence**2)) if enough else math.nan


def prior_threshold(f_u: Any, prior: float, *, sample_weight: Any = None) -> float:
    """The threshold t with P_U(f > t) = π, which calls as many rows positive as there are positives.

    For decision functions without a meaningful zero: rankings, probabilities of being labelled, and the double
    hinge with strong regularisation, which keeps f near one value. Rows with equal f stay together, so the share
    above t is the nearest to π that is possible, of two equally near ones the smaller. t is the midpoint between
    two neighbouring values of f; the largest value if no row lies above t, just below the smallest if all do.

    Parameters
    ----------
    f_u : array
        Decision values of U: the unlabelled rows, in the censored scenario all rows.
    prior : float
        π in (0, 1).
    sample_weight : array, optional
        Weight of each row.
    """
    prior = checked_prior(prior)
    f = checked_values(f_u, "f_u")
    weight = scaled(checked_weights(f, sample_weight))
    if not weight.sum() > 0:
        raise ValueError("f_u must hold at least one row of positive weight, got none")
    values, group = np.unique(f[weight > 0], return_inverse=True)
    mass = np.bincount(group, weights=weight[weight > 0])
    # share[k]: the share of rows with f ≥ values[k]
    share = np.append(np.cumsum(mass[::-1])[::-1], 0.0) / mass.sum()
    distance = np.abs(share - prior)
    k = int(np.flatnonzero(distance <= distance.min() + 1e-12)[-1])
    if k == 0:
        return float(np.nextafter(values[0], -np.inf))
    if k == len(values):
        return float(values[-1])
    low, high = float(values[k - 1]), float(values[k])
    middle = 0.5 * low + 0.5 * high
    # neighbouring floats have no midpoint
    return middle if low <= middle < high else low


def _losses(loss: str, f: Array, threshold: float) -> tuple[Array, Array]:
    """ℓ(f) - ℓ(-f) and ℓ(-f) for every row."""
    if loss == "double hinge":
        return -f, unlabelled_loss(f)
    above = above_threshold(f, threshold).astype(np.float64)
    return 1.0 - 2.0 * above, above
