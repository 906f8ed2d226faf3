"""Warnings point at the line of the user's program, not into this package or scikit-learn."""

import re
import subprocess
import sys
from importlib.util import find_spec

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

CALLS = [
    "short().fit(X, y)  # here",
    "def mine():\n    return short().fit(X, y)  # here\nmine()",
    "make_pipeline(StandardScaler(), short()).fit(X, y)  # here",
    "GridSearchCV(short(), {'gamma': [0.1]}, cv=2).fit(X, y)  # here",
    "GridSearchCV(make_pipeline(StandardScaler(), short()), {}, cv=2).fit(X, y)  # here",
    "LinearPUSVC(0.4, tol=1e-9, max_iter=1).fit(X, y)  # here",
    "RampPUSVC(0.4, max_iter=1).fit(X, y)  # here",
    "PUSVC(0.4).fit(X, text)  # here",
    "PUSVC(0.4, lam=1e6).fit(X, y)  # here: the decision function is constant",
]
WITH_CALLBACKS = [
    "short().set_callbacks(Callback()).fit(X, y)  # here",
    "GridSearchCV(short().set_callbacks(Callback()), {'gamma': [1]}, cv=2).fit(X, y)  # here",
]


def test_every_warning_names_the_line_of_its_caller(tmp_path):
    script = tmp_path / "mine.py"
    calls = CALLS + (WITH_CALLBACKS if find_spec("sklearn.callback") else [])
    script.write_text(HEAD + "\n".join(calls) + "\n")
    lines = script.read_text().splitlines()
    expected = {k for k, line in enumerate(lines, 1) if "# here" in line}
    assert len(expected) == len(calls)
    run = subprocess.run(
        [sys.executable, "-W", "always", str(script)], capture_output=True, text=True, timeout=300, check=True
    )
    places = re.findall(r"^(.*?):(\d+): (?:User|Convergence)Warning: (.*)$", run.stderr, flags=re.M)
    assert {(path, int(line)) for path, line, _ in places} == {(str(script), k) for k in expected}, run.stderr
