"""Model files: a loaded model equals the saved one bit by bit, and a save that fails changes nothing."""

import errno
import io
import json
import os
import pickle
import resource
import stat

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from tests.files.models import DATA, MODELS, X, Y, fitted, opened, rows_for, same_state, saved, written
from usmo import PUSVC, LinearPUSVC, RampPUSVC
from usmo.files import ModelFileError, describe, fingerprint, load, register, registry, save
from usmo.files.codec import Decoder, Encoder
from usmo.files.manifest import parsed_json
from usmo.kernels.row_blocks import PartFeatures
from usmo.system import atomic


@pytest.mark.parametrize("name", MODELS)
def test_everything_comes_back_bit_by_bit(name, tmp_path):
    model, path = fitted(name), tmp_path / "model.usmo"
    save(model, path)
    again = load(path)
    same_state(model, again)
    rows = rows_for(name, model)
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert str(again.get_params()) == str(model.get_params()) or name == "random state"
    save(again, tmp_path / "again.usmo")
    assert path.read_bytes() == (tmp_path / "again.usmo").read_bytes()
    assert getattr(again, "certificate_", None) == getattr(model, "certificate_", None)


@pytest.mark.parametrize("name", ["rbf", "csr matrix", "rff", "compressed", "linear", "ramp", "pipeline"])
@pytest.mark.parametrize("way", ["file", "deflated file", "pickle", "joblib"])
def test_copies_can_be_cloned_fitted_and_pickled(name, way, tmp_path):
    model, path, rows = fitted(name), tmp_path / "model.usmo", rows_for(name, fitted(name))
    if way == "pickle":
        again = pickle.loads(pickle.dumps(model))
    elif way == "joblib":
        joblib.dump(model, path)
        again = joblib.load(path)
    else:
        save(model, path, compress=way.startswith("deflated"))
        again = pickle.loads(pickle.dumps(load(path)))
    values = model.decision_function(rows)
    np.testing.assert_array_equal(again.decision_function(rows), values)
    assert str(clone(again)) == str(clone(model))
    fresh = clone(model).fit(rows, Y).decision_function(rows)
    np.testing.assert_array_equal(again.fit(rows, Y).decision_function(rows), fresh)


def test_columns_of_a_file_of_an_earlier_version_are_read(tmp_path):
    """Its columns had a truth value for the decimal comma, dates with the year first, and no account of odd cells."""
    model, rows = fitted("mixed table"), rows_for("mixed table", fitted("mixed table"))
    manifest, entries = opened(saved(model, tmp_path))
    later = {"notation", "sure", "unread", "n_unread", "tail"}
    columns = manifest["model"]["state"]["steps"][0]["tuple"][1]["state"]["columns_"]
    numeric = [column["dict"] for column in columns if later <= set(column["dict"])]
    assert {column["kind"] for column in numeric} == {"number", "boolean", "date"}
    for column in numeric:
        column["comma"] = False
        for name in later:
            del column[name]
    again = load(written(tmp_path / "earlier", manifest, entries))
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    assert again[0].columns_ == model[0].columns_


@pytest.mark.parametrize("name", ["model-v1", "linear-v1", "sparse-v1"])
def test_files_of_format_1_stay_readable(name, tmp_path):
    expected = json.loads((DATA / f"{name}.json").read_text())
    rows = np.array(expected["rows"])
    model = load(DATA / f"{name}.usmo")
    values = model.decision_function(sparse.csr_matrix(rows) if name == "sparse-v1" else rows)
    np.testing.assert_allclose(values, expected["decision_values"], rtol=1e-9, atol=1e-12)
    assert type(model).__name__ == expected["class"]
    assert {name: model.get_params()[name] for name in expected["parameters"]} == expected["parameters"]
    assert model.certificate_.gap == expected["gap"]
    assert describe(DATA / f"{name}.usmo")["version"] == 1
    same_state(model, save(model, tmp_path / "again") or load(tmp_path / "again"))


def test_parameters_missing_from_a_file_have_their_defaults(tmp_path):
    path = saved(fitted("rbf"), tmp_path)
    manifest, arrays = opened(path)
    del manifest["model"]["state"]["verbose"], manifest["model"]["state"]["warm_start"]
    for record in manifest["model"]["state"]["certificate_"], *manifest["model"]["state"]["history_"]["tuple"]:
        record["state"].pop("convex", None)
    model = load(written(tmp_path / "old", manifest, arrays))
    assert model.get_params() == fitted("rbf").get_params()
    assert model.certificate_.convex


