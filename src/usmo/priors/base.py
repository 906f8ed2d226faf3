"""Base class of the class-prior estimators: checks, scenario, bootstrap interval, fitted attributes.

An estimator computes π_U, the share of positives among the unlabelled rows, from P and U. In the scenario
"case-control" that is the prior; in "censored" the prior is the share among all rows, labelled positives included:

    π = (n_P + π_U·n_U) / (n_P + n_U),      inverse:   π_U = π(1-c)/(1-πc)  with c = n_P / (π·(n_P + n_U))
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils._param_validation import Interval, StrOptions

from usmo.core.arrays import Array
from usmo.priors.samples import Sample, effective_size, row_keys, smallest_keys

MOST_ROWS = 20_000
"""Most rows used, of P and of U: enough for bounds with ε below 0.01, and an estimate takes seconds."""


class PriorEstimator(BaseEstimator):
    """Estimator of the class prior; a subclass implements ``_estimate``, which returns π_U and its diagnostics.

    Attributes
    ----------
    prior_ : float
        The estimate, strictly between 0 and 1.
    interval_ : tuple of float
        Its interval of probability ``level``: the method's own, or a normal interval from the standard deviation
        over bootstrap draws. It covers sampling error only: if the method's assumption fails (often: that some
        region holds positives only), the true prior may lie outside.
    diagnostics_ : dict
        ``prior_unlabelled`` (π_U) and intermediate results of the method.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "scenario": [StrOptions({"case-control", "censored"})],
        "level": [Interval(Real, 0, 1, closed="neither")],
        "n_bootstrap": [Interval(Integral, 0, None, closed="left")],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Estimate the prior; the greater of the two values of y marks labelled positives.

        A row of weight two counts as two equal rows. The order of the rows has no effect.
        """
        self._validate_params()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        labelled = _labelled(y)
        integer_weights = bool(np.all(weight == np.round(weight)))
        masks = [labelled & (weight > 0), ~labelled & (weight > 0)]
        sizes = [effective_size(weight[mask], integer_weights) for mask in masks]
        if not any(sizes):
            raise ValueError("sample_weight must be positive for some rows, got zero weights only")
        if min(sizes) < 2:
            raise ValueError(
                'prior="estimate" needs at least 2 labelled positives and 2 unlabelled rows, got '
                f"{sizes[0]:g} and {sizes[1]:g}; give prior as a number in (0, 1) instead"
            )
        most = self._most_rows
        (p, w_p), (u, w_u) = (
            distinct_rows(X, np.flatnonzero(mask), weight, self.random_state, most) for mask in masks
        )
        chosen = X[np.concatenate([p, u])]
        # the estimates do not depend on the units of columns, and squares of huge values would overflow
        scaled = MaxAbsScaler().fit_transform(chosen)
        sample = self._sample(scaled, ...)
        value, self.diagnostics_ = self._estimate(sample)
        low, high = self._interval(sample, value)
        smallest = 0.5 / sample.sizes[1]
        n_p, n_u = float(weight[labelled].sum()), float(weight[~labelled].sum())

        def for_scenario(prior_u: float) -> float:
            prior_u = min(max(prior_u, smallest), 1.0 - smallest)
            return float((n_p + prior_u * n_u) / (n_p + n_u)) if self.scenario == "censored" else float(prior_u)

        self.diagnostics_["prior_unlabelled"] = min(max(value, smallest), 1.0 - smallest)
        self.prior_ = for_scenario(value)
        self.interval_ = (min(for_scenario(low), self.prior_), max(for_scenario(high), self.prior_))
        return self

    _most_rows = MOST_ROWS

    def _sample(
        self, X: Any, labelled: np.ndarray, weight: Array, keys: np.ndarray, integer_weights: bool
    ) -> Sample:
        """What ``_estimate`` sees of the rows: here the rows themselves."""
        return Sample(X[labelled], X[~labelled], weight[labelled], weight[~labelled], integer_weights)

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        raise NotImplementedError

    def _interval(self, sample: Sample, value: float) -> tuple[float, float]:
        if self.n_bootstrap < 2:
            return value, value
        rng = np.random.default_rng(self.random_state)
        drawn = [self._estimate(sample.resampled(rng))[0] for _ in range(self.n_bootstrap)]
        half = float(norm.ppf(0.5 + 0.5 * self.level) * np.std(drawn, ddof=1))
        return value - half, value + half
