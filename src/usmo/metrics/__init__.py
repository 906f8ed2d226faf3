"""Quality of a classifier from labelled positives P, unlabelled rows U and the prior π alone.

U is a sample of the mixture p_U = π·p_P + (1-π)·p_N. With ŷ = 1 where f > threshold::

    recall r = P_P(ŷ=1),    q = P_U(ŷ=1) = π·r + (1-π)·FPR,    precision = π·r/q,    AUC_PU = π/2 + (1-π)·AUC

For every loss ℓ the risk π·E_P ℓ(f) + (1-π)·E_N ℓ(-f) is π·E_P[ℓ(f) - ℓ(-f)] + E_U ℓ(-f): nothing needs a
negative row. In the scenario "case-control" U are the unlabelled rows and π is the share of positives among them.
In "censored" one sample was drawn and some of its positives were labelled at random: U are all rows, P is part of
U, and π is the share of positives among all rows. Known negatives N, if there are any, make the estimates of the
false positive rate and of the area under the ROC curve more precise; they must be a random sample of the negatives, so
leave out those that were found by looking at the top of a ranking. All measures assume that P is a random sample of
the positives. On training rows they are too optimistic; use held-out rows.
"""

from __future__ import annotations

from usmo.metrics.measures import (
    LOSSES,
    lee_liu,
    prior_threshold,
    pu_double_hinge_risk,
    pu_f1,
    pu_false_positive_rate,
    pu_precision,
    pu_recall,
    pu_roc_auc,
    pu_zero_one_risk,
    risk_with_error,
)
from usmo.metrics.sample import SCENARIOS, PUSample, check_scenario, checked_prior
from usmo.metrics.scorers import MEASURES, PUScorer, decision_values, last_step, pu_scorer

__all__ = [
    "LOSSES", "MEASURES", "SCENARIOS", "PUSample", "PUScorer", "check_scenario", "checked_prior",
    "decision_values", "last_step", "lee_liu", "prior_threshold", "pu_double_hinge_risk", "pu_f1",
    "pu_false_positive_rate", "pu_precision", "pu_recall", "pu_roc_auc", "pu_scorer", "pu_zero_one_risk",
    "risk_with_error",
]  # fmt: skip
