"""What a user should know before using a result, in sentences: for the messages of a command and the top of a page."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from usmo.core.arrays import Array
from usmo.estimators.counts import Counts
from usmo.estimators.fit_warnings import fit_precision
from usmo.metrics import pu_precision, pu_recall, pu_roc_auc
from usmo.system.words import quantity

FEW_POSITIVES = 20
"""Known positives below which prior and λ are weakly determined."""

_WIDE = 3.0
"""Ratio of the ends of the prior's interval from which the number of positives is called uncertain."""


class Quality(NamedTuple):
    """Estimates on held-out rows at the threshold that marks the share π: recall, precision and AUC."""

    recall: float
    precision: float
    auc: float
    n_positives: int

    @classmethod
    def of(cls, labels: np.ndarray, f: Array, prior: float, scenario: str) -> Quality | None:
        """From held-out decision values; None without known positives or unlabelled rows among them."""
        used = (labels >= 0) | (scenario == "censored")
        y, f = np.maximum(labels, 0)[used], f[used]
        if not (y == 1).any() or not (y == 0).any() or not np.isfinite(f).all():
            return None
        sample = f if scenario == "censored" else f[y == 0]
        prior = min(max(prior, 1e-9), 1.0 - 1e-9)
        at = float(np.quantile(sample, 1.0 - prior))
        recall = pu_recall(y, f, threshold=at)
        precision = pu_precision(y, f, prior=prior, scenario=scenario, threshold=at)
        auc = pu_roc_auc(y, f, prior=prior, scenario=scenario)
        return cls(float(recall), float(precision), float(auc), int((y == 1).sum()))


def cross_validated_quality(model: Any, labels: np.ndarray) -> Quality | None:
    """The quality on the rows that the choice of λ held out; None if λ was given or propensities were."""
    selection = getattr(model, "selection_", None)
    if selection is None or hasattr(model, "propensity_"):
        return None
    return Quality.of(labels[selection.rows], selection.held_out, float(model.prior_), model.scenario)


def doubts(model: Any, f: Array, counts: Counts, quality: Quality | None) -> list[str]:
    """Sentences on few positives, a wide interval, a model without use, and rows that cannot be told apart."""
    found = [*_about_estimates(model, counts)]
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
    estimated = model.prior == "estimate" and not hasattr(model, "propensity_")
    chosen = hasattr(model, "selection_")
    found = []
    if counts.positives < FEW_POSITIVES:
        parts = [*(["the share of positives"] if estimated else []), *(["λ"] if chosen else []), "probabilities"]
        what = " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[1:] else parts)
        few = quantity(counts.positives, "known positive says", "known positives say")
        advice = " Give the share if you know it (--prior)." if estimated else ""
        found.append(f"{few} little about {what}: the order of the rows is surer than the number marked.{advice}")
    elif estimated and hasattr(model, "prior_interval_"):
        low, high = model.prior_interval_
        if high > _WIDE * max(low, 1e-12) and high - low > 0.05:
            found.append(
                f"The share of positives is uncertain, between {low:.3f} and {high:.3f}: the order of the rows is "
                "surer than the number marked. Give the share if you know it (--prior)."
            )
    return found


def _about_quality(quality: Quality) -> list[str]:
    # an AUC of ½ has a standard error of about 1/√(12·n_P) if U is large
    if quality.auc <= 0.5 + 2.0 / np.sqrt(12.0 * quality.n_positives):
        return [
            f"On held-out rows the order is no better than chance (AUC {quality.auc:.2f}): these columns do not tell "
            "positives from other rows."
        ]
    if quality.precision <= 0.5:
        return [
            f"On held-out rows about {quality.precision:.0%} of the marked rows are positive: as a decision that is no "
            "better than marking nothing. Use the order of the rows, not the mark."
        ]
    return []
