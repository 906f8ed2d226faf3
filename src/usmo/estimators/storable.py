"""Classes of this package that model files may hold: the estimators and the objects among their fitted attributes.

Names of classes in files never change: a class that gets another name is registered with its old one.
"""

from __future__ import annotations

from typing import Any

from sklearn.kernel_approximation import RBFSampler

from usmo.core.certificate import Certificate
from usmo.core.solution import PassRecord
from usmo.estimators.calibration import Calibration
from usmo.estimators.compression import Compression
from usmo.estimators.linear import LinearPUSVC
from usmo.estimators.pusvc import PUSVC
from usmo.estimators.ramp import RampPUSVC
from usmo.estimators.search import PUSVCCV
from usmo.files import register
from usmo.files.rules import Rule, array, conform, instance, number, optional, reals
from usmo.files.sklearn_types import COLUMNS, SAMPLER
from usmo.fitting.approximate import Approximation
from usmo.fitting.select import Selection
from usmo.kernels.kernel import Kernel
from usmo.kernels.maps import FourierMap

_KERNELS = ("linear", "rbf", "poly", "sigmoid", "precomputed")
_KERNEL_NAME = Rule(f"one of {', '.join(_KERNELS)}", lambda name, sizes: str(name) in _KERNELS)
_CLASSES = array("ascending values", "biufUO", 2, values=lambda classes, sizes: classes[0] < classes[1])
_COEF = {"coef_": reals(1, "columns")}
_CLASSIFIER = {
    **COLUMNS,
    "classes_": _CLASSES,
    "prior_": number(0, 1),
    "intercept_": reals(1),
    **optional(
        **_COEF,
        threshold_=number(),
        calibration_=instance(Calibration),
        certificate_=instance(Certificate),
        history_=instance(tuple),
        selection_=instance(Selection),
    ),
}
_UNREAD = ("n_iter_", "lam_", "prior_interval_")
"""Attributes without a rule: no method of the estimators reads them."""

_ROWS = array("row numbers", "iu", "support", values=lambda rows, sizes: rows.min(initial=0) >= 0)
_INSIDE = array(
    "columns of the matrix", "iu", "support", values=lambda rows, sizes: (rows < sizes["columns"]).all()
)
_SUPPORT = {"support_": _ROWS, "dual_coef_": reals(1, "support")}
_EXPANSION = {**_CLASSIFIER, "_kernel": instance(Kernel), **optional(**_SUPPORT)}
_APPROXIMATE = {"approximation_": instance(Approximation), "_map": instance(FourierMap)}


def _check_expansion(model: Any) -> None:
    """Require the attributes that the decision function with this kernel reads."""
    kernel = model._kernel.name
    if hasattr(model, "_map"):
        sampler = model._map.sampler
        sizes = {"columns": sampler.n_features_in_, "features": sampler.n_components}
        conform(model, {**COLUMNS, "_map_coef": reals("features")}, **sizes)
    elif kernel == "precomputed":
        conform(model, {**COLUMNS, **_SUPPORT, "support_": _INSIDE, "support_vectors_": reals(0, 0)})
    else:
        rows = {"support_vectors_": reals("support", "columns", csr=True)}
        conform(model, {**COLUMNS, **_SUPPORT, **rows, **(_COEF if kernel == "linear" else {})})


for _record in (Certificate, PassRecord, Selection, Approximation, Compression):
    register(_record)
register(Calibration, rules={"above": number(), "below": number()})
register(Kernel, rules={"name": _KERNEL_NAME, "gamma": number(0), "degree": number(), "coef0": number()})
register(
    FourierMap, rules={"sampler": instance(RBFSampler)}, check=lambda mapped: conform(mapped.sampler, SAMPLER)
)
register(LinearPUSVC, attributes=_UNREAD, rules={**_CLASSIFIER, **_COEF})
register(
    PUSVC,
    attributes=(*_UNREAD, "support_vectors_", "kernel_rows_", "_map_coef"),
    rules=_EXPANSION | optional(compression_=instance(Compression), _share=reals("rows"), **_APPROXIMATE),
    check=_check_expansion,
)
register(
    RampPUSVC,
    attributes=(*_UNREAD, "support_vectors_", "objective_", "objectives_", "start_", "violation_"),
    rules=_EXPANSION,
    check=_check_expansion,
)
register(
    PUSVCCV,
    attributes=("best_lam_", "best_gamma_", "cv_results_", "selection_", "prior_"),
    rules={**COLUMNS, "classes_": _CLASSES, "best_estimator_": instance(PUSVC, LinearPUSVC)},
)
