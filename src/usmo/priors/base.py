"""Base classes of the class-prior estimators: checks, scenario, bootstrap interval, fitted attributes.

An estimator computes π_U, the share of positives among the unlabelled rows, from P and U. In the scenario
"case-control" that is the prior; in "censored" the prior is the share among all rows, labelled positives included:

    π = (n_P + π_U·n_U) / (n_P + n_U),      inverse:   π_U = π(1-c)/(1-πc)  with c = n_P / (π·(n_P + n_U))
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight

from usmo.core.arrays import Array, Index, Mask
from usmo.core.groups import check_divisible, group_codes
from usmo.core.targets import validate_labelled
from usmo.core.weights import are_counts, effective_size, scaled
from usmo.kernels.row_sampling import distinct_rows_by_kind
from usmo.kernels.threads import single_blas
from usmo.priors.samples import Sample, of_one_unit
from usmo.system.rollback import unchanged_on_failure
from usmo.system.stages import PRIOR, announce

MOST_ROWS = 20_000
"""Most rows used, of P and of U: enough for bounds with ε below 0.01, and an estimate takes seconds."""


class PriorEstimator(BaseEstimator):
    """Base class of all estimators of the prior: checks, the scenario and the fitted attributes.

    A subclass has the parameters ``scenario``, ``level`` and ``random_state``, and implements ``_estimate`` (π_U and
    its diagnostics) and ``_interval``.

    Attributes
    ----------
    prior_ : float
        The estimate, strictly between 0 and 1.
    interval_ : tuple of float
        Its interval of probability ``level``: the method's own, or a normal interval from the standard deviation
        over bootstrap draws. It covers sampling error only: if the method's assumption fails (often: that some
        region holds positives only), the true prior may lie outside.
    diagnostics_ : dict
        ``prior_unlabelled`` (π_U), ``interval_unlabelled`` and intermediate results of the method.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X has column names.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "scenario": [StrOptions({"case-control", "censored"})],
        "level": [Interval(Real, 0, 1, closed="neither")],
        "random_state": [Interval(Integral, 0, None, closed="left"), None],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    __metadata_request__fit = {"groups": True}  # noqa: RUF012 (as scikit-learn's splitters by groups)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Any:
        """Estimate the prior; y has labels as for :meth:`usmo.PUSVC.fit`.

        A row of weight two counts as two equal rows. The order of the rows has no effect. Known negatives are used
        by :class:`usmo.priors.KnownNegatives` and :class:`usmo.priors.NegativesOnly` only, because they rarely are a
        random sample of the negatives; in the censored scenario they count among all rows. Rows of one of the
        ``groups`` (a value per row) share a fold wherever the method divides the rows; the interval takes rows as
        independent all the same.
        """
        self._validate_params()
        with unchanged_on_failure(self):
            self._fit(X, y, sample_weight, groups)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        accepted: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64, "ensure_min_samples": 2}
        X, y, rule = validate_labelled(self, X, y, **accepted)
        kinds = rule.kinds(y)
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        counts = are_counts(weight)
        weight = scaled(weight)
        used = (1, 0, -1) if self._uses_negatives else (1, 0)
        masks = [(kinds == kind) & (weight > 0) for kind in used]
        sizes = [effective_size(weight[mask], counts) for mask in masks[:2]]
        if min(sizes) < 2:
            raise ValueError(
                "the estimate of the prior needs at least 2 labelled positives and 2 unlabelled rows of positive "
                f"weight, got {sizes[0]:g} and {sizes[1]:g}"
            )
        group = group_codes(groups, X.shape[0])
        if group is not None and self._fold_count():
            labelled, unlabelled = (group[mask] for mask in masks[:2])
            check_divisible(labelled, unlabelled, self._fold_count(), "the estimate of the prior")
        if self._uses_negatives and np.count_nonzero(masks[2]) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 known negatives (-1 in y), got "
                f"{np.count_nonzero(masks[2])}"
            )
        announce(PRIOR)
        with single_blas():  # the products are small: threads would cost twenty times what they save
            samples = self._samples(X, [np.flatnonzero(mask) for mask in masks], weight, counts, group)
            values, diagnostics = zip(*(self._estimate(sample) for sample in samples), strict=True)
            value, self.diagnostics_ = float(np.mean(values)), _mean_of(diagnostics)
            low, high = self._interval(samples, value)
        smallest = 0.5 / samples[0].sizes[1]
        n_p, n_u = (float(weight[mask].sum()) for mask in masks[:2])
        n_all = float(weight.sum())

        def for_scenario(prior_u: float) -> float:
            prior_u = min(max(prior_u, smallest), 1.0 - smallest)
            return float((n_p + prior_u * n_u) / n_all) if self.scenario == "censored" else float(prior_u)

        self.diagnostics_["prior_unlabelled"] = min(max(value, smallest), 1.0 - smallest)
        self.diagnostics_["interval_unlabelled"] = (max(low, 0.0), min(high, 1.0))
        self.prior_ = for_scenario(value)
        self.interval_ = (min(for_scenario(low), self.prior_), max(for_scenario(high), self.prior_))

    _most_rows = MOST_ROWS
    _uses_negatives = False

    @property
    def _seed(self) -> int:
        """The seed; that of None is 0, so that estimates are reproducible by default."""
        return 0 if self.random_state is None else int(self.random_state)

    def _fold_count(self) -> int:
        """Folds into which the rows are divided; 0 if they are not."""
        return 0

    def _samples(
        self, X: Any, kinds: list[Index], weight: Array, counts: bool, group: Index | None
    ) -> list[Sample]:
        """What ``_estimate`` sees of the distinct rows of P, U and N, or of a sample; once for each repetition."""
        parts, group = distinct_rows_by_kind(X, kinds, weight, self._seed, self._most_rows, group)
        rows, weights = [part[0] for part in parts], [part[1] for part in parts]
        groups = None if group is None else np.concatenate([group[each] for each in rows])
        # the estimates do not depend on the units of columns, and squares of huge values would overflow
        X = of_one_unit(X[np.concatenate(rows)])
        labelled = np.arange(X.shape[0]) < len(rows[0])
        sizes = [min(effective_size(weight[each], counts), self._most_rows) for each in kinds]
        if counts:
            sizes = [float(each.sum()) for each in weights]
        else:  # as many rows as they tell of: the scale of the weights has no meaning
            weights = [each * (size / each.sum()) for each, size in zip(weights, sizes, strict=True)]
        all_weights, ends = np.concatenate(weights), np.cumsum([len(each) for each in rows])
        negative: dict[str, Any] = {}
        own = None if groups is None else (groups[: ends[0]], groups[ends[0] : ends[1]])
        samples = []
        for k in range(self._repetitions(X.shape[0])):
            found = self._features(X, labelled, all_weights, k, groups)
            if self._uses_negatives:
                negative = {"N": found[ends[1] :], "w_n": weights[2]}
            P, U = found[: ends[0]], found[ends[0] : ends[1]]
            samples.append(Sample(P, U, weights[0], weights[1], (sizes[0], sizes[1]), own, **negative))
        return samples

    def _repetitions(self, rows: int) -> int:
        """How many times the features are computed; the estimate is the mean over them."""
        return 1

    def _features(self, X: Any, labelled: Mask, weight: Array, repetition: int, groups: Index | None) -> Any:
        """What ``_estimate`` sees of each row: here the row itself. ``groups`` are the groups of all rows."""
        return X

    def _estimate(self, sample: Sample) -> tuple[float, dict[str, Any]]:
        raise NotImplementedError

    def _interval(self, samples: list[Sample], value: float) -> tuple[float, float]:
        raise NotImplementedError


class BootstrappedPrior(PriorEstimator):
    """An estimator whose interval comes from ``n_bootstrap`` bootstrap draws; below 2 it is the estimate alone."""

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **PriorEstimator._parameter_constraints,
        "n_bootstrap": [Interval(Integral, 0, None, closed="left")],
    }

    def _interval(self, samples: list[Sample], value: float) -> tuple[float, float]:
        if self.n_bootstrap < 2:
            return value, value
        rng = np.random.default_rng(self._seed)
        taken = (samples[k % len(samples)] for k in range(self.n_bootstrap))
        drawn = [self._estimate(sample.resampled(rng))[0] for sample in taken]
        half = float(norm.ppf(0.5 + 0.5 * self.level) * np.std(drawn, ddof=1))
        return value - half, value + half


def _mean_of(diagnostics: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The diagnostics of several repetitions: means of numbers, else the value of the first."""
    first = diagnostics[0]
    return {
        name: float(np.mean([each[name] for each in diagnostics])) if isinstance(value, float) else value
        for name, value in first.items()
    }
