"""Recall, precision, F1, false positive rate, risks and AUC from P, U and π; the equations are in the package."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from usmo.core.arrays import Array
from usmo.core.problem import unlabelled_loss
from usmo.metrics.sample import PUSample, above_threshold, checked_prior, checked_values, checked_weights

LOSSES = ("double hinge", "zero-one")


def pu_recall(
    y: Any, f: Any, *,
    prior: float | None = None, scenario: str = "case-control", threshold: float = 0.0, sample_weight: Any = None,
) -> float:  # fmt: skip
    """Recall r = P_P(f > threshold): the share of the labelled positives that are called positive.

    Unbiased wherever P is a random sample of the positives. ``prior`` and ``scenario`` make no difference; they
    are there so that all measures are called alike.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Two values: the greater marks labelled positives, the other unlabelled rows.
    f : array of shape (n_samples,)
        Decision values, greater for rows more likely positive.
    prior : float
        π in (0, 1), the share of positives among the unlabelled rows ("case-control") or all rows ("censored").
    scenario : {"case-control", "censored"}
        How the rows were drawn; see :mod:`usmo.metrics`.
    threshold : float
        Rows with f above it are called positive.
    sample_weight : array of shape (n_samples,), optional
        A row of weight two counts as two equal rows, one of weight zero is not there.
    """
    checked_prior(prior, needed=False)
    return PUSample.of(y, f, scenario, sample_weight).shares(threshold)[0]


def pu_precision(
    y: Any, f: Any, *,
    prior: float, scenario: str = "case-control", threshold: float = 0.0, sample_weight: Any = None,
) -> float:  # fmt: skip
    """Precision π·r/q: the share of true positives among the rows of U called positive.

    Consistent, as a ratio of unbiased estimates. Clipped to [0, 1]: q cannot be less than π·r, and counts as π·r
    where a small sample has less. 0 if nothing is called positive. Parameters as for :func:`pu_recall`.
    """
    prior = checked_prior(prior)
    r, q = PUSample.of(y, f, scenario, sample_weight).shares(threshold)
    return prior * r / max(q, prior * r) if r > 0 else 0.0


def pu_f1(
    y: Any, f: Any, *,
    prior: float, scenario: str = "case-control", threshold: float = 0.0, sample_weight: Any = None,
) -> float:  # fmt: skip
    """F1 = 2·π·r / (q + π), the harmonic mean of precision and recall.

    Consistent. In [0, 1] by the rule of :func:`pu_precision`: q counts as at least π·r. Wants the right π: the F1
    of the same rows grows with it. Parameters as for :func:`pu_recall`.
    """
    prior = checked_prior(prior)
    r, q = PUSample.of(y, f, scenario, sample_weight).shares(threshold)
    return 2.0 * prior * r / (max(q, prior * r) + prior)


def pu_false_positive_rate(
    y: Any, f: Any, *,
    prior: float, scenario: str = "case-control", threshold: float = 0.0, sample_weight: Any = None,
) -> float:  # fmt: skip
    """False positive rate (q - π·r) / (1-π): the share of the negatives that are called positive.

    Unbiased before it is clipped to [0, 1], so that rates near 0 come out slightly too great on average; a value
    of 0 says "too small to see in this sample". Parameters as for :func:`pu_recall`.
    """
    prior = checked_prior(prior)
    r, q = PUSample.of(y, f, scenario, sample_weight).shares(threshold)
    return min(max((q - prior * r) / (1.0 - prior), 0.0), 1.0)


def pu_zero_one_risk(
    y: Any, f: Any, *,
    prior: float, scenario: str = "case-control", threshold: float = 0.0, nonnegative: bool = False,
    sample_weight: Any = None,
) -> float:  # fmt: skip
    """Probability of a wrong class, 2·π·(1-r) + q - π.

    Unbiased and not clipped: in a small sample it may be negative. With ``nonnegative`` the part of the
    negatives is kept from going below zero, π·(1-r) + max(0, q - π·r): never negative, slightly too great on
    average, and harder to deceive by a model that has learnt which rows are labelled. Other parameters as for
    :func:`pu_recall`.
    """
    prior = checked_prior(prior)
    r, q = PUSample.of(y, f, scenario, sample_weight).shares(threshold)
    negatives = q - prior * r
    return prior * (1.0 - r) + (max(0.0, negatives) if nonnegative else negatives)


def pu_double_hinge_risk(
    y: Any, f: Any, *, prior: float, scenario: str = "case-control", sample_weight: Any = None
) -> float:
    """π·mean_P(-f) + mean_U max(0, f, (1+f)/2): what the solvers minimise, without the penalty.

    The unbiased estimate of the expected double hinge loss max(-z, 0, (1-z)/2). Not clipped: rows that were
    trained on can make it negative. It depends on the scale of f, so it compares decision functions of the same
    family, for example along λ. Parameters as for :func:`pu_recall`, but there is no threshold.
    """
    prior = checked_prior(prior)
    sample = PUSample.of(y, f, scenario, sample_weight)
    composite, opposite = _losses("double hinge", sample.f, 0.0)
    return prior * sample.mean_p(composite) + sample.mean_u(opposite)


def pu_roc_auc(
    y: Any, f: Any, *, prior: float, scenario: str = "case-control", sample_weight: Any = None
) -> float:
    """Area under the ROC curve of positives against negatives, (AUC_PU - π/2) / (1-π).

    AUC_PU is that of P against U; ties count one half. Unbiased before it is clipped to [0, 1]. The order of two
    models on the same rows does not depend on π, the value does: the error of AUC_PU grows by 1/(1-π). Parameters
    as for :func:`pu_recall`, but there is no threshold.
    """
    prior = checked_prior(prior)
    sample = PUSample.of(y, f, scenario, sample_weight)
    f_u, w_u = sample.f[sample.unlabelled], sample.weight[sample.unlabelled]
    order = np.argsort(f_u, kind="stable")
    below = np.append(0.0, np.cumsum(w_u[order])) / w_u.sum()
    less, at_most = (below[np.searchsorted(f_u[order], sample.f, side=side)] for side in ("left", "right"))
    auc_pu = sample.mean_p(0.5 * (less + at_most))
    return min(max((auc_pu - 0.5 * prior) / (1.0 - prior), 0.0), 1.0)


def lee_liu(
    y: Any, f: Any, *,
    prior: float | None = None, scenario: str = "case-control", threshold: float = 0.0, sample_weight: Any = None,
) -> float:  # fmt: skip
    """The criterion of Lee and Liu (ICML 2003), r²/q = precision·recall/π.

    Needs no π (``prior`` makes no difference): for comparing models on the same rows where π is not known. It
    is great where F1 is, has no upper bound but 1/π, and means nothing by itself. 0 if no row of U is called
    positive. Other parameters as for :func:`pu_recall`.
    """
    checked_prior(prior, needed=False)
    r, q = PUSample.of(y, f, scenario, sample_weight).shares(threshold)
    return r * r / q if q > 0 else 0.0


def risk_with_error(
    y: Any, f: Any, *,
    prior: float, scenario: str = "case-control", threshold: float = 0.0, sample_weight: Any = None,
    loss: str = "double hinge",
) -> tuple[float, float]:  # fmt: skip
    """The unbiased PU risk and its standard error.

    The risk is π·mean_P(a) + mean_U(b) with a = ℓ(f) - ℓ(-f) and b = ℓ(-f), and a row moves it by

        d = π·(a - mean_P a)/n_P  if it is in P,    plus    (b - mean_U b)/n_U  if it is in U;    error² = Σ d².

    In "case-control" no row is in both, and this is π²·var_P(a)/n_P + var_U(b)/n_U; in "censored" the labelled
    rows are, which brings in the covariance of a and b. Variances have n - 1 below the line. π counts as known.

    Parameters
    ----------
    loss : {"double hinge", "zero-one"}
        The loss ℓ; ``threshold`` matters for the second only.
    y, f, prior, scenario, sample_weight
        As for :func:`pu_recall`. Integer weights are numbers of equal rows; of others, the spread of the weights
        enters the error.

    Returns
    -------
    risk, standard_error : float
        The error is NaN if there are fewer than two labelled or two unlabelled rows.
    """
    prior = checked_prior(prior)
    if loss not in LOSSES:
        raise ValueError(f"loss must be 'double hinge' or 'zero-one', got {loss!r}")
    sample = PUSample.of(y, f, scenario, sample_weight)
    composite, opposite = _losses(loss, sample.f, threshold)
    means = sample.mean_p(composite), sample.mean_u(opposite)
    risk = prior * means[0] + means[1]
    moved = np.zeros(len(sample.f))
    for rows, part, mean, share in (
        (sample.labelled, composite, means[0], prior),
        (sample.unlabelled, opposite, means[1], 1.0),
    ):
        total, size = float(sample.weight[rows].sum()), sample.size(rows)
        if size < 2:
            return risk, math.nan
        moved[rows] += share * (part[rows] - mean) / total * math.sqrt(size / (size - 1.0))
    weight = sample.weight if sample.counts else sample.weight**2
    return risk, math.sqrt(float(weight @ moved**2))


def prior_threshold(f_u: Any, prior: float, *, sample_weight: Any = None) -> float:
    """The threshold t with P_U(f > t) = π, which calls as many rows positive as there are positives.

    For decision functions whose zero means nothing: rankings, probabilities of being labelled, and the double
    hinge with strong regularisation, which keeps f near one value. Rows with equal f stay together, so the share
    above t is the possible one nearest to π, the smaller of two as near; t lies in the middle between two values
    of f. It is the largest value if no row is to be above t, and just under the smallest if all are.

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
    weight = checked_weights(f, sample_weight)
    if not weight.sum() > 0:
        raise ValueError("f_u must hold at least one row of positive weight, got none")
    values, group = np.unique(f[weight > 0], return_inverse=True)
    mass = np.bincount(group, weights=weight[weight > 0])
    # share[k]: the share of rows above values[k - 1], which is those from values[k] on
    share = np.append(np.cumsum(mass[::-1])[::-1], 0.0) / mass.sum()
    distance = np.abs(share - prior)
    k = int(np.flatnonzero(distance <= distance.min() + 1e-12)[-1])
    if k == 0:
        return float(np.nextafter(values[0], -np.inf))
    if k == len(values):
        return float(values[-1])
    low, high = float(values[k - 1]), float(values[k])
    middle = 0.5 * low + 0.5 * high
    # between two neighbouring floats there is no middle
    return middle if low <= middle < high else low


def _losses(loss: str, f: Array, threshold: float) -> tuple[Array, Array]:
    """ℓ(f) - ℓ(-f) and ℓ(-f) for every row."""
    if loss == "double hinge":
        return -f, unlabelled_loss(f)
    above = above_threshold(f, threshold).astype(np.float64)
    return 1.0 - 2.0 * above, above
