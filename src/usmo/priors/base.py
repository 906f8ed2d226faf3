"""What every class-prior estimator shares: checks, scenario, bootstrap interval, the fitted attributes.

An estimator finds π_U, the share of positives among the unlabelled rows, from P and U. In the scenario
"case-control" that is the prior; in "censored" it refers to all rows, of which the labelled ones are positive:

    π = (n_P + π_U·n_U) / (n_P + n_U),      or backwards   π_U = π(1-c)/(1-πc)  with c = n_P / (π·(n_P + n_U))
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils._param_validation import Interval, StrOptions

from usmo.core.arrays import Array
from usmo.priors.samples import effective_size, row_keys, smallest_keys

MOST_ROWS = 20_000
"""Rows of each kind used at most: the bounds' ε is then below 0.01 and an estimate takes seconds."""


@dataclass(frozen=True)
class Sample:
    """Two weighted samples, P and U: rows of a table, or one-dimensional scores."""

    P: Any
    U: Any
    w_p: Array
    w_u: Array
    counts: bool = True
    """Whether the weights are numbers of equal rows."""

    @property
    def sizes(self) -> tuple[float, float]:
        return effective_size(self.w_p, self.counts), effective_size(self.w_u, self.counts)

    def resampled(self, rng: np.random.Generator) -> Sample:
        """A bootstrap draw of both."""
        parts: list[Any] = []
        for rows, weight in ((self.P, self.w_p), (self.U, self.w_u)):
            size = max(2, round(effective_size(weight, self.counts)))
            drawn = np.sort(rng.choice(len(weight), size, p=weight / weight.sum()))
            parts += [rows[drawn], np.ones(size)]
        return Sample(parts[0], parts[2], parts[1], parts[3])


class PriorEstimator(BaseEstimator):
    """Estimates the class prior; a subclass implements ``_estimate`` (π_U and what it rests on).

    Attributes
    ----------
    prior_ : float
        The estimate, strictly between 0 and 1.
    interval_ : tuple of float
        Its interval of probability ``level``; where the method gives none of its own, the estimate ± so many
        standard deviations of it over bootstrap draws. It speaks of chance; where the method's assumption fails
        (often: that some region holds positives only) the truth may lie outside.
    diagnostics_ : dict
        ``prior_unlabelled`` and the numbers the method rests on.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "scenario": [StrOptions({"case-control", "censored"})],
        "level": [Interval(Real, 0, 1, closed="neither")],
        "n_bootstrap": [Interval(Integral, 0, None, closed="left")],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Estimate the prior from rows X; y marks the labelled positives by the greater of its two values."""
        self._validate_params()
        X = check_array(X, accept_sparse="csr", dtype=np.float64)
        y = np.asarray(y)
        check_consistent_length(X, y)
        classes = np.unique(y)
        labelled = y.astype(bool) if y.dtype == bool or len(classes) < 2 else y == classes[-1]
        weight = np.ones(len(labelled)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        counts = bool(np.all(weight == np.round(weight)))
        sizes = [effective_size(weight[kind], counts) for kind in (labelled, ~labelled)]
        if min(sizes) < 2:
            raise ValueError(
                'prior="estimate" needs at least 2 labelled positives and 2 unlabelled rows, got '
                f"{sizes[0]:g} and {sizes[1]:g}; give prior as a number in (0, 1) instead"
            )
        keys = row_keys(X, self.random_state)
        # nothing depends on the units of columns, and the squares of huge ones overflow
        X = MaxAbsScaler().fit_transform(X)
        kept = smallest_keys(keys, labelled, self._most_rows)
        sample = self._sample(X[kept], labelled[kept], weight[kept], keys[kept], counts)
        value, self.diagnostics_ = self._estimate(sample)
        low, high = self._interval(sample, value)
        smallest = 0.5 / sample.sizes[1]
        n_p, n_u = float(weight[labelled].sum()), float(weight[~labelled].sum())

        def reported(part: float) -> float:
            part = min(max(part, smallest), 1.0 - smallest)
            return float((n_p + part * n_u) / (n_p + n_u)) if self.scenario == "censored" else float(part)

        self.diagnostics_["prior_unlabelled"] = min(max(value, smallest), 1.0 - smallest)
        self.prior_ = reported(value)
        self.interval_ = (min(reported(low), self.prior_), max(reported(high), self.prior_))
        return self

    _most_rows = MOST_ROWS

    def _sample(self, X: Any, labelled: np.ndarray, weight: Array, keys: np.ndarray, counts: bool) -> Sample:
        return Sample(X[labelled], X[~labelled], weight[labelled], weight[~labelled], counts)

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        raise NotImplementedError

    def _interval(self, sample: Sample, value: float) -> tuple[float, float]:
        if self.n_bootstrap < 2:
            return value, value
        rng = np.random.default_rng(self.random_state)
        drawn = [self._estimate(sample.resampled(rng))[0] for _ in range(self.n_bootstrap)]
        reach = float(norm.ppf(0.5 + 0.5 * self.level) * np.std(drawn, ddof=1))
        return value - reach, value + reach
