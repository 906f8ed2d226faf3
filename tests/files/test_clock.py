"""Encoders of dates in model files: files without clocks encode days only, and forged clocks are refused."""

import copy
from datetime import datetime

import numpy as np
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline

from tests.files.models import opened, saved, written
from usmo import LinearPUSVC
from usmo.columns import TableEncoder, schema
from usmo.files import ModelFileError, load

MOMENTS = [datetime(2024, 1, 1 + k % 28, k % 24, 30) for k in range(60)]
TABLE = pl.DataFrame({"when": [None, *MOMENTS[1:]], "x": [k % 5 for k in range(60)]})


def model():
    return make_pipeline(TableEncoder(), LinearPUSVC(0.4, lam=0.1)).fit(TABLE, np.arange(60) % 24 < 5)


def stored_schemas(manifest):
    return manifest["model"]["state"]["steps"][0]["tuple"][1]["state"]["columns_"]


def test_a_clock_comes_back_bit_by_bit(tmp_path):
    fitted = model()
    again = load(saved(fitted, tmp_path))
    assert again[0].columns_ == fitted[0].columns_
    assert [own["part"] for own in again[0].columns_[0]["clock"]] == ["hour", "weekday"]
    np.testing.assert_array_equal(again.decision_function(TABLE), fitted.decision_function(TABLE))


def test_a_file_of_dates_without_a_clock_encodes_their_days_only(tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(schema, "clock_of", lambda days: [])  # as earlier versions made schemas
        earlier = model()
    path = saved(earlier, tmp_path)
    assert "clock" not in stored_schemas(opened(path)[0])[0]["dict"]
    again = load(path)
    days = np.array([(moment - datetime(1970, 1, 1)).total_seconds() / 86400 for moment in MOMENTS])
    days[0] = np.median(days[1:])
    encoded = again[0].transform(TABLE)
    assert encoded.shape == (60, 3)
    np.testing.assert_allclose(encoded[:, 0], (days - days.mean()) / days.std(), atol=1e-9)
    np.testing.assert_array_equal(encoded[:, 1], np.arange(60) == 0)
    np.testing.assert_array_equal(again.decision_function(TABLE), earlier.decision_function(TABLE))


def forged(clock):
    """Clocks that no fit makes, each from a copy of a good one."""
    changes = {
        "no part": lambda own: own.clear(),
        "twice the same": lambda own: own.append(copy.deepcopy(own[0])),
        "another order": lambda own: own.reverse(),
        "unknown part": lambda own: own[0]["dict"].update(part="minute"),
        "no name": lambda own: own[0]["dict"].update(part=["hour"]),
        "no scale": lambda own: own[0]["dict"].update(scale=0.0),
        "text for a mean": lambda own: own[1]["dict"].update(mean="3"),
        "a field too many": lambda own: own[1]["dict"].update(other=1.0),
        "a field less": lambda own: own[1]["dict"].pop("median"),
        "a number": lambda own: own.__setitem__(0, 1.0),
    }
    for name, change in changes.items():
        own = copy.deepcopy(clock)
        change(own)
        yield name, own
    yield "no list", 1.0


def test_forged_clocks_are_refused(tmp_path):
    manifest, entries = opened(saved(model(), tmp_path))
    when, x = (each["dict"] for each in stored_schemas(manifest))
    good = when["clock"]
    for name, clock in forged(good):
        when["clock"] = clock
        with pytest.raises(ModelFileError, match=r"columns_\[0\].*clock"):
            load(written(tmp_path / name, manifest, entries))
    when["clock"], x["clock"] = good, good
    with pytest.raises(ModelFileError, match=r"columns_\[1\] must have the fields .*, as a number has"):
        load(written(tmp_path / "number", manifest, entries))
    del x["clock"], when["clock"]
    with pytest.raises(ModelFileError):  # the classifier has more columns
        load(written(tmp_path / "without", manifest, entries))
