"""Time to import usmo and scikit-learn, and time of a first fit: python -m benchmarks.imports"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

CODE = {
    "import the same parts of scikit-learn": (
        "import sklearn.svm, sklearn.linear_model, sklearn.kernel_approximation"
    ),
    "from usmo import PUSVC": "from usmo import PUSVC",
    "first fit, compiled before": (
        "import numpy as np; from usmo import PUSVC; "
        "PUSVC(0.5).fit(np.arange(8.0)[:, None], [0, 0, 0, 0, 0, 1, 1, 1])"
    ),
}


def best_of(code: str, times: int, **environment: str) -> float:
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", code], check=True, env={**os.environ, **environment}, stderr=subprocess.DEVNULL
        )
        seconds.append(time.perf_counter() - began)
    return min(seconds)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fit = CODE["first fit, compiled before"]
        cold = best_of(fit, 1, NUMBA_CACHE_DIR=folder)
        times = {name: best_of(code, 5, NUMBA_CACHE_DIR=folder) for name, code in CODE.items()}
    base = next(iter(times.values()))
    for name, value in (*times.items(), ("first fit on a new machine", cold)):
        print(f"{name:40s} {value:6.2f} s   {value / base:5.2f} × the first line")
