"""The live line and scikit-learn's callbacks."""

import io

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.oracles import random_table
from usmo import PUSVC
from usmo.fitting.progress import printed


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_live_line_on_a_terminal(monkeypatch):
    X, y = random_table(0, n=400, p=30)
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    model = PUSVC(0.4, lam=1e-4, verbose=1).fit(X, y)
    shown = screen.getvalue().split("\r")[1:]
    assert len(shown) == len(model.history_)
    assert shown[-1].startswith("usmo [####################] violation")
    assert shown[-1].endswith("\n")
    assert shown[0].startswith("usmo [                    ]")


def test_silence_elsewhere():
    assert printed(0, 1e-3) is None


def test_callbacks_see_every_pass_and_a_usable_estimator():
    pytest.importorskip("sklearn.callback")
    X, y = random_table(0, n=400, p=30)
    seen = []

    class Watch:
        def setup(self, estimator, context):
            seen.append("setup")

        def teardown(self, estimator, context):
            seen.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None, metadata=None):
            if metadata is not None:
                seen.append((metadata["kind"], np.isfinite(fitted_estimator.decision_function(X)).all()))

    model = PUSVC(0.4, lam=1e-4).set_callbacks(Watch()).fit(X, y)
    assert seen[0] == "setup"
    assert seen[-1] == "teardown"
    assert [entry[0] for entry in seen[1:-1]] == [record.kind for record in model.history_]
    assert all(entry[1] for entry in seen[1:-1])


@pytest.mark.parametrize("solver", ["blocks", "usmo"])
def test_callback_ends_the_fit_and_is_torn_down_when_it_fails(solver):
    pytest.importorskip("sklearn.callback")
    X, y = random_table(0, n=400, p=30)
    ended = []

    class Stop:
        answer = True

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            ended.append(True)

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            if self.answer is None:
                raise RuntimeError("broken callback")
            return self.answer

    stop = Stop()
    model = PUSVC(0.4, lam=1e-4, tol=1e-8, solver=solver).set_callbacks(stop)
    with pytest.warns(ConvergenceWarning, match="a callback ended the fit: the KKT violation is"):
        model.fit(X, y)
    assert model.certificate_.kkt_violation > 1e-8
    stop.answer = None
    with pytest.raises(RuntimeError, match="broken callback"):
        model.fit(X, y)
    assert len(ended) == 2
    assert hasattr(model, "dual_coef_")
