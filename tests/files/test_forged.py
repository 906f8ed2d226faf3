"""Forged model files, with all checksums right: objects that do not fit together are refused in one line."""

import io
import json
import random

import numpy as np
import pytest
from sklearn.base import clone

from tests.files.forgeries import HOSTILE, changed, forge, places
from tests.files.models import fitted, opened, outcome, refused, rows_for, saved, written, zipped
from usmo.files import ModelFileError, errors, load, registry, save
from usmo.io import TableError


def test_models_that_do_not_fit_together_are_refused(parts, tmp_path):
    m = len(np.load(io.BytesIO(parts[1]["support_.npy"])))
    support = np.arange(m)
    for name, array, words in [
        (
            "dual_coef_",
            np.zeros((1, m + 1)),
            r"dual_coef_ must be finite numbers of shape \(1, \d+\), got",
        ),
        ("dual_coef_", np.full((1, m), np.nan), "dual_coef_ must be finite numbers"),
        ("dual_coef_", np.zeros((1, m), dtype="U3"), "dual_coef_ must be finite numbers"),
        (
            "support_vectors_",
            np.zeros((m, 4)),
            r"_vectors_ must be finite numbers of shape \(\d+, 3\)",
        ),
        (
            "support_vectors_",
            np.zeros((m + 1, 3)),
            r"_vectors_ must be finite numbers of shape \(\d+, 3\)",
        ),
        (
            "support_vectors_",
            np.full((m, 3), np.inf),
            r"_vectors_ must be finite numbers of shape \(\d+, 3\)",
        ),
        ("support_", -1 - support, "support_ must be row numbers"),
        ("support_", support.astype(float), "support_ must be row numbers"),
        ("classes_", np.array([0, 1, 2]), r"classes_ must be different values of shape \(2,\)"),
        ("classes_", np.array([1, 1]), r"classes_ must be different values of shape \(2,\)"),
        ("classes_", np.array([np.nan, 1]), r"classes_ must be different values of shape \(2,\)"),
        (
            "intercept_",
            np.zeros(0),
            r"intercept_ must be finite numbers of shape \(1,\), got float64 of shape \(0,\)",
        ),
    ]:
        with pytest.raises(ModelFileError, match=words):
            load(written(tmp_path / "x", *forge(*parts, f"{name}.npy", array)))


def test_support_of_a_precomputed_kernel_stays_inside_the_matrix(tmp_path):
    model = fitted("precomputed")
    parts = opened(saved(model, tmp_path))
    beyond = np.full(len(model.support_), 38)
    with pytest.raises(ModelFileError, match="support_ must be columns of the matrix"):
        load(written(tmp_path / "x", *forge(*parts, "support_.npy", beyond)))


def test_sparse_tables_out_of_bounds_are_refused(tmp_path):
    table = fitted("csr matrix").support_vectors_
    parts = opened(saved(fitted("csr matrix"), tmp_path))
    pointers = table.indptr.copy()
    pointers[1] = 10**6
    falling = table.indptr.copy()
    falling[1:3] = falling[2], falling[1] - 1
    wrapping = table.indptr.astype(np.int64)
    wrapping[1:3] = 2**63 - 1, -2  # their difference overflows to a positive number
    long = np.concatenate([table.indices, [0]]).astype(np.int32)
    for name, array in [
        ("indices", table.indices + np.int32(3)),
        ("indices", table.indices - np.int32(3)),
        ("indices", long),
        ("indices", table.indices.astype(np.int8)),
        ("indices", table.indices.astype(float)),
        ("indptr", pointers),
        ("indptr", falling),
        ("indptr", wrapping),
        ("indptr", table.indptr[:-1]),
        ("indptr", table.indptr[None]),
        ("indptr", table.indptr + np.int32(1)),
        ("data", table.data[:-1]),
        ("data", table.data.astype("U3")),
    ]:
        with pytest.raises(ModelFileError, match="a sparse table has"):
            load(written(tmp_path / "x", *forge(*parts, f"support_vectors_.{name}.npy", array)))


