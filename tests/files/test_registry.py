"""Rules for attributes, and the classes that the rooms above declare."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from tests.files.models import fitted, saved
from usmo.files import ModelFileError, registry
from usmo.files.rules import array, conform, instance, number, optional, or_none, reals, size

RULES = {
    "columns": size("columns"),
    "table": reals("rows", "columns", csr=True),
    "weights": reals("rows"),
    **optional(share=number(0, 1), text=instance(str), median=or_none(reals("columns"))),
}
VALID = {"columns": 3, "table": np.zeros((2, 3)), "weights": np.ones(2)}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"columns": np.int64(3), "table": sparse.csr_array((2, 3)), "weights": np.ones(2, dtype=np.float32)},
        {"share": np.float32(0.5), "text": "", "median": None},
        {"median": np.zeros(3)},
    ],
)
def test_values_that_satisfy_their_rules_conform(changes):
    conform(SimpleNamespace(**{**VALID, **changes}), RULES)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"columns": 4}, r"table must be finite numbers of shape \(2, 4\), got float64 of shape \(2, 3\)"),
        ({"columns": True}, "columns must be the number of columns, got True"),
        ({"columns": 0}, "columns must be the number of columns, got 0"),
        ({"columns": 3.0}, "columns must be the number of columns"),
        ({"table": [[1.0]]}, r"table must be finite numbers of shape \(n, 3\), got list"),
        ({"table": np.zeros((2, 3), dtype=int)}, "table must be finite numbers"),
        ({"table": np.zeros(3)}, "table must be finite numbers"),
        ({"table": sparse.csr_array([[np.nan, 0, 0], [0, 0, 0]])}, "table must be finite numbers"),
        ({"weights": np.ones(3)}, r"weights must be finite numbers of shape \(2,\), got float64 of shape \(3,\)"),
        ({"weights": sparse.csr_array(np.ones((1, 2)))}, "weights must be finite numbers"),
        ({"weights": np.array([1, np.inf])}, "weights must be finite numbers"),
        ({"share": 1}, r"share must be a number in \(0, 1\), got 1"),
        ({"share": np.nan}, r"share must be a number in \(0, 1\)"),
        ({"text": 5}, "text must be of type str, got 5"),
        ({"median": np.zeros(2)}, "median must be finite numbers"),
    ],
)
def test_values_that_break_a_rule_are_named(changes, words):
    with pytest.raises(ModelFileError, match=words):
        conform(SimpleNamespace(**{**VALID, **changes}), RULES)


def test_a_required_attribute_must_be_there():
    with pytest.raises(ModelFileError, match="has no attribute 'weights': it is not fitted"):
        conform(SimpleNamespace(columns=3, table=np.zeros((2, 3))), RULES)


def test_sizes_can_be_given_and_values_compared_with_them():
    below = array("columns", "iu", "support", values=lambda x, sizes: x.max(initial=0) < sizes["columns"])
    conform(SimpleNamespace(support_=np.array([2])), {"support_": below}, columns=3)
    with pytest.raises(ModelFileError, match="support_ must be columns"):
        conform(SimpleNamespace(support_=np.array([3])), {"support_": below}, columns=3)


def test_names_of_classes_in_files_never_change(tmp_path):
    saved(fitted("rbf"), tmp_path)
    names = {
        "PUSVC", "LinearPUSVC", "RampPUSVC", "PUSVCCV", "Kernel", "Certificate", "PassRecord", "Approximation",
        "Compression", "Calibration", "Selection", "FourierMap", "TableEncoder", "Pipeline", "RBFSampler",
        "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Normalizer",
    }  # fmt: skip
    assert names <= set(registry._BY_NAME)


def test_the_file_format_imports_no_room_above_it():
    code = "import sys, usmo.files; print([name for name in sys.modules if name.startswith('usmo.')])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "usmo.files.registry" in printed
    assert "usmo.estimators" not in printed
    assert "usmo.columns" not in printed
