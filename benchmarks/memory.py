"""Peak memory of a fit over the data: python -m benchmarks.memory

Each fit runs in its own process. The memory after imports, compilation and making the data is subtracted from the
peak. Promise: below 500 MB at n = 20,000, d = 20.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

import numpy as np

from benchmarks.fits import time_and_memory
from usmo import PUSVC


def measure(n: int, d: int, lam: float, solver: str) -> None:
    rng = np.random.default_rng(0)
    positive = rng.random(n + 100) < 0.3
    X = rng.normal(size=(n + 100, d)) + np.where(positive, 0.5, -0.5)[:, None]
    y = np.zeros(n + 100, dtype=int)
    y[np.flatnonzero(positive)[:100]] = 1
    PUSVC(0.3).fit(X[:200], np.arange(200) < 20)
    model = PUSVC(0.3, lam=lam, solver=solver)
    seconds, above = time_and_memory(model, X, y)
    print(
        f"{solver:6s}  n {n:6d}  d {d:3d}  lam {lam:g}  peak over the data {above / 2**20:5.0f} MB  "
        f"(data {X.nbytes / 2**20:.1f} MB)  "
        f"kernel rows/n {model.kernel_rows_ / n:.2f}  "
        f"non-bound {model.history_[-1].nonbound}  gap {model.certificate_.relative_gap:.1e}  {seconds:.0f} s",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one", nargs=4, metavar=("N", "D", "LAM", "SOLVER"))
    arguments = parser.parse_args()
    if arguments.one:
        n, d, lam, solver = arguments.one
        measure(int(n), int(d), float(lam), solver)
    else:
        for solver in ("usmo", "blocks"):
            for lam in ("1e-2", "1e-3", "1e-4"):
                case = ["20000", "20", lam, solver]
                subprocess.run([sys.executable, "-m", "benchmarks.memory", "--one", *case], check=True)
