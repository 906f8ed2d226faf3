"""The measures as scorers, for scikit-learn's cross-validation and searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import check_is_fitted

from usmo.core.arrays import Array
from usmo.metrics import measures
from usmo.metrics.sample import check_scenario, checked_prior

MEASURES: dict[str, tuple[Any, int]] = {
    "recall": (measures.pu_recall, 1),
    "precision": (measures.pu_precision, 1),
    "f1": (measures.pu_f1, 1),
    "false_positive_rate": (measures.pu_false_positive_rate, -1),
    "zero_one_risk": (measures.pu_zero_one_risk, -1),
    "double_hinge_risk": (measures.pu_double_hinge_risk, -1),
    "roc_auc": (measures.pu_roc_auc, 1),
    "lee_liu": (measures.lee_liu, 1),
}
"""Measures by their name in :func:`pu_scorer`, with sign -1 where less is better."""


@dataclass
class PUScorer:
    """A scorer for scikit-learn; see :func:`pu_scorer`."""

    name: str
    prior: float | None = None
    scenario: str | None = None
    weight_request: bool | str | None = None

    def __repr__(self) -> str:
        given = {"prior": self.prior, "scenario": self.scenario}
        shown = [f"{key}={value!r}" for key, value in given.items() if value is not None]
        return f"pu_scorer({', '.join([repr(self.name), *shown])})"

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        measure, sign = MEASURES[self.name]
        model = last_step(estimator)
        prior = getattr(model, "prior_", None) if self.prior is None else self.prior
        if prior is None and measure not in (measures.pu_recall, measures.lee_liu):
            raise ValueError(
                f"prior must be given to pu_scorer({self.name!r}): {type(model).__name__} has no prior_"
            )
        scenario = getattr(model, "scenario", "case-control") if self.scenario is None else self.scenario
        f = decision_values(estimator, X)
        return sign * measure(y, f, prior=prior, scenario=scenario, sample_weight=sample_weight)

    def _accept_sample_weight(self) -> bool:
        """Whether scikit-learn's multi-metric scorers may pass weights on."""
        return True

    def set_score_request(self, *, sample_weight: bool | str | None) -> PUScorer:
        """Say whether metadata routing passes ``sample_weight`` to this scorer, or under which name."""
        self.weight_request = sample_weight
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """The request for ``sample_weight``, as scikit-learn's metadata routing reads it."""
        request = MetadataRequest(owner=repr(self))
        request.score.add_request(param="sample_weight", alias=self.weight_request)
        return request


def pu_scorer(name: str, *, prior: float | None = None, scenario: str | None = None) -> PUScorer:
    """A scorer ``(estimator, X, y, sample_weight=None) -> float`` for cross_val_score, GridSearchCV and the like.

    y are labels as for ``fit``: the greater value marks labelled positives. Greater is better, so risks and the
    false positive rate are negated. Decision values come from ``decision_function``, else from ``predict_proba`` as
    2·p - 1; the threshold is 0.

    Parameters
    ----------
    name : {"recall", "precision", "f1", "false_positive_rate", "zero_one_risk", "double_hinge_risk", "roc_auc", "lee_liu"}
        The measure. Do not select models by recall alone: it is highest if every row is called positive.
    prior : float, optional
        π; by default ``prior_`` of the fitted estimator (of the last step of a pipeline). To compare models with
        different π, give one here: some measures grow with π.
    scenario : {"case-control", "censored"}, optional
        By default the estimator's, or "case-control" if it has none.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from usmo import PUSVC
    >>> from usmo.metrics import pu_scorer
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(1, 0.3, 60), rng.normal(-1, 0.3, 40)][:, None]
    >>> y = np.arange(100) < 40  # the other 20 positives are unlabelled
    >>> scores = cross_val_score(PUSVC(prior=0.33), X, y, cv=4, scoring=pu_scorer("f1"))
    >>> bool(scores.mean() > 0.8)
    True
    """  # noqa: E501
    if name not in MEASURES:
        raise ValueError(f"name must be one of {', '.join(map(repr, MEASURES))}; got {name!r}")
    checked_prior(prior, needed=False)
    if scenario is not None:
        check_scenario(scenario)
    return PUScorer(name, prior, scenario)


def last_step(estimator: Any) -> Any:
    """The model inside searches and pipelines: the best estimator, the last step."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            return estimator


def decision_values(estimator: Any, X: Any) -> Array:
    """f of a fitted classifier, threshold 0: decision_function, else 2·p - 1 from predict_proba."""
    check_is_fitted(last_step(estimator))
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X), dtype=np.float64)
    if hasattr(estimator, "predict_proba"):
        return 2.0 * np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, 1] - 1.0
    raise TypeError(f"estimator must have decision_function or predict_proba, got {type(estimator).__name__}")
