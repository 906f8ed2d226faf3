"""PUSVC with the kernels of learned trees: exactness for the trees grown, predictions, files, refusals."""

import io
import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from tests.files.forgeries import forge
from tests.files.models import fitted, opened, saved, written
from tests.oracles import plain_bounds, plain_dual, plain_leaves, plain_optimum, random_table, rbf
from usmo import PUSVC, PUSVCCV, LinearPUSVC, RampPUSVC, fit_soft, load, path
from usmo.files import ModelFileError
from usmo.fitting import trees as fitting_trees
from usmo.report import write

KERNELS = ("forest", "forest+rbf")


def plain_kernel(model, A, B):
    """k(A, B) by NumPy from the trees of a fitted model."""
    nodes = [plain_leaves(model._forest, rows) for rows in (A, B)]
    shares = (nodes[0][:, :, None] == nodes[1][:, None, :]).mean(axis=0)
    if model.kernel == "forest":
        return shares
    centre, scale = model._forest.centre, model._forest.scale
    gamma = 1 / A.shape[1] if model.gamma == "scale" else model.gamma
    return 0.5 * shares + 0.5 * rbf((A - centre) * scale, (B - centre) * scale, gamma)


@pytest.fixture(scope="module")
def table():
    return random_table(0, n=150, p=30)


@pytest.mark.parametrize("solver", ["blocks", "usmo", "qp"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_fit_is_exact_for_the_trees_grown(table, kernel, solver):
    X, y = table
    parameters = {"kernel": kernel, "n_trees": 30, "class_weight": None, "lam": 1e-2, "tol": 1e-6}
    model = PUSVC(0.4, solver=solver, **parameters).fit(X, y)
    P, U, c1, c2 = plain_bounds(y, 0.4, 1e-2)
    K = plain_kernel(model, X, X)
    q = K[np.ix_(U, P)] @ c1
    best = plain_optimum(K[np.ix_(U, U)], q, c2, c1.sum())[1]
    alpha = np.zeros(len(X))
    alpha[model.support_] = model.dual_coef_[0]
    dual = plain_dual(K[np.ix_(U, U)], q, c2, -alpha[U])
    assert abs(dual - best) <= 1e-6 * abs(best)
    assert model.certificate_.relative_gap < 1e-6
    np.testing.assert_allclose(alpha[P], c1)


@pytest.mark.parametrize("kernel", KERNELS)
def test_decision_is_the_kernel_expansion(table, kernel):
    X, y = table
    new = np.random.default_rng(1).normal(size=(57, X.shape[1]))
    model = PUSVC(0.4, kernel=kernel, n_trees=25).fit(X, y)
    expansion = plain_kernel(model, new, model.support_vectors_) @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(new), expansion, atol=1e-12)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


@pytest.mark.parametrize("kernel", KERNELS)
def test_trees_depend_on_random_state_alone(table, kernel):
    X, y = table
    model = PUSVC(0.4, kernel=kernel, n_trees=20).fit(X, y)
    with threadpool_limits(1):
        again = PUSVC(0.4, kernel=kernel, n_trees=20).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
    other = PUSVC(0.4, kernel=kernel, n_trees=20, random_state=1).fit(X, y)
    assert not np.array_equal(model._forest.threshold, other._forest.threshold)


def test_many_rows_start_from_a_subsample():
    X, y = random_table(0, n=2600, p=50)
    for kernel in KERNELS:
        model = PUSVC(0.4, kernel=kernel, n_trees=20).fit(X, y)
        assert model.certificate_.relative_gap < 1e-4
        with threadpool_limits(1):
            again = clone(model).fit(X, y)
        np.testing.assert_array_equal(model.dual_coef_, again.dual_coef_)


def test_weights_are_numbers_of_equal_rows(table):
    X, y = table
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weight[:2], weight[-2:] = 1, 2
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), weight))
    for kernel in KERNELS:
        model = PUSVC(0.4, kernel=kernel, n_trees=20, tol=1e-9)
        one = clone(model).fit(X, y, sample_weight=weight)
        other = clone(model).fit(X[order], y[order])
        np.testing.assert_array_equal(one._forest.feature, other._forest.feature)
        np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-6)