def test_random_states_out_of_bounds_are_refused(tmp_path):
    manifest, entries = opened(saved(fitted("random state"), tmp_path))
    keys = manifest["model"]["state"]["random_state"]["random_state"][0]
    for parts in (
        [keys, 625, 0, 0.0],
        [keys, -1, 0, 0.0],
        [keys, 1, 2, 0.0],
        [keys, True, 0, 0.0],
        [keys, 1, 0, 0],
        [keys, 1, 0, {"float": "nan"}],
    ):
        manifest["model"]["state"]["random_state"] = {"random_state": parts}
        with pytest.raises(ModelFileError, match="a random state has values of wrong type or length"):
            load(written(tmp_path / "x", manifest, entries))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["rff", "linear", "csr matrix", "random state", "pipeline", "ramp"])
def test_forged_manifests_give_an_error_or_a_sound_model(name, tmp_path, monkeypatch):
    """Every value of the manifest removed or replaced, and attributes added, with all checksums right.

    Refusals come from a check, not from an error on the way. What loads has attributes of valid types: it prints,
    can be cloned, saved and fitted, and decides about rows.
    """
    model, rng, accepted, refusals = fitted(name), random.Random(0), 0, 0
    manifest, entries = opened(saved(model, tmp_path))
    if "history_" in manifest["model"]["state"]:
        del manifest["model"]["state"]["history_"]["tuple"][1:]
    every = list(places(manifest))
    cases = [changed(manifest, at, ...) for at in every]
    cases += [
        changed(manifest, at, rng.choice(HOSTILE)) for at in every for _ in range(2 if at[0] == "model" else 1)
    ]
    cases += [changed(manifest, ("model", "state", "new"), value) for value in HOSTILE]
    for forged in cases:
        text = json.dumps(forged).encode()
        cause, loaded = outcome(zipped([("manifest.json", text), *entries.items()]), monkeypatch)
        if loaded is None:
            refusals += 1
            assert cause.__cause__ is None or errors.DAMAGED not in str(cause), forged
            continue
        accepted += 1
        assert type(loaded) in registry._BY_CLASS
        assert repr(loaded)
        assert set(clone(loaded).get_params()) == set(model.get_params())
        values = loaded.decision_function(rows_for(name, model))
        assert values.shape == (38,)
        assert values.dtype == np.float64
        save(loaded, tmp_path / "y")
    assert refusals > accepted > 3


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["encoder", "mixed table"])
def test_forged_encoders_are_refused_or_encode(name, tmp_path, monkeypatch):
    """Values in the record of an encoder removed or replaced: a check refuses it, or the pipeline uses it."""
    model, rng, accepted = fitted(name), random.Random(0), 0
    manifest, entries = opened(saved(model, tmp_path))
    record = ("model", "state", "steps", 0, "tuple", 1, "state")
    every = [at for at in places(manifest) if at[: len(record)] == record and len(at) > len(record)]
    similar = [*HOSTILE, 2, 0.5, 1e-300, False, "number", "category", "date", "ignored", ["a", "b"], ["a", "a"]]
    for _ in range(200):
        forged = changed(manifest, rng.choice(every), rng.choice([..., *similar]))
        text = json.dumps(forged).encode()
        cause, loaded = outcome(zipped([("manifest.json", text), *entries.items()]), monkeypatch)
        if loaded is None:
            assert cause.__cause__ is None or errors.DAMAGED not in str(cause), forged
            continue
        accepted += 1
        try:
            assert loaded.decision_function(rows_for(name, model)).shape == (38,)
        except TableError as error:  # the columns or categories of another table
            assert "\n" not in str(error)  # noqa: PT017
        except ValueError as error:
            assert "Input X contains infinity" in str(error)  # noqa: PT017
    assert 5 < accepted < 100


def test_a_stranger_in_a_file_is_named(tmp_path):
    manifest, entries = opened(saved(fitted("rbf"), tmp_path))
    manifest["model"]["object"] = "Other"
    with pytest.raises(ModelFileError, match="of the class 'Other', which is not registered here"):
        load(written(tmp_path / "x", manifest, entries))
    manifest["model"] = 1
    refused(written(tmp_path / "x", manifest, {}), "listed but missing")


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    """An estimator without fitted attributes may only be a parameter of another one."""
    manifest, _ = opened(saved(fitted("search"), tmp_path))
    estimator = {**manifest, "model": manifest["model"]["state"]["estimator"], "arrays": {}}
    with pytest.raises(ModelFileError, match="PUSVC instance is not fitted yet"):
        load(written(tmp_path / "x", estimator, {}))
