"""The scikit-learn classes that model files hold: the pipeline, scalers and random Fourier features."""

from __future__ import annotations

from typing import Any

from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from usmo.files.errors import ModelFileError, need
from usmo.files.registry import class_of, register
from usmo.files.rules import array, conform, optional, or_none, reals, size

COLUMNS = {"n_features_in_": size("columns"), **optional(feature_names_in_=array("text", "OU", "columns"))}
"""The width of the table that an estimator was fitted to; first in a table of rules, it gives "columns" its size."""

_WEIGHTS = {"random_weights_": reals("columns", "features"), "random_offset_": reals("features")}
SAMPLER = {**COLUMNS, "n_components": size("features"), **_WEIGHTS}
"""Rules for random Fourier features."""


def _check_steps(pipeline: Pipeline) -> None:
    """Require fitted steps, of which each accepts as many columns as the one before it makes."""
    pairs = (isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str) for step in pipeline.steps)
    need(all(pairs), "steps must be a list of pairs of a name and an estimator")
    try:
        pipeline._validate_steps()
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"steps are not a pipeline: {error}") from error
    columns = None
    for name, step in _estimators(pipeline):
        stored = class_of(step)
        conform(step, stored.rules if stored else {})
        width = getattr(step, "n_features_in_", None)
        fits = None in (columns, width) or columns == width
        need(fits, f"the step {name!r} has {width} columns, and the step before it makes {columns}")
        columns = _outputs(step)


def _estimators(pipeline: Pipeline) -> list[tuple[str, Any]]:
    return [(name, step) for name, step in pipeline.steps if step not in (None, "passthrough")]


def _outputs(step: Any) -> int | None:
    """The number of columns that a transformer makes, None if its class does not say."""
    if isinstance(step, Pipeline):
        steps = _estimators(step)
        return _outputs(steps[-1][1]) if steps else None
    stored = class_of(step)
    return None if stored is None or stored.outputs is None else stored.outputs(step)


def _check_scaling(scaler: Any) -> None:
    """Require the centre and the scale that the parameters of a scaler make ``transform`` use."""
    for parameter, name in (
        ("with_mean", "mean_"), ("with_centering", "center_"), ("with_std", "scale_"), ("with_scaling", "scale_"),
    ):  # fmt: skip
        used = getattr(scaler, parameter, False) and hasattr(scaler, name)
        need(not used or getattr(scaler, name) is not None, f"{name} must not be None with {parameter}=True")


def _width(transformer: Any) -> int:
    return int(transformer.n_features_in_)


register(Pipeline, check=_check_steps)
register(RBFSampler, rules=SAMPLER, outputs=lambda sampler: int(sampler.n_components))
register(Normalizer, rules=COLUMNS, outputs=_width)
# a column without values has nan; a scaler without centring or scaling has None
_VECTOR = array("numbers", "f", "columns")
_OPTIONAL = or_none(_VECTOR)
for _scaler, _rules in (
    (StandardScaler, {"mean_": _OPTIONAL, "scale_": _OPTIONAL}),
    (RobustScaler, {"center_": _OPTIONAL, "scale_": _OPTIONAL}),
    (MinMaxScaler, {"min_": _VECTOR, "scale_": _VECTOR}),
    (MaxAbsScaler, {"scale_": _VECTOR}),
):
    register(_scaler, rules={**COLUMNS, **_rules}, check=_check_scaling, outputs=_width)