def test_float32_and_sparse_tables_give_the_same_model(table):
    X, y = np.maximum(table[0], 0.0).astype(np.float32), table[1]
    for kernel in KERNELS:
        model = PUSVC(0.4, kernel=kernel, n_trees=10, tol=1e-8).fit(X.astype(np.float64), y)
        for other in (X, sparse.csr_array(X), sparse.csr_matrix(X.astype(np.float64))):
            f = clone(model).fit(other, y).decision_function(other)
            np.testing.assert_allclose(f, model.decision_function(X), atol=1e-6)


def test_known_negatives_propensities_and_soft_labels_are_accepted(table):
    X, y = table
    labels = y.copy()
    hidden = np.flatnonzero((y == 0) & (X.mean(axis=1) < -0.5))[:20]
    labels[hidden] = -1
    model = PUSVC(0.4, kernel="forest", n_trees=50)
    plain, known = clone(model).fit(X, y), clone(model).fit(X, labels)
    assert known.eta_ > 0
    assert not np.array_equal(plain._forest.threshold, known._forest.threshold)
    gap = known.decision_function(X)[y == 1].mean() - known.decision_function(X)[hidden].mean()
    assert gap > 1.0
    censored = clone(model).set_params(prior="estimate", scenario="censored").fit(X, y, propensity=0.5)
    assert censored.certificate_.relative_gap < 1e-3
    soft = fit_soft(model, X, 1 / (1 + np.exp(-X.sum(axis=1))))
    assert soft.decision_function(X)[X.sum(axis=1) > 2].mean() > soft.decision_function(X).mean()


@pytest.mark.parametrize("kernel", KERNELS)
def test_path_is_that_of_single_fits(table, kernel):
    X, y = table
    base = PUSVC(kernel=kernel, n_trees=20, tol=1e-8)
    for model in path(base, X, y, lams=[0.1, 0.01], priors=[0.3, 0.5]):
        alone = clone(base).set_params(prior=model.prior_, lam=model.lam).fit(X, y)
        np.testing.assert_array_equal(model._forest.threshold, alone._forest.threshold)
        np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-6)


def test_lambda_and_gamma_are_chosen_with_trees_of_the_folds(table):
    X, y = table
    model = PUSVC(0.4, lam="cv", kernel="forest", n_trees=20).fit(X, y)
    held_out = np.zeros(len(y))
    held_out[model.selection_.rows] = model.selection_.held_out
    f = model.decision_function(X)
    # trees that have seen a labelled row know it: held-out values of labelled rows are lower
    assert (held_out - model.threshold_)[y == 1].mean() < f[y == 1].mean()
    search = PUSVCCV(PUSVC(0.4, kernel="forest+rbf", n_trees=20), lams=[0.1, 0.01], gammas=[0.3, 1.0]).fit(X, y)
    assert search.best_gamma_ in (0.3 * (1 / 3), 1 / 3)
    assert search.best_estimator_.certificate_.relative_gap < 1e-3


def test_warm_start_and_checkpoint(table, tmp_path):
    X, y = table
    model = PUSVC(0.4, kernel="forest+rbf", n_trees=20, warm_start=True).fit(X, y)
    f = model.decision_function(X)
    np.testing.assert_allclose(model.fit(X, y).decision_function(X), f, atol=1e-2)
    kept = PUSVC(0.4, kernel="forest", n_trees=20, checkpoint=tmp_path / "c", checkpoint_seconds=0).fit(X, y)
    assert kept.certificate_.relative_gap < 1e-3


def test_refit_with_another_kernel_drops_the_trees(table):
    X, y = table
    model = PUSVC(0.4, kernel="forest", n_trees=5).fit(X, y).set_params(kernel="rbf").fit(X, y)
    assert not hasattr(model, "_forest")


