"""scikit-learn's callbacks: called after each pass, with a usable estimator, and able to end the fit."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tests.oracles import random_table
from usmo import PUSVC

pytest.importorskip("sklearn.callback")


def test_callbacks_get_every_pass_and_a_usable_estimator():
    X, y = random_table(0, n=400, p=30)
    calls = []

    class Recorder:
        def setup(self, estimator, context):
            calls.append("setup")

        def teardown(self, estimator, context):
            calls.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None, metadata=None):
            if metadata is not None:
                calls.append((metadata["kind"], np.isfinite(fitted_estimator.decision_function(X)).all()))

    model = PUSVC(0.4, lam=1e-4).set_callbacks(Recorder()).fit(X, y)
    assert calls[0] == "setup"
    assert calls[-1] == "teardown"
    assert [entry[0] for entry in calls[1:-1]] == [record.kind for record in model.history_]
    assert all(entry[1] for entry in calls[1:-1])


@pytest.mark.parametrize("solver", ["blocks", "usmo"])
def test_callback_can_end_the_fit_and_is_torn_down_after_an_error(solver):
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
