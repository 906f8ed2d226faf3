"""ONNX graphs: a runtime that knows nothing of the package decides as the model does."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from usmo import PUSVC, LinearPUSVC, RampPUSVC
from usmo.datasets import make_pu
from usmo.onnx import to_onnx

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

TOLERANCE = {np.float64: 1e-14, np.float32: 1e-6}
"""Largest difference, in units of Σ|α_i k(s_i, x)| + |β|, the sum whose rounding it is."""


def real_rows(name):
    X, y = {"digits": load_digits, "cancer": load_breast_cancer}[name](return_X_y=True)
    labels, _ = make_pu(y == (3 if name == "digits" else 1), n_positives=40, random_state=0)
    return X / 16 if name == "digits" else X, labels


def run(model, X, dtype=np.float64):
    session = runtime.InferenceSession(
        to_onnx(model, dtype=dtype).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(["decision", "label"], {"X": X.astype(dtype)})


def size_of_terms(model, X):
    """Σ|α_i k(s_i, x)| + |β| for each row, from the formulas."""
    alpha, S, kernel = model.dual_coef_[0], model.support_vectors_, model._kernel
    S = S.toarray() if sparse.issparse(S) else S.astype(float)
    products = X @ S.T
    K = {
        "linear": lambda: products,
        "rbf": lambda: np.exp(-kernel.gamma * ((X[:, None] - S[None]) ** 2).sum(axis=2)),
        "poly": lambda: (kernel.gamma * products + kernel.coef0) ** kernel.degree,
        "sigmoid": lambda: np.tanh(kernel.gamma * products + kernel.coef0),
    }[kernel.name]()
    return np.abs(K) @ np.abs(alpha) + np.abs(model.intercept_)


@pytest.mark.filterwarnings("ignore:the kernel matrix is indefinite")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("table", ["digits", "cancer"])
@pytest.mark.parametrize(
    "model",
    [
        PUSVC(0.1),
        PUSVC(0.1, kernel="linear"),
        PUSVC(0.1, kernel="poly", degree=2, coef0=1.0),
        PUSVC(0.1, kernel="poly", degree=3, gamma=0.01),
        PUSVC(0.1, kernel="sigmoid", gamma=1e-3, coef0=-0.5),
        PUSVC(0.1, approximation="nystroem", n_components=30),
        RampPUSVC(0.1, lam=0.1),
    ],
    ids=str,
)
def test_runtime_decides_as_the_model_does(model, table, dtype):
    X, labels = real_rows(table)
    X = (X - X.mean(0)) / (X.std(0) + 1e-9) if table == "cancer" else X
    model.fit(X[:500], labels[:500])
    rows = X[-200:].astype(dtype)
    decision, label = run(model, rows, dtype)
    expected, scale = model.decision_function(rows), size_of_terms(model, rows.astype(float))
    assert decision.dtype == dtype
    assert np.max(np.abs(decision - expected) / scale) < TOLERANCE[dtype]
    sure = np.abs(expected) > TOLERANCE[dtype] * scale
    np.testing.assert_array_equal(label[sure], model.predict(rows)[sure])
    assert len(np.unique(label)) == 2 or np.all(expected > 0) or np.all(expected <= 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", ["forest", "forest+rbf"])
def test_trees_decide_as_the_model_does(kernel, dtype):
    X, labels = real_rows("cancer")
    model = PUSVC(0.5, kernel=kernel, n_trees=40).fit(X[:500], labels[:500])
    forest = model._forest
    at = np.flatnonzero(~forest.is_leaf)[:60]
    rows = np.repeat(X[-60:], 2, axis=0)
    rows[np.arange(60), forest.feature[at]] = forest.threshold[
        at
    ]  # on a threshold, after rounding perhaps beside it
    rows = np.vstack([rows, np.full((1, X.shape[1]), 1e300)]) if dtype == np.float64 else rows.astype(dtype)
    decision, label = run(model, rows, dtype)
    expected = model.decision_function(rows)
    np.testing.assert_allclose(decision, expected, atol={np.float64: 1e-14, np.float32: 2e-6}[dtype], rtol=0)
    sure = np.abs(expected) > 1e-5
    np.testing.assert_array_equal(label[sure], model.predict(rows)[sure])


def test_trees_of_one_leaf_are_part_of_the_graph():
    y = np.arange(300) < 40
    X = np.zeros((300, 2))
    X[:3, 0] = 1.0  # in few draws often enough for a split
    model = PUSVC(0.3, kernel="forest", n_trees=40).fit(X, y)
    counts = model._forest.leaf_counts
    assert counts.min() == 1 < counts.max()
    decision, _ = run(model, X)
    np.testing.assert_allclose(decision, model.decision_function(X), atol=1e-14)


def test_rows_far_from_the_origin_lose_nothing():
    """The distances are taken from the centre of the support vectors: ‖x‖² alone would cancel ten digits here."""
    X, labels = real_rows("digits")
    near = PUSVC(0.1, gamma=0.02).fit(X[:500], labels[:500])
    far = PUSVC(0.1, gamma=0.02).fit(X[:500] + 1e5, labels[:500])
    decision, _ = run(far, X[-100:] + 1e5)
    scale = size_of_terms(near, X[-100:])
    assert np.max(np.abs(decision - far.decision_function(X[-100:] + 1e5)) / scale) < 1e-10


@pytest.mark.parametrize(
    "scalers",
    [[StandardScaler()], [MinMaxScaler(), RobustScaler()], [MaxAbsScaler(), "passthrough"]],
    ids=str,
)
def test_scalers_of_a_pipeline_are_part_of_the_graph(scalers):
    X, labels = real_rows("cancer")
    model = make_pipeline(*scalers, LinearPUSVC(0.3)).fit(X, labels)
    decision, label = run(model, X)
    np.testing.assert_allclose(decision, model.decision_function(X), rtol=1e-9, atol=1e-10)
    np.testing.assert_array_equal(label, model.predict(X))


@pytest.mark.filterwarnings("ignore:the decision function is constant")
@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), RobustScaler(), MaxAbsScaler()], ids=str)
@pytest.mark.parametrize(
    "model", [PUSVC(0.3), PUSVC(0.3, kernel="poly", coef0=1.0), LinearPUSVC(0.3), RampPUSVC(0.3, lam=0.1)], ids=str
)
def test_pipelines_of_one_column_are_exact(model, scaler):
    X, labels = real_rows("cancer")
    pipeline = make_pipeline(scaler, model).fit(X[:, :1], labels)
    for rows in (X[:, :1], X[:1, :1]):
        decision, label = run(pipeline, rows)
        exact = pipeline.decision_function(rows)
        kernel = hasattr(pipeline[-1], "support_vectors_")
        scale = size_of_terms(pipeline[-1], pipeline[0].transform(rows)) if kernel else 1.0 + np.abs(exact)
        assert np.max(np.abs(decision - exact) / scale) < 1e-12
        np.testing.assert_array_equal(label, pipeline.predict(rows))


@pytest.mark.filterwarnings("ignore:y holds text")
@pytest.mark.parametrize("values", [("no", "yes"), (-1, 1), (False, True), (0.0, 1.0)])
def test_labels_are_the_values_of_y(values):
    X, labels = real_rows("cancer")
    y = np.where(labels == 1, values[1], values[0])
    model = make_pipeline(StandardScaler(), PUSVC(0.5)).fit(X, y)
    _, label = run(model, X)
    np.testing.assert_array_equal(label, model.predict(X))
    assert set(label) == set(values)


def test_sparse_compressed_and_single_rows():
    X, labels = real_rows("digits")
    thin = PUSVC(0.1).fit(sparse.csr_array(X[:500]), labels[:500])
    small = PUSVC(0.1).fit(X[:500], labels[:500]).compress(X[:500], n_components=20)
    for model in (thin, small):
        for rows in (X[-1:], X[-50:], X[:0]):
            decision, label = run(model, rows)
            assert decision.shape == label.shape == (len(rows),)
            if len(rows):
                np.testing.assert_allclose(decision, model.decision_function(rows), rtol=1e-9, atol=1e-9)


def test_what_has_no_graph_is_refused(monkeypatch):
    X, labels = real_rows("cancer")
    X, labels = X[:100] / X.max(0), labels[:100]
    for model, words in [
        (PUSVC(0.3, kernel="precomputed").fit(X @ X.T, labels), "linear, rbf, poly, sigmoid or of trees"),
        (PUSVC(0.3, approximation="rff", n_components=9).fit(X, labels), "None or 'nystroem' for ONNX, got 'rff'"),
        (make_pipeline(Normalizer(), PUSVC(0.3)).fit(X, labels), "RobustScaler; got Normalizer"),
        (make_pipeline(MinMaxScaler(clip=True), PUSVC(0.3)).fit(X, labels), "clip of MinMaxScaler must be False"),
        (StandardScaler().fit(X), "model must be a PUSVC, LinearPUSVC or RampPUSVC, got StandardScaler"),
    ]:
        with pytest.raises(ValueError, match=words):
            to_onnx(model)
    model = PUSVC(0.3).fit(X, labels)
    with pytest.raises(ValueError, match="dtype must be float64 or float32, got 'int8'"):
        to_onnx(model, dtype="int8")
    monkeypatch.setattr("usmo.onnx._MAX_BYTES", 1000)
    with pytest.raises(ValueError, match="holds at most 2 GB: make the model smaller with compress"):
        to_onnx(model)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r'pip install "usmo-learn\[onnx\]"'):
        to_onnx(model)
