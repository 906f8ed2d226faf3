"""Tables read by row blocks: arrays, sparse matrices, memory maps and parts give the same sums and the same fits."""

import sys

import numpy as np
import pytest
from scipy import sparse

from usmo import PUSVC, LinearPUSVC
from usmo.files.digests import fingerprint
from usmo.kernels.row_blocks import ArrayFeatures, Blocks, OrderedSum, PartFeatures, column_means


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    y = np.r_[np.ones(50, int), np.zeros(2000, int)]
    X = rng.normal(size=(2050, 6)) + np.r_[np.ones(50), rng.random(2000) < 0.4][:, None]
    return X, y


def write_parts(folder, X, types):
    for k, (rows, type_) in enumerate(zip(np.array_split(np.arange(len(X)), len(types)), types, strict=True)):
        if type_ == "npy":
            np.save(folder / f"part{k}.npy", X[rows])
        else:
            pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
            columns = pyarrow.table({f"c{j}": X[rows, j] for j in range(X.shape[1])})
            parquet.write_table(columns, folder / f"part{k}.parquet")
    return PartFeatures.directory(folder)


@pytest.mark.parametrize("types", [["npy"] * 3, ["parquet"] * 3, ["npy", "parquet", "npy", "npy"]])
def test_parts_are_read_as_one_table(table, tmp_path, types):
    X, y = table
    parts = write_parts(tmp_path, X, types)
    assert parts.shape == X.shape
    np.testing.assert_array_equal(parts.read(slice(100, 1500)), X[100:1500])
    np.testing.assert_array_equal(parts.take(np.array([0, 7, 1000, 2049])), X[[0, 7, 1000, 2049]])
    model, whole = (LinearPUSVC(0.4).fit(table, y) for table in (parts, X))
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    np.testing.assert_allclose(model.decision_function(parts), whole.decision_function(X), rtol=1e-12)
    assert model.certificate_ == whole.certificate_


@pytest.mark.parametrize("kind", ["npz", "npy", "parquet"])
@pytest.mark.parametrize("gathered", [2.0**23, 3000.0])
def test_wide_parts_are_fitted_by_the_newton_solver_as_one_table(tmp_path, kind, gathered, monkeypatch):
    """Also with more columns than the interior point takes, and where few rows may be gathered."""
    monkeypatch.setattr("usmo.solvers.newton_shard_rows.GATHERED", gathered)
    width = 5000 if kind == "npz" else 40
    X = sparse.random(1200, width, density=30 / width, format="csr", random_state=0)
    score = X @ np.random.default_rng(0).normal(size=width)
    y = np.where((score > np.quantile(score, 0.7)) & (np.arange(1200) % 3 == 0), 1, 0)
    X = X if kind == "npz" else X.toarray()
    if kind == "npz":
        for k, rows in enumerate(np.array_split(np.arange(1200), 3)):
            sparse.save_npz(tmp_path / f"part{k}.npz", X[rows])
        parts = PartFeatures.directory(tmp_path)
    else:
        parts = write_parts(tmp_path, X, [kind] * 3)
    options = {"lam": 1e-2, "tol": 1e-5, "class_weight": None}
    model, whole = (LinearPUSVC(0.2, warm_start=True, **options).fit(table, y) for table in (parts, X))
    assert model.certificate_.relative_gap <= 1e-7
    apart = model.certificate_.gap + whole.certificate_.gap
    assert abs(model.certificate_.primal - whole.certificate_.primal) <= apart + 1e-12
    assert np.linalg.norm(model.coef_ - whole.coef_) <= np.sqrt(apart) + 1e-9
    f = np.asarray(X @ model.coef_[0]).ravel() + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(parts), f, atol=1e-9)
    first = model.n_iter_
    assert model.fit(parts, y).n_iter_ <= first


def test_csr_parts_are_read_as_one_table(tmp_path):
    X = sparse.random(50, 30, density=0.1, format="csr", random_state=0, dtype=np.float32)
    for k, rows in enumerate((slice(0, 20), slice(20, 21), slice(21, 50))):
        sparse.save_npz(tmp_path / f"{k}.npz", X[rows])
    parts, y = PartFeatures.directory(tmp_path), np.arange(50) % 2
    assert parts.shape == X.shape
    np.testing.assert_array_equal(parts.read(slice(5, 40)).toarray(), X[5:40].toarray())
    np.testing.assert_array_equal(parts.take(np.array([0, 20, 49])).toarray(), X[[0, 20, 49]].toarray())
    assert fingerprint(parts, y)["sha256_X"] == fingerprint(X.astype(np.float64), y)["sha256_X"]
    with pytest.raises(ValueError, match="PartFeatures are for LinearPUSVC, got PUSVC: give X as an array"):
        PUSVC(0.4).fit(parts, y)