def test_description_shows_the_contents_of_the_file(tmp_path):
    path, model = tmp_path / "model.usmo", fitted("pipeline")
    extra = {"training": fingerprint(X, Y), "note": "ä \u2028", "numbers": [1, 2.5, None, True]}
    save(model, path, extra=extra)
    description = describe(path)
    assert description["extra"] == extra
    assert description["class"] == "Pipeline"
    assert description["parameters"]["steps"][-1][1]["prior"] == 0.4
    assert description["certificate"]["gap"] == model[-1].certificate_.gap
    assert description["arrays"]["steps.1.1.support_vectors_.npy"]["shape"] == list(
        model[-1].support_vectors_.shape
    )
    assert description["bytes"] == path.stat().st_size
    assert json.loads(json.dumps(description)) == description
    save(fitted("rbf"), path)
    assert describe(path)["parameters"] == fitted("rbf").get_params()
    search = fitted("search in a pipeline")
    gap = describe(saved(search, tmp_path))["certificate"]["gap"]
    assert gap == search[-1].best_estimator_.certificate_.gap


def test_arrays_are_readable_without_usmo(tmp_path):
    model = fitted("rbf")
    with np.load(saved(model, tmp_path)) as stored:
        np.testing.assert_array_equal(stored["support_vectors_"], model.support_vectors_)


def test_fingerprint_depends_on_the_numbers_only(tmp_path):
    pandas = pytest.importorskip("pandas")
    one = fingerprint(X, Y)
    assert one["rows"], one["columns"] == X.shape
    assert one == fingerprint(np.asfortranarray(X), Y.tolist())
    frame = fingerprint(pandas.DataFrame(X, columns=["read", "b", "c"]), pandas.Series(Y))
    assert frame == {**one, "feature_names": ["read", "b", "c"]}
    for k, part in enumerate(np.split(X, [10])):
        np.save(tmp_path / f"{k}.npy", part)
    assert fingerprint(PartFeatures.directory(tmp_path), Y) == one
    changed = X.copy()
    changed[-1, -1] = np.nextafter(changed[-1, -1], 9)
    assert fingerprint(changed, Y)["sha256_X"] != one["sha256_X"]
    assert fingerprint(X, 1 - Y)["sha256_y"] != one["sha256_y"]
    thin = sparse.coo_array(np.maximum(X, 0))
    assert fingerprint(thin, Y) == fingerprint(sparse.csc_matrix(np.maximum(X, 0)), Y)
    assert fingerprint(X, np.where(Y, "a", "b").astype(object)) == fingerprint(X, np.where(Y, "a", "b"))
    with pytest.raises(ValueError, match="y must have one label per row, 38; got shape"):
        fingerprint(X, Y[1:])


NESTED = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=5)
    | st.sampled_from([np.float32(0.1), np.int8(-3), np.uint64(2**64 - 1), np.bool_(True), np.str_("é")])
    | st.sampled_from([np.empty((0, 3)), np.array(1.5), np.arange(6).reshape(2, 3).T, np.array(["a", "öl"])])
    | st.sampled_from([np.array(["x", "yz"], dtype=object), np.float64("nan"), sparse.csr_array((0, 4))])
    | st.sampled_from([sparse.csr_matrix(np.eye(2)), sparse.csr_array(np.eye(3, dtype=np.float32))]),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=3), part, max_size=3)
    | st.lists(part, max_size=3).map(tuple),
    max_leaves=8,
)  # fmt: skip


@given(NESTED)
def test_any_tree_of_storable_values_comes_back(value):
    encoder = Encoder()
    text = json.dumps(encoder.encode(value), allow_nan=False).encode()
    decoder = Decoder(encoder.arrays, encoder.arrays.__getitem__)
    same_state(value, decoder.decode(parsed_json(text, 2**26)))
    decoder.done()


class Scaled(BaseEstimator):
    """A transformer of the kind that other modules register."""

    def __init__(self, factor=2.0):
        self.factor = factor

    def fit(self, X, y=None):
        self.n_features_in_, self.table_ = X.shape[1], {"seen": [len(X)]}
        return self

    def transform(self, X):
        return self.factor * X


def test_a_class_has_to_be_registered(tmp_path, monkeypatch):
    model = make_pipeline(Scaled(), LinearPUSVC(0.4)).fit(X, Y)
    with pytest.raises(ModelFileError, match=r"Scaled, which is not registered with usmo\.files\.register"):
        save(model, tmp_path / "m")
    for name in ("_BY_CLASS", "_BY_NAME"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    assert register(Scaled) is Scaled
    again = load(saved(model, tmp_path))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="name must be new, got 'PUSVC'"):
        register(Scaled, name="PUSVC")
    manifest, arrays = opened(saved(model, tmp_path))
    manifest["model"]["state"]["steps"][0]["tuple"][1]["state"]["transform"] = "hides a method"
    with pytest.raises(ModelFileError, match="'transform', which is not one to store"):
        load(written(tmp_path / "n", manifest, arrays))


