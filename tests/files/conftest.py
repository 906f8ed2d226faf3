"""A valid model file in parts, for tests that forge files."""

import zipfile

import numpy as np
import pytest

from tests.files.models import X, fitted, opened, saved, written
from usmo.files import load


@pytest.fixture
def parts(tmp_path):
    """Manifest and entries of a sound file, for forging; rewritten unchanged they load."""
    manifest, entries = opened(saved(fitted("rbf"), tmp_path))
    again = load(written(tmp_path / "same", manifest, entries, zipfile.ZIP_DEFLATED))
    np.testing.assert_array_equal(again.decision_function(X), fitted("rbf").decision_function(X))
    return manifest, entries
