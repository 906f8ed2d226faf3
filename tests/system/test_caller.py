"""Warnings point at the line of the user's program, not into this package or scikit-learn."""

import re
import subprocess
import sys

import pytest

HEAD = """
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from usmo import PUSVC, LinearPUSVC, RampPUSVC

rng = np.random.default_rng(0)
X = np.r_[rng.normal(size=(20, 3)) + 1, rng.normal(size=(80, 3))]
y = np.arange(100) < 20
text = np.where(y, "b", "a")


class Callback:
    def setup(self, estimator, context): pass
    def teardown(self, estimator, context): pass
    def on_fit_task_begin(self, *args, **options): pass
    def on_fit_task_end(self, *args, **options): pass


def short(**options):
    return PUSVC(0.4, lam=1e-4, tol=1e-9, max_iter=1, **options)

"""

CALLS = {
    "script": "short().fit(X, y)  # here",
    "function": "def mine():\n    return short().fit(X, y)  # here\nmine()",
    "pipeline": "make_pipeline(StandardScaler(), short()).fit(X, y)  # here",
    "search": "GridSearchCV(short(), {'gamma': [0.1]}, cv=2).fit(X, y)  # here",
    "nested": "GridSearchCV(make_pipeline(StandardScaler(), short()), {}, cv=2).fit(X, y)  # here",
    "linear": "LinearPUSVC(0.4, tol=1e-9, max_iter=1).fit(X, y)  # here",
    "ramp": "RampPUSVC(0.4, max_iter=1).fit(X, y)  # here",
    "text labels": "PUSVC(0.4).fit(X, text)  # here",
    "constant": "PUSVC(0.4, lam=1e6).fit(X, y)  # here",
    "callbacks": "short().set_callbacks(Callback()).fit(X, y)  # here",
    "callbacks in a search": "GridSearchCV(short().set_callbacks(Callback()), {'gamma': [1]}, cv=2).fit(X, y)  # here",
}


@pytest.mark.parametrize("name", CALLS)
def test_warning_names_the_line_of_the_caller(name, tmp_path):
    if "callbacks" in name:
        pytest.importorskip("sklearn.callback")
    script = tmp_path / "mine.py"
    script.write_text(HEAD + CALLS[name] + "\n")
    expected = next(k for k, line in enumerate(script.read_text().splitlines(), 1) if line.endswith("# here"))
    run = subprocess.run(
        [sys.executable, "-W", "always", str(script)], capture_output=True, text=True, timeout=300, check=True
    )
    places = re.findall(r"^(.*?):(\d+): (?:User|Convergence)Warning: (.*)$", run.stderr, flags=re.M)
    assert places, run.stderr
    assert {(path, int(line)) for path, line, _ in places} == {(str(script), expected)}, run.stderr
