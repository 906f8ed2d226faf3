"""Fits of large tables: python -m benchmarks.sizes   (USMO_DATA set)

Each fit in its own process, after compilation: seconds, peak memory above that before the fit, which includes the
data, kernel rows over n, relative gap. 100 labelled positives, the true prior, λ = 1e-2.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

import numpy as np

from benchmarks.fits import time_and_memory
from benchmarks.large import pu_table
from usmo import PUSVC, LinearPUSVC
from usmo.datasets import make_poker_hands, make_pu

CASES = {
    "exact rbf, adult 10,000 × 123": ("adult", 10_000, {}),
    "exact rbf, adult 32,000 × 123": ("adult", 32_000, {}),
    "exact rbf, MNIST 20,000 × 784": ("mnist", 20_000, {}),
    "exact rbf, MNIST 59,900 × 784": ("mnist", 59_900, {}),
    "Nyström 500, poker 300,000 × 10": ("poker", 300_000, {"approximation": "nystroem"}),
    "linear, poker 1,000,000 × 10": ("poker", 1_000_000, {"linear": True}),
    "linear, poker 10,000,000 × 10": ("poker", 10_000_000, {"linear": True}),
}


def measure(case: str) -> None:
    name, n, options = CASES[case]
    if name == "poker":
        X, hand = make_poker_hands(n, random_state=0)
        X = (X / 13.0).astype(np.float32)
        y, prior = make_pu(hand == 0, n_positives=100, random_state=0)
    else:
        X, y, prior = pu_table(name, n)
    estimator = LinearPUSVC if options.pop("linear", False) else PUSVC
    model = estimator(prior, **options)
    estimator(0.3, **options).fit(X[:400], np.arange(400) < 40)  # compiles
    seconds, above = time_and_memory(model, X, y)
    rows = getattr(model, "kernel_rows_", 0.0) / n
    print(
        f"{case:34s}{seconds:8.1f} s{max(0.0, above) / 1e6:8.0f} MB   kernel rows/n {rows:.2f}   "
        f"gap {model.certificate_.relative_gap:.0e}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="?", choices=CASES)
    chosen = parser.parse_args().case
    if chosen is not None:
        measure(chosen)
    else:
        for case in CASES:
            subprocess.run([sys.executable, "-W", "ignore", "-m", "benchmarks.sizes", case], check=True)
