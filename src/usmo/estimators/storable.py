"""Classes of this package that model files may hold: the estimators and the objects among their fitted attributes.

Names of classes in files never change: a class that gets another name is registered with its old one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from usmo.core.certificate import Certificate
from usmo.core.solution import PassRecord
from usmo.estimators.adaptation import QUANTILES, Reference
from usmo.estimators.calibration import Calibration, ShiftedCalibration
from usmo.estimators.compression import Compression
from usmo.estimators.linear import LinearPUSVC
from usmo.estimators.openset import OpenSetPUSVC
from usmo.estimators.outliers import PUOutlierDetector
from usmo.estimators.propensity import PropensityModel
from usmo.estimators.pusvc import PUSVC
from usmo.estimators.ramp import RampPUSVC
from usmo.estimators.search import PUSVCCV
from usmo.files import register
from usmo.files.errors import need
from usmo.files.rules import (
    Rule,
    array,
    conform,
    count,
    instance,
    number,
    optional,
    or_none,
    reals,
    record_rules,
    tuple_of,
)  # fmt: skip
from usmo.files.sklearn_types import COLUMNS, SAMPLER
from usmo.fitting.approximate import Approximation
from usmo.fitting.kernel_choice import KernelChoice
from usmo.fitting.propensity import Propensity
from usmo.fitting.select import Selection
from usmo.kernels.forest import MOST_LEAVES, MOST_TREES, Forest
from usmo.kernels.kernel import FIXED, FORESTS, Kernel
from usmo.kernels.maps import FourierMap

_KERNELS = (*FIXED, *FORESTS)
_KERNEL_NAME = Rule(f"one of {', '.join(_KERNELS)}", lambda name, sizes: str(name) in _KERNELS)


def _differ(classes: Any, sizes: Any) -> bool:
    """Two values that differ, and are not NaN."""
    return bool(classes[0] != classes[1] and (classes == classes).all())


_CLASSES = array("different values", "biufUO", 2, values=_differ)
_COEF = {"coef_": reals(1, "columns")}
_CLASSIFIER = {
    **COLUMNS,
    "classes_": _CLASSES,
    "prior_": number(0, 1),
    "intercept_": reals(1),
    **optional(
        **_COEF,
        threshold_=number(),
        lam_=number(0),
        n_iter_=count(),
        calibration_=instance(Calibration),
        certificate_=instance(Certificate),
        history_=tuple_of(PassRecord),
        prior_interval_=tuple_of(float, 2),
        selection_=instance(Selection),
        eta_=number(0, 1),
        propensity_=tuple_of(float, 2),
        propensity_model_=instance(Propensity),
        reference_=instance(Reference),
        decision_quantiles_=reals(QUANTILES),  # in older files
        drift_=number(-0.001, 1.001),
    ),
}

_CLASSIFIERS = (PUSVC, LinearPUSVC)
_CALIBRATED = {"calibration_": instance(Calibration)}


def _distinct(classes: Any, sizes: Any) -> bool:
    """Values that differ, and are not NaN."""
    return len(set(classes.tolist())) == len(classes) and bool((classes == classes).all())


_ROWS = array("row numbers", "iu", "support", values=lambda rows, sizes: rows.min(initial=0) >= 0)
_INSIDE = array(
    "columns of the matrix", "iu", "support", values=lambda rows, sizes: (rows < sizes["columns"]).all()
)
_SUPPORT = {"support_": _ROWS, "dual_coef_": reals(1, "support")}
_VECTORS = {"support_vectors_": reals("vectors", "width", csr=True)}
_EXPANSION = {**_CLASSIFIER, "_kernel": instance(Kernel), **optional(**_SUPPORT, **_VECTORS)}
_NODES = array("node numbers", "i", "nodes")
_FOREST = {
    "roots": array("node numbers", "i", "ends"),
    "left": _NODES,
    "right": _NODES,
    "feature": _NODES,
    "threshold": reals("nodes"),
    "centre": reals("columns"),
    "scale": reals("columns"),
}
_TREES = {"_forest": instance(Forest), "_leaf_values": reals("leaves")}
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
        if kernel in FORESTS:
            conform(model, {"_forest": _TREES["_forest"]})
            sizes = {"columns": len(model._forest.centre), "leaves": int(model._forest.is_leaf.sum())}
            conform(model, {**COLUMNS, **_TREES}, **sizes)
        conform(model, {**COLUMNS, **_SUPPORT, **rows, **(_COEF if kernel == "linear" else {})})


def _check_forest(forest: Forest) -> None:
    """Require that compiled loops stay inside the arrays, and that a row ends in a leaf of each tree."""
    roots, inner = forest.roots, forest.left >= 0
    whole = 2 <= len(roots) <= MOST_TREES + 1 and roots[0] == 0 and roots[-1] == len(forest.left)
    need(whole and (roots[1:] > roots[:-1]).all(), "Forest.roots must ascend from 0 to the number of nodes")
    node, ends = np.arange(len(inner)), np.repeat(roots[1:], np.diff(roots))
    for child in (forest.left, forest.right):
        # a child greater than its parent: no row goes round in a circle
        inside = np.where(inner, (child > node) & (child < ends), child == -1)
        need(inside.all(), "Forest has nodes whose children are not further nodes of their tree")
    columns = (forest.feature >= 0) & (forest.feature < len(forest.centre))
    need(columns.all(), "Forest.feature must be columns of the table")
    need(forest.most_leaves <= MOST_LEAVES, f"Forest has a tree of more than {MOST_LEAVES} leaves")


def _check_search(search: PUSVCCV) -> None:
    """Require that the chosen classifier is fitted, to as many columns."""
    conform(search.best_estimator_, _CLASSIFIER, columns=search.n_features_in_)


def _check_detector(detector: PUOutlierDetector) -> None:
    """Require that the classifier is fitted, to as many columns."""
    conform(detector.classifier_, _CLASSIFIER, columns=detector.n_features_in_)


def _check_propensity(model: PropensityModel) -> None:
    """Require a fitted classifier of as many columns, and a propensity of some of them or of a decision value."""
    conform(model.classifier_, _CLASSIFIER, columns=model.n_features_in_)
    found = model.propensity_model_
    inside = (found.columns >= 0) & (found.columns < model.n_features_in_)
    width = max(1, len(found.columns))
    sizes = {len(found.coef), len(found.centre), len(found.scale)}
    need(inside.all() and sizes == {width}, "Propensity must have coefficients of columns of the table")


def _check_open_set(model: OpenSetPUSVC) -> None:
    """Require a fitted classifier for every class but the last, each of as many columns."""
    known = isinstance(model.estimators_, tuple) and len(model.classes_) == len(model.estimators_) + 1 >= 2
    need(known, "OpenSetPUSVC.estimators_ must hold a classifier for every known class")
    for classifier in model.estimators_:
        need(isinstance(classifier, _CLASSIFIERS), "OpenSetPUSVC.estimators_ must hold PUSVC or LinearPUSVC")
        conform(classifier, {**_CLASSIFIER, **_CALIBRATED}, columns=model.n_features_in_)


for _record in (Certificate, PassRecord, Selection, KernelChoice, Approximation, Compression, Propensity):
    register(_record, rules=record_rules(_record))
_SLOPES = {"above": number(), "below": number(), "offset": number()}
register(Calibration, rules=_SLOPES)
register(ShiftedCalibration, rules={**_SLOPES, "shift": number(), "log_odds": number()})
_VALUES = {"labelled": reals(QUANTILES), "unlabelled": reals(QUANTILES)}
_SIZES = {"n_labelled": number(0), "n_unlabelled": number(0)}
_PRIORS = {"prior": number(0, 1), "low": number(-0.001, 1), "high": number(0, 1.001)}
register(Reference, rules={**_PRIORS, **_VALUES, **_SIZES, "inside": number(-0.001, 1.001)})
register(Kernel, rules={"name": _KERNEL_NAME, "gamma": number(0), "degree": number(), "coef0": number()})
register(
    FourierMap, rules={"sampler": instance(RBFSampler)}, check=lambda mapped: conform(mapped.sampler, SAMPLER)
)
register(Forest, rules=_FOREST, check=_check_forest)
register(LinearPUSVC, attributes=(), rules={**_CLASSIFIER, **_COEF, **optional(_share=reals("rows"))})
register(
    PUSVC,
    attributes=(),
    rules=_EXPANSION
    | optional(
        **_APPROXIMATE,
        **_TREES,
        compression_=instance(Compression),
        kernel_rows_=number(),
        _share=reals("rows"),
        _map_coef=reals("features"),
    ),
    check=_check_expansion,
)
register(
    RampPUSVC,
    attributes=(),
    rules=_EXPANSION
    | optional(objective_=number(), objectives_=instance(dict), start_=instance(str), violation_=number()),
    check=_check_expansion,
)
register(
    PUSVCCV,
    attributes=(),
    rules={
        **COLUMNS,
        "classes_": _CLASSES,
        "estimator": or_none(instance(*_CLASSIFIERS)),
        "best_estimator_": instance(*_CLASSIFIERS),
        "best_lam_": number(0),
        "best_gamma_": number(0),
        "prior_": number(0, 1),
        **optional(
            best_kernel_=instance(str),
            kernel_choice_=instance(KernelChoice),
            cv_results_=instance(dict),
            selection_=instance(Selection),
        ),
    },
    check=_check_search,
)
register(
    PUOutlierDetector,
    attributes=(),
    rules={
        **COLUMNS,
        "estimator": or_none(instance(*_CLASSIFIERS)),
        "classifier_": instance(*_CLASSIFIERS),
        "contamination_": number(0, 1),
        "offset_": number(),
    },
    check=_check_detector,
)
register(
    OpenSetPUSVC,
    attributes=(),
    rules={
        **COLUMNS,
        "estimator": or_none(instance(*_CLASSIFIERS)),
        "classes_": array("different values", "biufU", "classes", values=_distinct),
        "estimators_": instance(tuple),
        "priors_": reals("known"),
        "none_prior_": number(-1, 1),
    },
    check=_check_open_set,
)
register(
    PropensityModel,
    attributes=(),
    rules={
        **COLUMNS,
        "estimator": or_none(instance(*_CLASSIFIERS)),
        "classifier_": instance(*_CLASSIFIERS),
        "classes_": _CLASSES,
        "prior_": number(0, 1),
        "propensity_": reals("labelled"),
        "propensity_model_": instance(Propensity),
        "n_iter_": count(),
    },
    check=_check_propensity,
)
