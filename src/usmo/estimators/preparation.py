"""Before a fit: the validated table, the specification, and the prior and λ, given or chosen from the data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from usmo.core.arrays import Index
from usmo.core.groups import group_codes
from usmo.core.labels import check_class_weight
from usmo.core.table import Table
from usmo.core.targets import known_values, label_rule, validate_labelled
from usmo.fitting.default_lam import default_lam
from usmo.fitting.propensity import Propensity, estimate_propensity, refuse_few, refuse_many
from usmo.fitting.select import Selection, select
from usmo.fitting.specification import Specification
from usmo.kernels.gamma import forest_gamma, refuse_large_entries, resolve_gamma
from usmo.kernels.kernel import FORESTS, Kernel
from usmo.kernels.row_blocks import Blocks, PartFeatures, as_features
from usmo.priors import Consensus
from usmo.system.stages import LAMBDA, announce

ACCEPTED: dict[str, Any] = {
    "accept_sparse": "csr", "dtype": [np.float64, np.float32], "accept_large_sparse": True
}  # fmt: skip
"""Tables that all estimators accept."""

PRIOR_ROWS = 50_000
"""Most rows of P and of U that the prior estimator gets. It uses at most 20,000 of each (``usmo.priors.base``)."""

NEGATIVE_WEIGHT = 20.0
"""With eta="auto" a known negative weighs this many times 1 - π as much as an unlabelled row. More is better for a
random sample of negatives, and much worse for those from the top of a ranking (``python -m benchmarks.labels``)."""

PRIOR_ERROR = 0.5
"""Standard error of an estimated prior for the estimate of a propensity. It hardly fixes the level: estimates are off
by as much where classes overlap, and a wrong level would be taken for labels that are not at random."""

_FIELDS = (
    "scenario", "solver", "tol", "max_iter", "max_time", "checkpoint", "checkpoint_seconds", "approximation",
    "n_components", "class_weight", "n_trees",
)  # fmt: skip
"""Parameters of an estimator that a specification takes over unchanged."""


_ROUNDING = 1e-9
"""Relative difference of two shares that counts as rounding."""

_COLUMNS = "propensity_columns (columns of PropensityModel)"


def seed_of(random_state: Any) -> int:
    """An integer from ``random_state``; 0 for None, so that fits are reproducible by default."""
    return 0 if random_state is None else int(check_random_state(random_state).randint(2**31))


def prepare_table(
    model: Any, X: Any, y: Any, sample_weight: Any, propensity: Any = None, groups: Any = None
) -> Table:
    """Validate the arguments of ``fit``. scikit-learn sets ``n_features_in_`` and column names on the model."""
    check_parameters(model, propensity)
    if propensity is not None and model.prior != "estimate":
        raise ValueError(f"propensity implies the prior: leave prior='estimate', got prior={model.prior!r}")
    if isinstance(X, PartFeatures):
        if "kernel" in model.get_params(deep=False):
            raise ValueError(f"PartFeatures are for LinearPUSVC, got {type(model).__name__}: give X as an array")
        y = _check_parts(X, y)
        rule = label_rule(*known_values(y))
        model.n_features_in_ = X.shape[1]
        model.__dict__.pop("feature_names_in_", None)
    else:
        X, y, rule = validate_labelled(model, X, y, **ACCEPTED)
    table = Table.of(X, y, rule, sample_weight, square=getattr(model, "kernel", None) == "precomputed")
    table = replace(table, groups=group_codes(groups, X.shape[0]))
    if getattr(model, "propensity", None) == "estimate":
        columns = propensity_columns(model.propensity_columns, model)
        refuse_few(table)
        if columns is not None:
            refuse_many(columns)
    if model.prior != "estimate":
        check_prior(float(model.prior), table, model.scenario)
    return table if propensity is None else table.with_propensity(propensity, model.scenario)


def check_parameters(model: Any, propensity: Any = None) -> None:
    """Check the parameters of a classifier, each alone and with the others, and the propensities given to ``fit``."""
    model._validate_params()
    check_class_weight(getattr(model, "class_weight", None))
    check_approximation(model)
    _check_propensity(model, propensity)


def check_approximation(model: Any) -> None:
    """Refuse parameters that do not go with an approximation."""
    kind = getattr(model, "approximation", None)
    if kind is None:
        return
    if model.kernel in ("linear", "precomputed", *FORESTS) or (kind == "rff" and model.kernel != "rbf"):
        other = "one of learned trees" if model.kernel in FORESTS else "the linear one"
        accepted = "kernel='rbf'" if kind == "rff" else f"a kernel evaluated on rows, not {other}"
        raise ValueError(f"approximation={kind!r} needs {accepted}; got kernel={model.kernel!r}")
    if model.solver not in ("auto", "interior-point", "newton"):
        accepted = "'auto', 'interior-point' or 'newton'"
        raise ValueError(f"solver must be {accepted} for approximation={kind!r}, got {model.solver!r}")
    for name in ("checkpoint", "warm_start"):
        if getattr(model, name):
            raise ValueError(f"{name} does not work with approximation={kind!r}")


def _check_propensity(model: Any, given: Any) -> None:
    """Refuse propensities, given or to be estimated, that do not go with the other parameters."""
    name = type(model).__name__
    if isinstance(given, str):
        raise ValueError(
            f"propensity of fit must hold numbers, got {given!r}; to estimate it write {name}(propensity='estimate')"
        )
    if getattr(model, "propensity", None) is None:
        if getattr(model, "propensity_columns", None) is not None:
            raise ValueError(f"propensity_columns needs propensity='estimate', got {model.propensity_columns!r}")
        return
    if given is not None:
        raise ValueError(f"{name}(propensity='estimate') estimates what fit was given: leave out one of them")
    if model.scenario != "censored":
        raise ValueError(f"propensity='estimate' needs scenario='censored', got scenario={model.scenario!r}")
    if getattr(model, "kernel", None) == "precomputed":
        raise ValueError("propensity='estimate' needs the rows, not kernel='precomputed'")


def propensity_columns(given: Iterable[int | str] | None, model: Any) -> Index | None:
    """The numbers of the columns that the propensity depends on; None if it depends on the decision value."""
    if given is None:
        return None
    names, width = list(getattr(model, "feature_names_in_", [])), model.n_features_in_
    columns = [given] if isinstance(given, str) else list(given)
    found: list[int] = []
    for name in columns:
        place = names.index(name) if isinstance(name, str) and name in names else name
        if not isinstance(place, Integral) or isinstance(place, bool) or not 0 <= place < width:
            accepted = f"names of columns or numbers from 0 to {width - 1}"
            raise ValueError(f"{_COLUMNS} must hold {accepted}, got {name!r}")
        found.append(int(place))
    if not found or len(set(found)) < len(found):
        raise ValueError(f"{_COLUMNS} must hold one column at least, each once, got {columns!r}")
    return np.array(found, dtype=np.intp)


def _check_parts(X: PartFeatures, y: Any) -> np.ndarray:
    """The labels of a table in parts, after a pass that looks for NaN and infinity."""
    y = np.asarray(y)
    if y.shape != (X.shape[0],):
        raise ValueError(f"y must have one label per row, {X.shape[0]}; got shape {y.shape}")
    blocks, bad = Blocks(X), []

    def check(part: slice) -> None:
        block = blocks.block(part)
        if not np.isfinite(block.data if sparse.issparse(block) else block).all():
            bad.append(part.start)

    blocks.each(check)
    if bad:
        raise ValueError(f"Input X contains NaN or infinity, in rows {min(bad)} to {min(bad) + blocks.step - 1}")
    return y


def specification(model: Any, table: Table | None, gamma: float | None = None) -> Specification:
    """The specification of an estimator; γ is given, or resolved from the table."""
    parameters = model.get_params(deep=False)
    kernel = None
    if "kernel" in parameters:
        if gamma is None:
            assert table is not None
            if model.kernel in FORESTS:
                gamma = forest_gamma(model.gamma, table.X.shape[1])
            else:
                if model.kernel not in ("linear", "precomputed"):
                    refuse_large_entries(table.X)
                gamma = resolve_gamma(model.gamma, table.X, table.weight)
        kernel = Kernel(model.kernel, gamma, model.degree, model.coef0)
    fields = {name: parameters[name] for name in _FIELDS if name in parameters}
    cache_size = parameters.get("cache_size", "auto")
    return Specification(
        kernel=kernel,
        cache_size=None if cache_size == "auto" else float(cache_size),
        eta=0.0 if table is None else table_eta(model, table),
        seed=seed_of(model.random_state),
        **fields,
    )


def table_eta(model: Any, table: Table) -> float:
    """η of an estimator for this table; 0 without known negatives."""
    if len(table.negatives) == 0 or not hasattr(model, "eta"):
        return 0.0
    parts = table.negatives, table.sample(model.scenario)
    return resolve_eta(model.eta, *(float(table.sample_weight(rows).sum()) for rows in parts))


def resolve_eta(eta: Any, negatives: float, unlabelled: float) -> float:
    """The share of the PN risk: given, or by the rule of "auto" from the numbers of rows."""
    if eta != "auto":
        return float(eta)
    return NEGATIVE_WEIGHT * negatives / (NEGATIVE_WEIGHT * negatives + unlabelled)


@dataclass(frozen=True)
class Choices:
    """Prior and λ of a fit: given, or estimated with an interval and chosen by cross-validation."""

    prior: float
    lam: float
    interval: tuple[float, float] | None = None
    selection: Selection | None = None
    propensity: Propensity | None = None

    @property
    def prior_error(self) -> float:
        """The standard error of the prior; 0 if it was given."""
        return 0.0 if self.interval is None else PRIOR_ERROR

    def attributes(self) -> dict[str, Any]:
        """As fitted attributes."""
        attributes: dict[str, Any] = {"prior_": self.prior, "lam_": self.lam}
        if self.interval is not None:
            attributes["prior_interval_"] = self.interval
        if self.selection is not None:
            attributes["selection_"] = self.selection
        if self.propensity is not None:
            attributes["propensity_model_"] = self.propensity
        return attributes


_GIVE_PRIOR = 'give prior as a number in (0, 1) instead of prior="estimate"'


def choose(table: Table, spec: Specification, prior: Any, lam: Any, advice: str = _GIVE_PRIOR) -> Choices:
    """Take the prior and λ as given, or estimate the prior and choose λ on the table.

    ``advice`` ends the error if the prior cannot be estimated: what the caller takes instead.
    """
    if table.propensity is not None:
        value, interval = table.implied_prior, None
    else:
        value, interval = (float(prior), None) if prior != "estimate" else _needed_prior(table, spec, advice)
    if lam != "cv":
        return Choices(value, default_lam(table, spec) if lam == "auto" else float(lam), interval)
    announce(LAMBDA)
    selection = select(table, spec, value, seed=spec.seed)
    return Choices(value, selection.lam, interval, selection)


def _needed_prior(table: Table, spec: Specification, advice: str) -> tuple[float, tuple[float, float]]:
    """The estimate for a fit. An error also says what the fit takes instead."""
    try:
        return estimate_prior(table, spec)
    except ValueError as error:
        raise ValueError(f"{error}; {advice}") from error


def check_prior(prior: float, table: Table, scenario: str) -> None:
    """In the censored scenario the labelled positives are among the rows that the prior refers to."""
    if scenario == "censored":
        refuse_small_prior(
            prior, *(float(table.sample_weight(rows).sum()) for rows in (table.labelled, table.rows))
        )


def refuse_small_prior(prior: float, labelled: float, rows: float) -> None:
    """Refuse a prior below the share of labelled positives among all rows, of these total weights."""
    if prior < (1.0 - _ROUNDING) * labelled / rows:
        raise ValueError(
            f"prior must be at least {labelled / rows:.4g} with scenario='censored', the share of labelled positives "
            f"among all rows, got {prior:g}"
        )


def prepare_choices(model: Any, table: Table, spec: Specification, lam: Any) -> tuple[Table, Choices]:
    """The prior and λ of an estimator, and the table with the propensity if that is to be estimated.

    The propensity is estimated with the prior, and with the default λ of the kernel if ``lam`` is "cv"; λ is then
    chosen with the propensity.
    """
    if model.propensity is None:
        return table, choose(table, spec, model.prior, lam)
    given = choose(table, spec, model.prior, "auto" if lam == "cv" else lam)
    columns = propensity_columns(model.propensity_columns, model)
    found = estimate_propensity(table, spec, given.prior, given.lam, columns, prior_error=given.prior_error)
    e = np.ones(table.X.shape[0])
    e[table.labelled] = found.labelled
    table, given = replace(table, propensity=e), replace(given, propensity=found.propensity)
    if lam != "cv":
        return table, given
    announce(LAMBDA)
    selection = select(table, spec, given.prior, seed=spec.seed)
    return table, replace(given, lam=selection.lam, selection=selection)


def estimate_prior(table: Table, spec: Specification) -> tuple[float, tuple[float, float]]:
    """The prior and its interval, from a sample of at most ``PRIOR_ROWS`` rows of P and of U.

    Known negatives are left out: they tell more only if they are a random sample of the negatives, and rows that
    someone has looked at rarely are.
    """
    rng = np.random.default_rng(spec.seed)
    parts = [
        part if len(part) <= PRIOR_ROWS else np.sort(rng.choice(part, PRIOR_ROWS, replace=False))
        for part in (table.labelled, table.unlabelled)
    ]
    both = np.union1d(table.labelled, table.unlabelled)
    if spec.scenario == "censored" and len(parts[0]) + len(parts[1]) < len(both):
        # the ratio of the two parts matters here, so both are sampled at one rate
        rows = np.sort(rng.choice(both, 2 * PRIOR_ROWS, replace=False))
    else:
        rows = np.union1d(*parts)
    X = as_features(table.X).take(rows)
    weight = None if table.weight is None else table.weight[rows]
    groups = None if table.groups is None else table.groups[rows]
    is_labelled = np.isin(rows, table.labelled)
    estimate = Consensus(scenario=spec.scenario, random_state=spec.seed).fit(X, is_labelled, weight, groups=groups)
    if spec.scenario != "censored":
        return float(estimate.prior_), estimate.interval_
    # the prior refers to all rows, known negatives included
    mass = float(table.sample_weight(table.rows).sum())
    share, least = (float(table.sample_weight(part).sum()) / mass for part in (both, table.labelled))
    low, high = estimate.interval_
    return not_below(least, share * float(estimate.prior_), (share * low, share * high))


def not_below(least: float, prior: float, interval: tuple[float, float]) -> tuple[float, tuple[float, float]]:
    """A prior that was estimated on a sample, which may hold a smaller share of labelled positives than the table."""
    return max(prior, least), (max(interval[0], least), max(interval[1], least))
