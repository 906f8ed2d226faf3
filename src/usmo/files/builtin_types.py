"""The classes registered from the start: the estimators, their parts, scikit-learn's pipeline and scalers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from usmo.columns import TableEncoder
from usmo.core.problem import Certificate
from usmo.core.solution import PassRecord
from usmo.estimators.calibration import Calibration
from usmo.estimators.compression import Compression
from usmo.estimators.linear import LinearPUSVC
from usmo.estimators.pusvc import PUSVC
from usmo.estimators.ramp import RampPUSVC
from usmo.files.errors import need
from usmo.fitting.approximate import Approximation, FourierMap
from usmo.fitting.select import PUSVCCV, Selection
from usmo.kernels.matrix import Kernel

_COMMON = (
    "classes_ prior_ prior_interval_ n_features_in_ feature_names_in_ intercept_ coef_ n_iter_ threshold_ lam_ "
    "calibration_ selection_"
)
_JUDGED = "certificate_ history_"
_KERNEL = "_kernel support_ support_vectors_ dual_coef_"
_SCALER = ("mean_", "var_", "scale_", "min_", "center_", "max_abs_", "data_min_", "data_max_", "data_range_")
_KERNELS = ("linear", "rbf", "poly", "sigmoid", "precomputed")


def register_all(register: Callable[..., type]) -> None:
    """Names in files never change; a class that moves keeps its name."""
    register(Certificate)
    register(PassRecord)
    register(Approximation)
    register(Compression)
    register(Calibration, check=_check_calibration)
    register(Selection, check=_check_selection)
    register(Kernel, check=_check_kernel)
    register(FourierMap, attributes=["sampler"], check=_check_fourier)
    more = "approximation_ compression_ kernel_rows_ _share _map _map_coef"
    register(PUSVC, attributes=f"{_COMMON} {_JUDGED} {_KERNEL} {more}".split(), check=_check_expansion)
    register(LinearPUSVC, attributes=f"{_COMMON} {_JUDGED}".split(), check=_check_linear)
    ramp = "objective_ objectives_ start_"
    register(RampPUSVC, attributes=f"{_COMMON} {_KERNEL} {ramp}".split(), check=_check_expansion)
    searched = "best_estimator_ best_lam_ best_gamma_ cv_results_ selection_ classes_ prior_"
    register(PUSVCCV, attributes=[*searched.split(), "n_features_in_", "feature_names_in_"], check=_check_search)
    register(TableEncoder, check=_check_encoder)
    register(RBFSampler, check=_check_sampler)
    register(Pipeline, check=_check_pipeline)
    for scaler, names in (
        (StandardScaler, ("mean_", "scale_")), (MinMaxScaler, ("scale_", "min_")), (MaxAbsScaler, ("scale_",)),
        (RobustScaler, ("center_", "scale_")), (Normalizer, ()),
    ):  # fmt: skip
        register(scaler, check=_scaler_check(names))


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 0)


def _reals(value: Any, *shape: int) -> bool:
    """A finite array of floats of this shape."""
    real = isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.shape == shape
    return bool(real and np.isfinite(value).all())


def _rows(value: Any, *shape: int) -> bool:
    """The same, or CSR rows."""
    if not sparse.issparse(value):
        return _reals(value, *shape)
    return bool(value.shape == shape and value.dtype.kind == "f" and np.isfinite(value.data).all())


def _has(value: Any, *names: str) -> None:
    for name in names:
        need(name in vars(value), f"{type(value).__name__} has no attribute {name!r}; it is not fitted")


def _check_width(model: Any) -> int:
    """n_features_in_ and the names of the columns."""
    _has(model, "n_features_in_")
    width = model.n_features_in_
    need(_count(width) and width >= 1, f"n_features_in_ must be a number of columns, got {str(width)[:40]}")
    names = getattr(model, "feature_names_in_", None)
    named = isinstance(names, np.ndarray) and names.shape == (width,) and names.dtype.kind in "OU"
    need(names is None or named, "feature_names_in_ must hold a name per column")
    return int(width)


def _check_common(model: Any) -> int:
    """What all classifiers have; returns the number of columns."""
    width = _check_width(model)
    _has(model, "classes_", "prior_", "intercept_", "n_iter_")
    classes = model.classes_
    two = isinstance(classes, np.ndarray) and classes.shape == (2,) and classes.dtype.kind in "biufUO"
    need(two and bool(classes[0] < classes[1]), "classes_ must hold two values in ascending order")
    need(_number(model.prior_) and 0 < model.prior_ < 1, "prior_ must lie in (0, 1)")
    interval = getattr(model, "prior_interval_", (0.0, 1.0))
    pair = isinstance(interval, tuple) and len(interval) == 2 and all(map(_number, interval))
    need(pair, "prior_interval_ must be two numbers")
    need(_reals(model.intercept_, 1), "intercept_ must be one finite number")
    need("coef_" not in vars(model) or _reals(model.coef_, 1, width), f"coef_ must hold {width} finite numbers")
    need(_count(model.n_iter_), "n_iter_ must be a count")
    history = getattr(model, "history_", ())
    passes = isinstance(history, tuple) and all(type(record) is PassRecord for record in history)
    need(passes, "history_ must be a tuple of PassRecord")
    for name, cls in (
        ("certificate_", Certificate),
        ("approximation_", Approximation),
        ("compression_", Compression),
        ("calibration_", Calibration),
        ("selection_", Selection),
    ):
        need(name not in vars(model) or type(getattr(model, name)) is cls, f"{name} must be a {cls.__name__}")
    for name in ("threshold_", "lam_"):
        value = getattr(model, name, 0.0)
        need(_number(value) and math.isfinite(value), f"{name} must be a finite number")
    return width


def _check_calibration(value: Any) -> None:
    slopes = (value.above, value.below)
    need(all(_number(s) and 0 <= s < math.inf for s in slopes), "Calibration must hold two finite slopes")


def _check_selection(value: Any) -> None:
    shape = np.shape(value.mean)
    risks = len(shape) == 2 and _reals(value.mean, *shape) and _reals(value.error, *shape)
    need(risks, "Selection must hold risks and their errors")
    need(_reals(value.gammas, shape[0]) and _reals(value.lams, shape[1]), "Selection must hold a λ and γ per risk")
    numbers = (value.lam, value.gamma, value.best_lam)
    need(all(_number(n) and 0 < n < math.inf for n in numbers), "Selection must hold the choice")
    held, rows = value.held_out, value.rows
    need(isinstance(held, np.ndarray) and _reals(held, held.size), "held_out must be finite numbers")
    index = isinstance(rows, np.ndarray) and rows.dtype.kind == "i" and rows.shape == held.shape
    need(index, "Selection must hold a row per held-out value")


def _check_search(model: Any) -> None:
    _has(model, "best_estimator_", "classes_", "n_features_in_")
    need(type(model.best_estimator_) in (PUSVC, LinearPUSVC), "best_estimator_ must be a fitted classifier")


def _check_encoder(model: Any) -> None:
    _has(model, "columns_", "n_features_in_")
    records = isinstance(model.columns_, list) and all(isinstance(c, dict) for c in model.columns_)
    need(records, "columns_ must be a list of records")


def _check_linear(model: Any) -> None:
    _check_common(model)
    _has(model, "coef_")


def _check_expansion(model: Any) -> None:
    """f = Σ α·k(x_i, ·) + β, or the map of random Fourier features."""
    width = _check_common(model)
    _has(model, "_kernel")
    need(type(model._kernel) is Kernel, "_kernel must be a Kernel")
    for name in ("kernel_rows_", "objective_"):
        need(_number(getattr(model, name, 0)), f"{name} must be a number")
    share = getattr(model, "_share", np.empty(0))
    need(isinstance(share, np.ndarray) and _reals(share, share.size), "_share must be finite numbers")
    scores = getattr(model, "objectives_", {})
    need(isinstance(scores, dict) and all(map(_number, scores.values())), "objectives_ must hold numbers by name")
    need(isinstance(getattr(model, "start_", ""), str), "start_ must be the name of a start")
    if "_map" in vars(model):
        _has(model, "_map_coef")
        need(type(model._map) is FourierMap, "_map must be a FourierMap")
        weights = model._map.sampler.random_weights_
        agree = weights.shape[0] == width and _reals(model._map_coef, weights.shape[1])
        need(agree, "_map_coef must hold a finite number per feature of the map")
        return
    _has(model, "support_", "support_vectors_", "dual_coef_")
    support, linear = model.support_, model._kernel.name == "linear"
    rows = isinstance(support, np.ndarray) and support.ndim == 1 and support.dtype.kind in "iu"
    need(rows and support.min(initial=0) >= 0, "support_ must hold row numbers")
    need(_reals(model.dual_coef_, 1, len(support)), "dual_coef_ must hold a finite number per entry of support_")
    if linear:
        _has(model, "coef_")
    if model._kernel.name == "precomputed":
        need(support.max(initial=0) < width, "support_ must lie within the columns of the kernel matrix")
        need(_rows(model.support_vectors_, 0, 0), "support_vectors_ must be empty for a precomputed kernel")
    else:
        good = _rows(model.support_vectors_, len(support), width)
        need(good, f"support_vectors_ must be a finite table of {len(support)} rows and {width} columns")


def _check_kernel(kernel: Kernel) -> None:
    need(
        isinstance(kernel.name, str),
        "kernel must be the name of a kernel for a model file, got a callable: a file holds no code",
    )
    need(kernel.name in _KERNELS, f"kernel must be one of {', '.join(_KERNELS)}, got {str(kernel.name)[:40]!r}")
    numbers = (kernel.gamma, kernel.degree, kernel.coef0)
    good = all(math.isfinite(part) for part in numbers) and kernel.gamma > 0 and kernel.degree >= 0
    need(good, f"the kernel's gamma, degree and coef0 must be finite, the first positive; got {numbers}")


def _check_fourier(mapped: FourierMap) -> None:
    _has(mapped, "sampler")
    need(type(mapped.sampler) is RBFSampler, "sampler must be an RBFSampler")


def _check_sampler(sampler: RBFSampler) -> None:
    width = _check_width(sampler)
    _has(sampler, "random_weights_", "random_offset_")
    count = int(sampler.n_components)
    good = _reals(sampler.random_weights_, width, count) and _reals(sampler.random_offset_, count)
    need(good, f"random_weights_ and random_offset_ must be {width} × {count} and {count} finite numbers")


def _check_pipeline(pipeline: Pipeline) -> None:
    steps = vars(pipeline).get("steps")
    good = isinstance(steps, list) and len(steps) > 0
    good = good and all(isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str) for step in steps)
    need(good, "steps must be a list of names and estimators")
    names = [name for name, _ in steps]
    need(len(set(names)) == len(names) and not any("__" in name for name in names), "steps must have plain names")
    for k, (name, step) in enumerate(steps):
        idle = step is None or (isinstance(step, str) and step == "passthrough")
        good = hasattr(step, "get_params") and (k == len(steps) - 1 or hasattr(step, "transform"))
        need(idle or good, f"the step {name[:80]!r} must be an estimator, all but the last with transform")
    need(pipeline.memory is None or isinstance(pipeline.memory, str), "memory must be None or a folder")


def _scaler_check(names: tuple[str, ...]) -> Callable[[Any], None]:
    def check(scaler: Any) -> None:
        width = _check_width(scaler)
        _has(scaler, *names)
        for name in _SCALER:
            part = getattr(scaler, name, None)
            good = isinstance(part, np.ndarray) and part.shape == (width,) and part.dtype.kind == "f"
            need(part is None or good, f"{name} must hold {width} numbers")

    return check
