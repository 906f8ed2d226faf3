"""A fit that is interrupted or fails leaves the estimator as it was before."""

import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tests.oracles import random_table, rbf
from usmo import PUSVC


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_interrupted_fit_keeps_the_earlier_model_or_none(error):
    X, y = random_table(0, n=150, p=30, d=4)
    calls = []

    def kernel(A, B):
        calls.append(1)
        if len(calls) > stop_after:
            raise error("stop")
        return rbf(A, B, 0.3)

    stop_after = 5
    model = PUSVC(0.4, kernel=kernel)
    with pytest.raises(error):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    stop_after = 10**9
    before = model.fit(X, y).decision_function(X)
    stop_after = len(calls) + 5
    with pytest.raises(error):
        model.fit(np.hstack([X, X]), y)
    stop_after = 10**9
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize("solver", ["usmo", "blocks"])
def test_ctrl_c_interrupts_compiled_loops(solver):
    """SIGINT during a fit that would take minutes raises KeyboardInterrupt."""
    script = textwrap.dedent("""
        import sys, numpy as np
        from usmo import PUSVC
        rng = np.random.default_rng(0)
        X = rng.normal(size=(1500, 60)) * np.logspace(0, -5, 60)
        y = (np.arange(1500) < 50).astype(int)
        PUSVC(0.4, kernel="linear").fit(X, y)  # compiles the loops
        print("ready", flush=True)
        model = PUSVC(0.4, kernel="linear", lam=1e-8, tol=1e-12, verbose=2, solver="SOLVER")
        try:
            model.fit(X, y)
        except KeyboardInterrupt:
            print("interrupted", hasattr(model, "dual_coef_"))
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", script.replace("SOLVER", solver)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    process.stderr.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == "interrupted False\n", err[-2000:]
