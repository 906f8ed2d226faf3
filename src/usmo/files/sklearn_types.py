"""The scikit-learn classes that model files hold: the pipeline, scalers and random Fourier features."""

from __future__ import annotations

from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from usmo.files.errors import ModelFileError, need
from usmo.files.registry import register
from usmo.files.rules import array, optional, or_none, reals, size

COLUMNS = {"n_features_in_": size("columns"), **optional(feature_names_in_=array("text", "OU", "columns"))}
"""The width of the table that an estimator was fitted to; first in a table of rules, it gives "columns" its size."""

_WEIGHTS = {"random_weights_": reals("columns", "features"), "random_offset_": reals("features")}
SAMPLER = {**COLUMNS, "n_components": size("features"), **_WEIGHTS}
"""Rules for random Fourier features."""


def _check_steps(pipeline: Pipeline) -> None:
    pairs = (isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str) for step in pipeline.steps)
    need(all(pairs), "steps must be a list of pairs of a name and an estimator")
    try:
        pipeline._validate_steps()
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"steps are not a pipeline: {error}") from error


register(Pipeline, check=_check_steps)
register(RBFSampler, rules=SAMPLER)
register(Normalizer, rules=COLUMNS)
# a scaler without centring or scaling has None; a column without values has nan
_VECTOR = or_none(array("numbers", "f", "columns"))
register(StandardScaler, rules={**COLUMNS, "mean_": _VECTOR, "scale_": _VECTOR})
register(RobustScaler, rules={**COLUMNS, "center_": _VECTOR, "scale_": _VECTOR})
register(MinMaxScaler, rules={**COLUMNS, "min_": _VECTOR, "scale_": _VECTOR})
register(MaxAbsScaler, rules={**COLUMNS, "scale_": _VECTOR})