def test_bad_csr_parts_are_refused(tmp_path):
    X = sparse.csr_matrix(np.array([[1.0, 0.0], [np.inf, 2.0]]))
    sparse.save_npz(tmp_path / "a.npz", X)
    with pytest.raises(ValueError, match="contains NaN or infinity, in rows"):
        LinearPUSVC(0.4).fit(PartFeatures.directory(tmp_path), [0, 1])
    np.savez(tmp_path / "b.npz", X=np.zeros(3))
    with pytest.raises(ValueError, match=r"b\.npz must hold a CSR matrix written by scipy\.sparse\.save_npz"):
        PartFeatures.directory(tmp_path)
    np.save(tmp_path / "b.npy", np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"dense or CSR throughout: a\.npz is CSR, b\.npy is not"):
        PartFeatures.directory(tmp_path)


def test_memory_map_and_array_give_the_same_fit(table, tmp_path):
    X, y = table
    np.save(tmp_path / "X.npy", X)
    mapped = LinearPUSVC(0.4).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    np.testing.assert_array_equal(mapped.coef_, LinearPUSVC(0.4).fit(X, y).coef_)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, lambda X: X.astype(np.float32)])
def test_sums_over_blocks_equal_those_over_the_array(table, container, monkeypatch):
    monkeypatch.setattr("usmo.kernels.row_blocks._BLOCK_BYTES", 100)
    X = np.where(np.random.default_rng(1).random((2050, 6)) < 0.5, 0.0, table[0])
    blocks = Blocks(ArrayFeatures(container(X)))
    assert blocks.step < len(X)
    X = X.astype(np.float32).astype(float) if container(X).dtype == np.float32 else X
    w, alpha = np.arange(6.0), np.linspace(-1, 1, 2050)
    np.testing.assert_allclose(blocks.dot(w), X @ w, atol=1e-12)
    np.testing.assert_allclose(blocks.weighted_sum(alpha), alpha @ X, atol=1e-11)
    rows = np.array([3, 5, 700])
    np.testing.assert_allclose(blocks.part(rows).dot(w), X[rows] @ w, atol=1e-12)


def test_chosen_rows_that_do_not_fit_are_fetched_when_read(table, monkeypatch):
    X = table[0]
    centre = column_means(ArrayFeatures(X))
    np.testing.assert_allclose(centre, X.mean(axis=0), atol=1e-12)
    rows = np.arange(0, 2050, 3)
    held = Blocks(ArrayFeatures(X), rows, centre)
    monkeypatch.setattr("usmo.kernels.row_blocks._GATHERED", 10)
    fetched = Blocks(ArrayFeatures(X), rows, centre)
    np.testing.assert_allclose(fetched.dot(np.ones(6)), held.dot(np.ones(6)), atol=1e-13)
    np.testing.assert_allclose(fetched.part(rows[:50]).dot(np.ones(6)), (X[rows[rows[:50]]] - centre).sum(1))


def test_sums_are_made_in_the_order_of_the_blocks():
    sums = OrderedSum(10)
    for start in (20, 0, 30, 10):
        sums.add(slice(start, start + 10), 10.0**-start)
    assert sums.total == ((1.0 + 1e-10) + 1e-20) + 1e-30


def test_bad_parts_are_refused(table, tmp_path):
    X, y = table
    with pytest.raises(FileNotFoundError, match=r"no \.npy, \.npz or \.parquet files"):
        PartFeatures.directory(tmp_path)
    with pytest.raises(ValueError, match="at least one part"):
        PartFeatures([])
    parts = write_parts(tmp_path, X, ["npy", "npy"])
    with pytest.raises(ValueError, match=r"y must have one label per row, 2050; got shape \(2,\)"):
        LinearPUSVC(0.4).fit(parts, [0, 1])
    model = LinearPUSVC(0.4).fit(X[:, :3], y)
    with pytest.raises(ValueError, match="X has 6 columns, but LinearPUSVC was fitted with 3"):
        model.predict(parts)
    np.save(tmp_path / "part9.npy", X[:5, :4])
    with pytest.raises(ValueError, match=r"part0\.npy has 6, part9\.npy has 4"):
        PartFeatures.directory(tmp_path)
    np.save(tmp_path / "part9.npy", np.full((1, 6), np.nan))
    with pytest.raises(ValueError, match="contains NaN or infinity, in rows"):
        LinearPUSVC(0.4).fit(PartFeatures.directory(tmp_path), np.r_[y, 0])
    np.save(tmp_path / "part9.npy", np.zeros(6))
    with pytest.raises(ValueError, match=r"part9\.npy must hold a table"):
        PartFeatures.directory(tmp_path)


def test_missing_pyarrow_names_the_extra(table, tmp_path, monkeypatch):
    write_parts(tmp_path, table[0], ["parquet"])
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"usmo-learn\[parquet\]"):
        PartFeatures.directory(tmp_path)
