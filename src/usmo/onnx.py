"""Fitted models as ONNX graphs, for runtimes without Python (extra ``usmo-learn[onnx]``). The function is::

    linear    f = x·w + β
    others    f = Σ α_i k(s_i, x) + β over the support vectors s_i, where k(s, x) is
              (γ x·s + r)^d,  tanh(γ x·s + r)  or  exp(-γ(‖x-c‖² + ‖s-c‖² - 2(x-c)·(s-c))) with c the mean of the s_i
    forest    f = Σ over trees of the value of the leaf of x, + β: a tree ensemble; with rbf on standardised columns

Apart from that ensemble, the graph consists of elementary operations. Its values differ from ``decision_function`` by
rounding: on two real tables by at most ``2e-16·(Σ|α_i k| + |β|)`` in float64 and 9e-8 of that sum in float32 (the
tests allow 1e-14 and 1e-6).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from usmo.core.arrays import Array
from usmo.estimators.base import PUClassifier
from usmo.kernels.forest import Forest
from usmo.kernels.kernel import FORESTS
from usmo.kernels.leaf_matrix import LEAF_SHARE
from usmo.system.extras import load_extra
from usmo.system.version import __version__

__all__ = ["to_onnx"]

_OPSET, _IR = 17, 8
"""Versions of 2022, which all later runtimes read; every operation used accepts float64."""

_TREE_OPSET, _TREE_IR = 5, 10
"""Versions for models with trees, of 2024: the first tree ensembles in float64. onnxruntime reads them from 1.20 on."""

_MAX_BYTES = 2**31 - 2**20
"""Bytes of the constants of a graph: a Protocol Buffers message has at most 2 GB."""


def to_onnx(model: Any, *, dtype: Any = np.float64) -> Any:
    """Convert the decision function of a fitted model to an ``onnx.ModelProto``.

    Parameters
    ----------
    model : PUSVC, LinearPUSVC or RampPUSVC, or a Pipeline of scalers that ends with one
        With the linear, rbf, poly or sigmoid kernel, or one of learned trees. Compressed models and
        ``approximation="nystroem"`` work too.
    dtype : float64 or float32, default=float64
        Type of the input and of all numbers in the graph.

    Returns
    -------
    onnx.ModelProto
        Input "X" of shape (rows, ``n_features_in_``); outputs "decision" of shape (rows,), f(x), and "label" of
        shape (rows,), the greater of ``classes_`` where f > 0. ``SerializeToString()`` gives the bytes of a file.
        The graph holds a number per row and support vector: feed many rows in batches.
    """
    check_is_fitted(model)
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float64 or float32, got {dtype!r}")
    *scalers, last = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    if not isinstance(last, PUClassifier):
        raise ValueError(f"model must be a PUSVC, LinearPUSVC or RampPUSVC, got {type(last).__name__}")
    graph = _Graph(np.dtype(dtype))
    rows = "X"
    for scaler in scalers:
        rows = _scaled(graph, scaler, rows)
    sums = _expansion(graph, last, rows) if hasattr(last, "_kernel") else _linear(graph, last, rows)
    decision = graph.add("Add", sums, graph.constant(last.intercept_), name="decision")
    above = graph.add("Cast", graph.add("Greater", decision, graph.constant(np.zeros(1))), to="int64")
    graph.add("Gather", graph.labels(last.classes_), above, name="label")
    return graph.finished(int(model.n_features_in_), type(last).__name__)


def _scaled(graph: _Graph, scaler: Any, rows: str) -> str:
    """The rows after a scaler, computed in the same order as scikit-learn does."""
    if scaler in (None, "passthrough"):
        return rows
    if getattr(scaler, "clip", False):
        raise ValueError(f"clip of {type(scaler).__name__} must be False for ONNX, got True")
    if type(scaler) in (StandardScaler, RobustScaler, MaxAbsScaler):
        centre = scaler.mean_ if isinstance(scaler, StandardScaler) else getattr(scaler, "center_", None)
        used = getattr(scaler, "with_mean", getattr(scaler, "with_centering", False))
        rows = graph.add("Sub", rows, graph.constant(centre)) if used else rows
        return rows if scaler.scale_ is None else graph.add("Div", rows, graph.constant(scaler.scale_))
    if type(scaler) is MinMaxScaler:
        return graph.add("Add", graph.add("Mul", rows, graph.constant(scaler.scale_)), graph.constant(scaler.min_))
    accepted = "StandardScaler, MinMaxScaler, MaxAbsScaler and RobustScaler"
    raise ValueError(f"steps before the classifier must be {accepted}; got {type(scaler).__name__}")


def _linear(graph: _Graph, model: Any, rows: str) -> str:
    return graph.vector(graph.product(rows, model.coef_.T))


def _expansion(graph: _Graph, model: Any, rows: str) -> str:
    """Σ α_i k(s_i, x)."""
    kernel = model._kernel
    if hasattr(model, "_map"):
        raise ValueError("approximation must be None or 'nystroem' for ONNX, got 'rff'")
    if kernel.name not in ("linear", "rbf", "poly", "sigmoid", *FORESTS):
        raise ValueError(f"kernel must be linear, rbf, poly, sigmoid or of trees for ONNX, got {kernel.name!r}")
    if kernel.name == "linear":
        return _linear(graph, model, rows)
    if kernel.name in FORESTS:
        return _forest(graph, model, rows)
    S = model.support_vectors_
    S = np.asarray(S.toarray() if sparse.issparse(S) else S, dtype=np.float64)
    values = _rbf(graph, S, kernel.gamma, rows) if kernel.name == "rbf" else _of_products(graph, S, kernel, rows)
    return graph.vector(graph.product(values, model.dual_coef_.T))


def _forest(graph: _Graph, model: Any, rows: str) -> str:
    """Σ over trees of the value of the leaf, plus the rbf part."""
    forest, kernel = model._forest, model._kernel
    values = graph.vector(_trees(graph, forest, model._leaf_values, rows))
    if kernel.name == "forest":
        return values
    S = forest.standardised(model.support_vectors_)
    centred = graph.add("Sub", rows, graph.constant(forest.centre))
    columns = graph.add("Mul", centred, graph.constant(forest.scale))
    products = graph.product(_rbf(graph, S, kernel.gamma, columns), (1.0 - LEAF_SHARE) * model.dual_coef_.T)
    return graph.add("Add", values, graph.vector(products))


def _trees(graph: _Graph, forest: Forest, leaf_values: Array, rows: str) -> str:
    """The tree ensemble. Like the model, it compares numbers rounded to float32 with float64 thresholds."""
    size = np.finfo(np.float32).max
    rows = graph.add("Clip", rows, graph.constant(np.array(-size)), graph.constant(np.array(size)))
    threshold = forest.threshold
    if graph.dtype == np.float64:
        rows = graph.add("Cast", graph.add("Cast", rows, to=np.float32), to=np.float64)
    else:  # the next float32 below: a float32 number is at most the threshold if and only if it is at most that
        rounded = threshold.astype(np.float32)
        threshold = np.where(rounded > threshold, np.nextafter(rounded, np.float32(-np.inf)), rounded)
    # Splits are numbered apart from leaves. A tree of one leaf gets a split whose sides are that leaf and a copy of it:
    # onnxruntime 1.23 adds up wrongly where one leaf is both sides.
    lone = forest.roots[:-1][forest.is_leaf[forest.roots[:-1]]]
    splits = np.union1d(np.flatnonzero(~forest.is_leaf), lone)
    is_lone = np.isin(splits, lone)
    left, right = (np.where(is_lone, splits, children[splits]) for children in (forest.left, forest.right))
    numbers = np.where(
        forest.is_leaf, np.cumsum(forest.is_leaf) - 1, np.searchsorted(splits, np.arange(len(threshold)))
    )
    right_numbers = numbers[right]
    right_numbers[is_lone] = len(leaf_values) + np.arange(len(lone))
    leaf_values = np.concatenate([leaf_values, leaf_values[numbers[lone]]])
    return graph.add(
        "TreeEnsemble", rows, domain="ai.onnx.ml", n_targets=1, aggregate_function=1, post_transform=0,
        tree_roots=np.searchsorted(splits, forest.roots[:-1]), nodes_featureids=forest.feature[splits],
        nodes_splits=graph.tensor(threshold[splits]),
        nodes_modes=graph.tensor(np.zeros(len(splits)), np.uint8),  # 0: at most the threshold
        nodes_truenodeids=numbers[left], nodes_trueleafs=forest.is_leaf[left].astype(int),
        nodes_falsenodeids=right_numbers, nodes_falseleafs=forest.is_leaf[right].astype(int),
        leaf_targetids=np.zeros(len(leaf_values), dtype=int), leaf_weights=graph.tensor(leaf_values),
    )  # fmt: skip


def _rbf(graph: _Graph, S: Array, gamma: float, rows: str) -> str:
    centre = S.mean(axis=0) if len(S) else np.zeros(S.shape[1])
    S = S - centre
    rows = graph.add("Sub", rows, graph.constant(centre))
    along = graph.constant(np.array([1]), np.int64)
    norms = graph.add("ReduceSum", graph.add("Mul", rows, rows), along, keepdims=1)
    distances = graph.add("Add", norms, graph.constant(np.einsum("ij,ij->i", S, S)))
    distances = graph.add("Add", distances, graph.product(rows, -2.0 * S.T))
    # rounding can make the distance of equal rows negative
    distances = graph.add("Max", distances, graph.constant(np.zeros(1)))
    return graph.add("Exp", graph.add("Mul", distances, graph.constant(np.array([-gamma]))))


def _of_products(graph: _Graph, S: Array, kernel: Any, rows: str) -> str:
    # γ goes into the constant: no factor is left that onnxruntime could fuse (see _Graph.product)
    shifted = graph.add("Add", graph.product(rows, kernel.gamma * S.T), graph.constant([kernel.coef0]))
    if kernel.name == "sigmoid":
        return graph.add("Tanh", shifted)
    return graph.add("Pow", shifted, graph.constant([kernel.degree]))


class _Graph:
    """Nodes and constants of a graph under construction; a name consists of the operation and a counter."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype, self.bytes = dtype, 0
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.onnx = load_extra("onnx", "to_onnx needs onnx", "onnx")

    def add(self, operation: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Append a node and return the name of its output."""
        helper = self.onnx.helper
        if "to" in attributes:
            attributes["to"] = helper.np_dtype_to_tensor_dtype(np.dtype(attributes["to"]))
        name = name or f"{operation}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, list(inputs), [name], name=name, **attributes))
        return name

    def tensor(self, array: Array, dtype: Any = None) -> Any:
        """Numbers as an attribute of a node, in the type of the graph by default."""
        return self.onnx.numpy_helper.from_array(np.asarray(array, dtype=dtype or self.dtype))

    def constant(self, value: Any, dtype: Any = None) -> str:
        """Append a constant, in the type of the graph by default, and return its name."""
        array = np.ascontiguousarray(value, dtype=dtype or self.dtype)
        if not np.isfinite(array).all():
            raise ValueError("a number of the model does not fit float32: use dtype=float64")
        self.bytes += array.nbytes
        if self.bytes > _MAX_BYTES:
            raise ValueError("an ONNX graph holds at most 2 GB: make the model smaller with compress")
        return self._append(array, f"constant_{len(self.constants)}")

    def product(self, rows: str, matrix: Array) -> str:
        """Append the product of rows and a constant matrix.

        onnxruntime fuses a scalar factor or divisor into a MatMul next to it and rounds the factor to float32. The
        scale of a table of one column is such a scalar, so that a matrix of one row is multiplied elementwise.
        """
        return self.add("Mul" if len(matrix) == 1 else "MatMul", rows, self.constant(matrix))

    def labels(self, classes: np.ndarray) -> str:
        """Append the classes as text, or as numbers of a type that runtimes can gather."""
        wide = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}.get(classes.dtype.kind, object)
        return self._append(classes.astype(wide), "classes")

    def vector(self, column: str) -> str:
        """Reshape a table of one column to a vector."""
        return self.add("Reshape", column, self.constant(np.array([-1]), np.int64))

    def finished(self, width: int, name: str) -> Any:
        """The checked model, with an input of ``width`` columns."""
        helper = self.onnx.helper
        describe = helper.make_tensor_value_info
        number = helper.np_dtype_to_tensor_dtype(self.dtype)
        trees = any(node.op_type == "TreeEnsemble" for node in self.nodes)
        label = next(tensor for tensor in self.constants if tensor.name == "classes").data_type
        inputs = [describe("X", number, ["rows", width])]
        outputs = [describe("decision", number, ["rows"]), describe("label", label, ["rows"])]
        model = helper.make_model(
            helper.make_graph(self.nodes, name, inputs, outputs, self.constants),
            opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _TREE_OPSET)][
                : 1 + trees
            ],
            ir_version=_TREE_IR if trees else _IR,
            producer_name="usmo",
            producer_version=__version__,
        )
        self.onnx.checker.check_model(model)
        return model

    def _append(self, array: np.ndarray, name: str) -> str:
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name
