"""What a user should know before using a result, in sentences: for the messages of a command and the top of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from usmo.core.arrays import Array
from usmo.estimators.counts import Counts, expected_positives, prior_is_determined
from usmo.estimators.fit_warnings import fit_precision
from usmo.metrics import prior_threshold, pu_precision, pu_recall, pu_roc_auc
from usmo.priors import ScarTest
from usmo.report.refits import HeldOut
from usmo.system.words import quantity

FEW_POSITIVES = 20
"""Known positives below which prior and λ are weakly determined."""

_FEWEST = 5
"""Fewest different known positives, and unlabelled rows, from which quality is estimated."""

_WIDE = 3.0
"""Ratio of the ends of the prior's interval from which the number of positives is called uncertain."""


class Quality(NamedTuple):
    """Estimates on held-out rows: recall, precision and AUC."""

    recall: float
    precision: float
    auc: float
    n_positives: int

    @classmethod
    def of(
        cls, labels: np.ndarray, f: Array, prior: float, scenario: str, weight: Array | None = None,
        threshold: float | None = None,
    ) -> Quality | None:  # fmt: skip
        """From held-out decision values of different rows; None if there are too few to tell.

        Rows above the ``threshold`` are marked, by default the one that marks the share π. Precision is that of the
        marked rows without a label.
        """
        counted = (labels >= 0) | (scenario == "censored")
        few = min(np.count_nonzero(labels == kind) for kind in (1, 0)) < _FEWEST
        if few or not np.isfinite(f[counted]).all():
            return None
        weight = np.ones(len(f)) if weight is None else weight
        at = threshold
        if at is None:
            sample = counted if scenario == "censored" else labels == 0
            inside = min(max(prior, 1e-9), 1.0 - 1e-9)
            at = prior_threshold(f[sample], inside, sample_weight=weight[sample])
        common: dict[str, Any] = {
            "prior": share_of_unlabelled(prior, labels, scenario, weight), "sample_weight": weight[labels >= 0],
        }  # fmt: skip
        y, f = labels[labels >= 0], f[labels >= 0]
        recall, precision = (measure(y, f, threshold=at, **common) for measure in (pu_recall, pu_precision))
        known = round(float(weight[labels == 1].sum()))
        return cls(float(recall), float(precision), float(pu_roc_auc(y, f, **common)), known)


def share_of_unlabelled(prior: float, labels: np.ndarray, scenario: str, weight: Array | None = None) -> float:
    """The share of positives among the unlabelled rows that a prior implies, strictly between 0 and 1."""
    mass = np.ones(len(labels)) if weight is None else weight
    n_p, n_u, n_n = (float(mass[labels == kind].sum()) for kind in (1, 0, -1))
    share = expected_positives(prior, n_p, n_u, scenario, n_n) / n_u
    return min(max(share, 1e-9), 1.0 - 1e-9)


def held_out_quality(model: Any, held: HeldOut | None) -> Quality | None:
    """The quality of models fitted without the rows, each with its own threshold at 0; None without such rows."""
    if held is None:
        return None
    return Quality.of(held.labels, held.f, float(model.prior_), model.scenario, threshold=0.0)


def cross_validated_quality(model: Any, labels: np.ndarray) -> Quality | None:
    """The quality on the rows that the choice of λ held out; None if λ was given or propensities were."""
    selection = getattr(model, "selection_", None)
    if selection is None or hasattr(model, "propensity_"):
        return None
    rows, f = selection.rows, selection.held_out
    return Quality.of(labels[rows], f, float(model.prior_), model.scenario, selection.weight)


def doubts(
    model: Any, f: Array, counts: Counts, quality: Quality | None, at_random: ScarTest | None = None
) -> list[str]:
    """Sentences on few positives, a wide interval, labels not at random, a model without use, and equal rows."""
    found = [*_about_estimates(model, counts)]
    if at_random is not None and at_random.differs:
        found.append(at_random.sentence)
    f_u = f[np.isfinite(f)]
    if len(f_u) and float(np.ptp(f_u)) <= fit_precision(model):
        found.append("All rows have the same score: nothing was learnt, and the order has no meaning.")
    elif quality is not None:
        found += _about_quality(quality)
    if counts.equal:
        found.append(
            f"{quantity(counts.equal, 'row has', 'rows have')} the same score where the {quantity(counts.expected)} "
            "expected positives end, and cannot be told apart: they fall on the side that is nearer to that number."
        )
    elif counts.close > max(1, 0.01 * counts.unlabelled):
        found.append(
            f"The scores of {quantity(counts.close, 'row')} differ from the threshold by less than the fit is precise: "
            "their decisions are arbitrary."
        )
    return found


def _about_estimates(model: Any, counts: Counts) -> list[str]:
    implied = hasattr(model, "propensity_") and not hasattr(model, "propensity_model_")
    estimated = model.prior == "estimate" and not implied
    chosen = hasattr(model, "selection_")
    found = []
    if counts.positives < FEW_POSITIVES:
        parts = [*(["the share of positives"] if estimated else []), *(["λ"] if chosen else []), "probabilities"]
        what = " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)
        few = quantity(counts.positives, "known positive says", "known positives say")
        advice = " Give the share if you know it (--prior)." if estimated else ""
        found.append(f"{few} little about {what}: the order of the rows is surer than the number marked.{advice}")
    elif estimated and hasattr(model, "prior_interval_"):
        found += _about_interval(model, counts)
    return found


def _about_interval(model: Any, counts: Counts) -> list[str]:
    rows = counts.positives, counts.unlabelled, model.scenario, counts.negatives
    found = wide_interval(model.prior_interval_, *rows)
    advice = "The order of the rows is surer than the number marked. Give the share if you know it (--prior)."
    return [f"{found}. {advice}"] if found else []


def wide_interval(
    interval: Sequence[float], positives: int, unlabelled: int, scenario: str, negatives: int = 0
) -> str:
    """What a wide interval of the prior leaves open, without a full stop; empty if it is narrow."""
    rows, (low, high) = (positives, unlabelled, scenario, negatives), interval
    few, many = (round(expected_positives(end, *rows)) for end in (low, high))
    open_ = f"between {quantity(few)} and {quantity(many)} rows may be positive"
    if not prior_is_determined((low, high), *rows):
        return f"These columns do not determine the share of positives, {low:.3f} to {high:.3f}: {open_}"
    if high > _WIDE * max(low, 1e-12) and high - low > 0.05:
        return f"The share of positives is uncertain, between {low:.3f} and {high:.3f}: {open_}"
    return ""


def _about_quality(quality: Quality) -> list[str]:
    # an AUC of ½ has a standard error of about 1/√(12·n_P) if U is large
    if quality.auc <= 0.5 + 2.0 / np.sqrt(12.0 * quality.n_positives):
        return [
            f"On held-out rows the order is no better than chance (AUC {quality.auc:.2f}): these columns do not tell "
            "positives from other rows."
        ]
    if quality.precision <= 0.5:
        return [
            f"On held-out rows about {100 * quality.precision:.0f} % of the marked rows are positive: half of the "
            "marks or more are false alarms. Use the order of the rows, not the mark."
        ]
    return []
