"""Fitted models as ONNX graphs, for runtimes without Python (extra ``usmo[onnx]``).

    linear  f = x·w + β          else  f = Σ α_i k(s_i, x) + β over the support vectors s_i, with k from x·s:
    (γ x·s + r)^d,  tanh(γ x·s + r),  exp(-γ(‖x-c‖² + ‖s-c‖² - 2(x-c)·(s-c)))  where c is the mean of the s

The graph is made of elementary operations only. In float64 its values differ from ``decision_function`` by
rounding: by at most 2e-16·(Σ|α_i k| + |β|) on two real tables, in float32 by 9e-8 of it (tests: 1e-14 and 1e-6).
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
from usmo.system.extras import load_extra

_OPSET, _IR = 17, 8
"""Of 2022: read by every runtime since, and all operations used take float64."""

_MOST_BYTES = 2**31 - 2**20
"""Of the numbers in a graph: Protocol Buffers, in which it is written, end at 2 GB."""

_MAKE_SMALLER = "make the model smaller with compress"


def to_onnx(model: Any, *, dtype: Any = np.float64) -> Any:
    """The decision function of a fitted model as an ``onnx.ModelProto``.

    Parameters
    ----------
    model : PUSVC, LinearPUSVC or RampPUSVC, or a Pipeline of scalers that ends with one
        With the linear, rbf, poly or sigmoid kernel; ``approximation="nystroem"`` and compressed models included.
    dtype : float64 or float32, default=float64
        Type of the input and of all numbers in the graph.

    Returns
    -------
    onnx.ModelProto
        Input "X" of shape (rows, n_features_in_); outputs "decision" of shape (rows,), f(x), and "label" of
        shape (rows,), the greater of ``classes_`` where f > 0. ``SerializeToString()`` gives the bytes of a file.
        The graph computes rows × support vectors at once: feed many rows in batches.
    """
    check_is_fitted(model)
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float64 or float32, got {dtype!r}")
    scalers, last = (
        ([step for _, step in model.steps[:-1]], model[-1]) if isinstance(model, Pipeline) else ([], model)
    )
    if not isinstance(last, PUClassifier):
        raise ValueError(f"model must be a PUSVC, LinearPUSVC or RampPUSVC, got {type(last).__name__}")
    graph = _Graph(kind)
    rows = "X"
    for scaler in scalers:
        rows = _scaled(graph, scaler, rows)
    sums = _linear(graph, last, rows) if not hasattr(last, "_kernel") else _expansion(graph, last, rows)
    decision = graph.add("Add", sums, graph.constant(last.intercept_), name="decision")
    above = graph.add("Cast", graph.add("Greater", decision, graph.constant(np.zeros(1))), to="int64")
    graph.add("Gather", graph.labels(last.classes_), above, name="label")
    return graph.finished(int(model.n_features_in_), last)


def _scaled(graph: _Graph, scaler: Any, rows: str) -> str:
    """The rows after a scaler, in the order in which scikit-learn computes it."""
    if scaler in (None, "passthrough"):
        return rows
    if type(scaler) in (StandardScaler, RobustScaler, MaxAbsScaler):
        centre = scaler.mean_ if isinstance(scaler, StandardScaler) else getattr(scaler, "center_", None)
        used = getattr(scaler, "with_mean", getattr(scaler, "with_centering", False))
        rows = graph.add("Sub", rows, graph.constant(centre)) if used else rows
        return rows if scaler.scale_ is None else graph.add("Div", rows, graph.constant(scaler.scale_))
    if type(scaler) is MinMaxScaler and not scaler.clip:
        return graph.add("Add", graph.add("Mul", rows, graph.constant(scaler.scale_)), graph.constant(scaler.min_))
    accepted = "StandardScaler, MinMaxScaler (clip=False), MaxAbsScaler and RobustScaler"
    raise ValueError(f"steps before the classifier must be {accepted}; got {type(scaler).__name__}")


def _linear(graph: _Graph, model: Any, rows: str) -> str:
    return graph.vector(graph.add("MatMul", rows, graph.constant(model.coef_.T)))


def _expansion(graph: _Graph, model: Any, rows: str) -> str:
    """Σ α_i k(s_i, x)."""
    kernel = model._kernel
    if hasattr(model, "_map"):
        raise ValueError("approximation must be None or 'nystroem' for ONNX, got 'rff'")
    if kernel.name not in ("linear", "rbf", "poly", "sigmoid"):
        raise ValueError(f"kernel must be linear, rbf, poly or sigmoid for ONNX, got {kernel.name!r}")
    if kernel.name == "linear":
        return _linear(graph, model, rows)
    S = model.support_vectors_
    S = np.asarray(S.toarray() if sparse.issparse(S) else S, dtype=np.float64)
    values = _rbf(graph, S, kernel.gamma, rows) if kernel.name == "rbf" else _of_products(graph, S, kernel, rows)
    return graph.vector(graph.add("MatMul", values, graph.constant(model.dual_coef_.T)))


def _rbf(graph: _Graph, S: Array, gamma: float, rows: str) -> str:
    centre = S.mean(axis=0) if len(S) else np.zeros(S.shape[1])
    S = S - centre
    rows = graph.add("Sub", rows, graph.constant(centre))
    along = graph.constant(np.array([1]), np.int64)
    norms = graph.add("ReduceSum", graph.add("Mul", rows, rows), along, keepdims=1)
    distances = graph.add("Add", norms, graph.constant(np.einsum("ij,ij->i", S, S)))
    distances = graph.add("Add", distances, graph.add("MatMul", rows, graph.constant(-2.0 * S.T)))
    # rounding can take the distance of equal rows below zero
    distances = graph.add("Max", distances, graph.constant(np.zeros(1)))
    return graph.add("Exp", graph.add("Mul", distances, graph.constant(np.array([-gamma]))))


def _of_products(graph: _Graph, S: Array, kernel: Any, rows: str) -> str:
    # γ goes into the constant: a factor after a product is turned by onnxruntime into one of float32
    products = graph.add("MatMul", rows, graph.constant(kernel.gamma * S.T))
    shifted = graph.add("Add", products, graph.constant([kernel.coef0]))
    if kernel.name == "sigmoid":
        return graph.add("Tanh", shifted)
    return graph.add("Pow", shifted, graph.constant([kernel.degree]))


class _Graph:
    """Nodes and constants of a graph in the making; names are given as they come."""

    def __init__(self, kind: np.dtype[Any]) -> None:
        self.kind, self.nodes, self.constants = kind, [], []  # type: tuple[Any, list[Any], list[Any]]
        self.bytes = 0
        self.helper = _onnx().helper

    def add(self, operation: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        if "to" in attributes:
            attributes["to"] = self.helper.np_dtype_to_tensor_dtype(np.dtype(attributes["to"]))
        name = name or f"{operation}_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(operation, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, value: Any, dtype: Any = None) -> str:
        array = np.ascontiguousarray(value, dtype=dtype or self.kind)
        if not np.isfinite(array).all():
            raise ValueError("a number of the model does not fit float32: use dtype=float64")
        self.bytes += array.nbytes
        if self.bytes > _MOST_BYTES:
            raise ValueError(f"an ONNX graph holds at most 2 GB: {_MAKE_SMALLER}")
        return self._keep(_onnx().numpy_helper.from_array(array, f"constant_{len(self.constants)}"))

    def labels(self, classes: np.ndarray) -> str:
        """The classes as a constant: text, or numbers in a type that runtimes pick from."""
        wide = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}.get(classes.dtype.kind, object)
        return self._keep(_onnx().numpy_helper.from_array(classes.astype(wide), "classes"))

    def vector(self, column: str) -> str:
        return self.add("Reshape", column, self.constant(np.array([-1]), np.int64))

    def finished(self, width: int, model: Any) -> Any:
        from usmo import __version__

        onnx, helper = _onnx(), self.helper
        number = helper.np_dtype_to_tensor_dtype(self.kind)
        label = next(tensor for tensor in self.constants if tensor.name == "classes").data_type
        graph = helper.make_graph(
            self.nodes,
            type(model).__name__,
            [helper.make_tensor_value_info("X", number, ["rows", width])],
            [
                helper.make_tensor_value_info(name, kind, ["rows"])
                for name, kind in (("decision", number), ("label", label))
            ],
            self.constants,
        )
        made = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR,
            producer_name="usmo", producer_version=__version__,
        )  # fmt: skip
        onnx.checker.check_model(made)
        return made

    def _keep(self, tensor: Any) -> str:
        self.constants.append(tensor)
        return str(tensor.name)


def _onnx() -> Any:
    return load_extra("onnx", "to_onnx needs onnx", "onnx")