def linear_kernel(A, B):
    return A @ B.T


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (lambda: PUSVC(0.4, kernel=linear_kernel).fit(X, Y), "kernel has the type .*function, which is code"),
        (lambda: RampPUSVC(0.4, lam=0.1, kernel=linear_kernel).fit(X, Y), "use a named kernel, or kernel='pre"),
        (lambda: PUSVC(0.4).fit(X, Y).set_params(lam=-1), "'lam' parameter"),
        (lambda: with_attribute(PUSVC(0.4).fit(X, Y), "mood_", 1), "PUSVC has the attribute 'mood_'"),
        (
            lambda: with_attribute(PUSVC(0.4).fit(X, Y), "prior_", 2.0),
            r"prior_ must be a number in \(0, 1\), got 2",
        ),
        (lambda: with_attribute(PUSVC(0.4).fit(X, Y), "n_iter_", 2**70), "n_iter_ is an integer of more than 64"),
        (
            lambda: with_attribute(PUSVC(0.4).fit(X, Y), "coef_", X.astype(complex)),
            "coef_ is an array of complex128",
        ),
        (lambda: PUSVC(0.4, verbose=2**65).fit(X, Y, X[:, 0] * 0 + 1), "verbose is an integer"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_a_file_cannot_hold_is_refused_before_writing(model, words, tmp_path, capsys):
    with pytest.raises(ModelFileError, match=words):
        save(model(), tmp_path / "model.usmo")
    assert list(tmp_path.iterdir()) == []


def with_attribute(model, name, value):
    setattr(model, name, value)
    return model


def test_bad_requests_to_save_are_refused(tmp_path):
    with pytest.raises(NotFittedError):
        save(PUSVC(), tmp_path / "m")
    with pytest.raises(ModelFileError, match="path must lie in an existing folder"):
        save(fitted("rbf"), tmp_path / "no" / "m")
    with pytest.raises(ModelFileError, match="path must name a file, got the folder"):
        save(fitted("rbf"), tmp_path)
    holds_itself = {}
    holds_itself["me"] = holds_itself
    for extra in ({"a": X}, {"a": float("nan")}, {1: 2}, [1], holds_itself, {"a": 10**30}, {"a": (1,)}):
        with pytest.raises(ModelFileError, match="cannot be saved"):
            save(fitted("rbf"), tmp_path / "m", extra=extra)
    assert list(tmp_path.iterdir()) == []


class Failing(io.FileIO):
    """A file whose writes fail after ``left`` bytes: a full disk, or an interrupt by the user."""

    def __init__(self, path, mode, left, error):
        super().__init__(path, mode)
        self.left, self.error = left, error

    def write(self, data):
        self.left -= len(memoryview(data).cast("B"))
        if self.left < 0:
            raise self.error
        return super().write(data)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_an_interrupted_save_changes_nothing(error, tmp_path, monkeypatch):
    path = saved(fitted("rbf"), tmp_path)
    before = path.read_bytes()
    for left in range(0, len(before), 97):
        monkeypatch.setattr(atomic, "open", lambda p, m, left=left: Failing(p, m, left, error), raising=False)
        with pytest.raises(type(error)):
            save(fitted("csr matrix"), path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()

    def fail(*arguments):
        raise error

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patched:
            patched.setattr(atomic.os, name, fail)
            with pytest.raises(type(error)):
                save(fitted("csr matrix"), path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]


def test_a_file_size_limit_of_the_system_changes_nothing(tmp_path):
    path = saved(fitted("rbf"), tmp_path)
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            save(fitted("linear"), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_ordinary_rights_and_replaces_the_old(tmp_path):
    path = saved(fitted("rbf"), tmp_path)
    (tmp_path / "plain").touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    save(fitted("linear"), str(path))
    assert isinstance(load(str(path)), LinearPUSVC)


def test_a_model_can_be_saved_to_a_stream_and_read_from_it(tmp_path):
    stream = io.BytesIO()
    save(fitted("rbf"), stream)
    assert stream.getvalue() == saved(fitted("rbf"), tmp_path).read_bytes()
    np.testing.assert_array_equal(load(stream).predict_proba(X), fitted("rbf").predict_proba(X))
    assert describe(stream) == describe(saved(fitted("rbf"), tmp_path))
    assert isinstance(load(os.fsencode(saved(fitted("rbf"), tmp_path))), PUSVC)
    with pytest.raises(ModelFileError, match=r"it must be a path or a binary stream that can seek, got list$"):
        load([1])
    with pytest.raises(ModelFileError, match="'the stream' cannot be saved: extra must"):
        save(fitted("rbf"), io.BytesIO(), extra={"a": X})
