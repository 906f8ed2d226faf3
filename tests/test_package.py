"""What a user meets before the first fit: imports, compilation, documentation."""

import doctest
import os
import subprocess
import sys

import pytest

import usmo
from usmo.estimators import pusvc as estimators
from usmo.fitting import path as homotopy

FIT = (
    "import numpy as np; from usmo import PUSVC; PUSVC(0.5).fit(np.arange(8.0)[:, None], [0, 0, 0, 0, 0, 1, 1, 1])"
)


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )


def test_importing_loads_no_compiler_plotting_or_qp_library():
    found = run("import sys, usmo; print([m for m in ('numba', 'clarabel', 'matplotlib') if m in sys.modules])")
    assert found.stdout.strip() == "[]"


def test_first_fit_on_a_machine_says_that_it_compiles_and_the_second_does_not(tmp_path):
    cold, warm = (run(FIT, NUMBA_CACHE_DIR=str(tmp_path)).stderr for _ in range(2))
    assert cold.strip() == "usmo: compiling the solver for this machine; this takes about ten seconds, once."
    assert warm == ""


def test_no_function_is_compiled_after_the_announcement():
    """The toy problem of the announcement compiles every signature that a real fit uses."""
    code = """
import numpy as np
from usmo.fitting import kernel as training
from usmo.solvers import pair, pair_steps as smo, usmo
training.compile_once()
functions = [f for m in (pair, smo, usmo) for f in vars(m).values() if hasattr(f, "signatures")]
assert len(usmo._whole_pass.signatures) == len(smo.steps_on_set.signatures) == 1
before = [len(f.signatures) for f in functions]
from usmo import PUSVC
rng = np.random.default_rng(0)
X, y = rng.normal(size=(200, 3)), np.arange(200) < 20
PUSVC(0.4, lam=1e-4).fit(X, y)
small = PUSVC(0.4, lam=1e-4, cache_size=0.001, scenario="censored")
small.fit(X.astype(np.float32), y, sample_weight=rng.random(200))
print(before == [len(f.signatures) for f in functions])
"""
    assert run(code).stdout.strip() == "True"


@pytest.mark.parametrize("module", [estimators, homotopy])
def test_docstring_example_runs(module):
    results = doctest.testmod(module)
    assert results.attempted >= 6
    assert results.failed == 0


def test_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert version("usmo") == usmo.__version__
