"""Bad parameters, tables and calls are refused, and leave the estimator unfitted."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from tests.oracles import shuffled_table
from usmo import PUSVC


@pytest.fixture(scope="module")
def table():
    return shuffled_table(0, n=150, p=30, d=4)


BAD_PARAMETERS = [
    (
        {"prior": 1.2},
        r"'prior' parameter of PUSVC must be a float in the range \(0.0, 1.0\) or a str among .*1\.2",
    ),
    ({"prior": 0.0}, "'prior'.*Got 0.0"),
    ({"prior": 1}, "'prior'.*Got 1"),
    ({"prior": "guess"}, "'prior'.*'guess'"),
    ({"lam": 0.0}, "'lam'.*Got 0.0"),
    ({"lam": -1.0}, "'lam'.*Got -1.0"),
    ({"lam": np.nan}, "'lam'.*Got nan"),
    ({"kernel": "gauss"}, "'kernel'.*'gauss'"),
    ({"gamma": "wide"}, "'gamma'.*'wide'"),
    ({"gamma": 0.0}, "'gamma'.*Got 0.0"),
    ({"degree": -1}, "'degree'.*Got -1"),
    ({"coef0": np.inf}, "'coef0'.*Got inf"),
    ({"scenario": "both"}, "'scenario'.*'both'"),
    ({"solver": "smo"}, "'solver'.*'smo'"),
    ({"tol": 0.0}, "'tol'.*Got 0.0"),
    ({"max_iter": 0}, "'max_iter'.*Got 0"),
    ({"cache_size": -5}, "'cache_size'.*Got -5"),
    ({"warm_start": "yes"}, "'warm_start'.*'yes'"),
    ({"prior": 1.0 - 1e-16}, "no minimum.*give a prior farther from 0 and 1"),
    ({"prior": 0.4, "class_weight": {0: 1.0, 1: 1e300}}, "weights in class_weight that differ less"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS, ids=[str(case[0]) for case in BAD_PARAMETERS])
def test_bad_parameters_are_named_with_what_is_accepted(table, parameters, message):
    model = PUSVC().set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(*table)
    with pytest.raises(NotFittedError):
        model.predict(table[0])


def _bad_tables():
    X, y = np.random.default_rng(0).normal(size=(10, 3)), np.arange(10) % 2
    nan, inf = X.copy(), X.copy()
    nan[3, 1], inf[3, 1] = np.nan, np.inf
    return {
        "nan": (nan, y, None, "contains NaN"),
        "infinite": (inf, y, None, "infinity"),
        "sparse nan": (sparse.csr_matrix(nan), y, None, "contains NaN"),
        "no unlabelled": (X, np.ones(10), None, r"only one class: \[1.0\]"),
        "no positives": (X, np.zeros(10), None, r"only one class: \[0.0\]"),
        "three values": (X, np.arange(10) % 3, None, r"y holds 3 values \(0, 1, 2\)"),
        "continuous y": (X, np.linspace(0, 1, 10), None, "Unknown label type"),
        "lengths": (X, y[:9], None, "inconsistent numbers of samples"),
        "one dimension": (X[:, 0], y, None, "Expected 2D array"),
        "empty": (X[:0], y[:0], None, "0 sample"),
        "no columns": (X[:, :0], y, None, "0 feature"),
        "text": (np.char.add(X.astype(str), "x"), y, None, "could not convert"),
        "complex": (X + 1j, y, None, "Complex data"),
        "negative weight": (X, y, np.r_[-1.0, np.ones(9)], "Negative values in data passed to `sample_weight`"),
        "nan weight": (X, y, np.r_[np.nan, np.ones(9)], "sample_weight contains NaN"),
        "weight of wrong length": (X, y, np.ones(9), "sample_weight.shape"),
        "weights without positives": (X, y, 1.0 - y, "no labelled positive row has a positive weight"),
        "weights without unlabelled": (X, y, 1.0 * y, "no unlabelled row has a positive weight"),
    }


@pytest.mark.parametrize("case", list(_bad_tables()))
def test_bad_tables_are_refused_and_set_no_attribute(case):
    X, y, weight, message = _bad_tables()[case]
    model = PUSVC(0.5)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, sample_weight=weight)
    assert set(vars(model)) == set(PUSVC().get_params())


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_entries_whose_squares_overflow_are_refused(table, kernel, container):
    X, y = table
    with pytest.raises(ValueError, match=r"entries of X must be below .*scale the columns of X"):
        PUSVC(0.4, kernel=kernel, gamma=1.0).fit(container(-np.abs(X) * 1e160), y)


def test_other_bad_calls_are_refused(table):
    X, y = table
    model = PUSVC(0.4).fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but PUSVC is expecting 4"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        model.decision_function(np.full((1, 4), np.nan))
    with pytest.raises(ValueError, match=r"X must be a square kernel matrix .* got shape \(180, 4\)"):
        PUSVC(0.4, kernel="precomputed").fit(X, y)
    with pytest.raises(
        ValueError,
        match=r"needs at least 2 labelled positives and 2 unlabelled rows.*, got 1 and 2; give prior as a number",
    ):
        PUSVC().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    with pytest.raises(ValueError, match="the kernel overflows"):
        PUSVC(0.4, kernel="poly", degree=300, gamma=1e3, coef0=1.0).fit(X * 1e3, y)