def test_learns_what_rbf_does_not():
    """A column decides, and 30 others are noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 31))
    positive = np.abs(X[:, 0]) > 0.8
    known = positive & (rng.random(800) < 0.3)
    unlabelled = ~known
    prior = positive[unlabelled].mean()
    auc = {}
    for kernel in ("rbf", *KERNELS):
        f = PUSVC(prior, kernel=kernel, n_trees=100).fit(X, known).decision_function(X)
        auc[kernel] = roc_auc_score(positive[unlabelled], f[unlabelled])
    assert min(auc["forest"], auc["forest+rbf"]) > auc["rbf"] + 0.1


@pytest.mark.parametrize("kernel", KERNELS)
def test_report_describes_the_model(table, kernel, tmp_path):
    X, y = table
    model = PUSVC(0.4, kernel=kernel, n_trees=10).fit(X, y)
    write(tmp_path / "page.html", model=model, X=X, known=y == 1)
    assert (tmp_path / "page.html").stat().st_size > 1000


@pytest.mark.parametrize("kernel", KERNELS)
def test_file_holds_the_trees(table, kernel, tmp_path):
    X, y = table
    model = PUSVC(0.4, kernel=kernel, n_trees=20).fit(X, y)
    model.save(tmp_path / "m.usmo")
    again = load(tmp_path / "m.usmo")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


FORGED = [
    ("left", lambda a: np.where(a >= 0, a + 10**6, a), "children"),
    ("right", lambda a: np.where(a >= 0, np.arange(len(a)), a), "children"),
    ("left", lambda a: np.zeros_like(a), "children"),
    ("right", lambda a: np.full_like(a, -1), "children"),
    ("right", lambda a: np.full_like(a, -7), "children"),
    ("left", lambda a: a[:-1], "must be node numbers of shape"),
    ("left", lambda a: a.astype(float), "must be node numbers"),
    ("feature", lambda a: a + 3, "must be columns of the table"),
    ("feature", lambda a: a - 1, "must be columns of the table"),
    ("roots", lambda a: a[::-1].copy(), "must ascend"),
    ("roots", lambda a: a[:1], "must ascend"),
    ("roots", lambda a: a + 1, "must ascend"),
    ("threshold", lambda a: np.full_like(a, np.nan), "must be finite numbers"),
    ("centre", lambda a: a[:-1], r"must be finite numbers of shape|children|columns"),
    ("scale", lambda a: np.full_like(a, np.inf), "must be finite numbers"),
]


@pytest.mark.parametrize(("name", "change", "words"), FORGED)
def test_forged_trees_are_refused(name, change, words, tmp_path):
    manifest, entries = opened(saved(fitted("forest+rbf"), tmp_path))
    entry = f"_forest.{name}.npy"
    changed = change(np.load(io.BytesIO(entries[entry])))
    with pytest.raises(ModelFileError, match=words):
        load(written(tmp_path / "x", *forge(manifest, entries, entry, changed)))


def test_trees_that_do_not_fit_the_model_are_refused(tmp_path):
    manifest, entries = opened(saved(fitted("forest"), tmp_path))
    values = np.load(io.BytesIO(entries["_leaf_values.npy"]))
    with pytest.raises(ModelFileError, match="_leaf_values must be finite numbers of shape"):
        load(written(tmp_path / "x", *forge(manifest, entries, "_leaf_values.npy", values[:-1])))
    wide = forge(manifest, entries, "_forest.centre.npy", np.zeros(5))
    wide = forge(*wide, "_forest.scale.npy", np.zeros(5))
    with pytest.raises(ModelFileError, match="n_features_in_ must be the number of columns"):
        load(written(tmp_path / "x", *wide))
    bare = json.loads(json.dumps(manifest))
    state = bare["model"]["state"] if "model" in bare else bare["object"]["state"]
    del state["_forest"]
    with pytest.raises(ModelFileError):
        load(written(tmp_path / "x", bare, entries))


def test_what_does_not_go_with_trees_is_refused(table, monkeypatch):
    X, y = table
    for kernel in KERNELS:
        for approximation in ("nystroem", "rff"):
            with pytest.raises(ValueError, match=f"approximation='{approximation}' needs"):
                PUSVC(0.4, kernel=kernel, approximation=approximation).fit(X, y)
        with pytest.raises(ValueError, match="solver='interior-point' needs kernel='linear'"):
            PUSVC(0.4, kernel=kernel, n_trees=5, solver="interior-point").fit(X, y)
        with pytest.raises(ValueError, match="kernel"):
            RampPUSVC(0.4, kernel=kernel).fit(X, y)
    with pytest.raises(ValueError, match="n_trees"):
        PUSVC(0.4, kernel="forest", n_trees=0).fit(X, y)
    with pytest.raises(TypeError):
        LinearPUSVC(0.4, n_trees=5)
    monkeypatch.setattr(fitting_trees, "LARGEST_SPARSE", 100)
    with pytest.raises(ValueError, match="holds the table dense"):
        PUSVC(0.4, kernel="forest").fit(sparse.csr_array(X), y)
