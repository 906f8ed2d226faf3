"""About how long an exact Gaussian fit takes: the kernel values it needs, at a speed measured on some rows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.system.work import Work

_SOLVED, _CERTIFIED = 0.65, 0.5
"""Kernel values over n², of the solver and of the certificate, if most rows have a coefficient: 200,000 poker hands
take 0.65 and 0.5 (``python -m benchmarks.million fit``). With fewer coefficients a fit takes less."""

_TIMED = 2048
"""Rows whose kernel values are timed."""


def expected_work(X: Any, rows: int) -> Work | None:
    """The kernel values that a fit of so many rows needs, and their time here. None if X has no dense tiles.

    The fit may take less: the estimate assumes that most rows get a coefficient.
    """
    sample = np.arange(min(_TIMED, X.shape[0]))
    matrix = KernelMatrix(X[sample], Kernel("rbf", 1.0))
    if not matrix.has_tiles:
        return None
    single = matrix.restrict(sample, np.float32)
    v, times = np.ones((len(sample), 1)), []
    for _ in range(3):
        before, began = single.entries, time.perf_counter()
        single.paired_product(sample, sample[:0], v)
        times.append((time.perf_counter() - began) / (single.entries - before))
    amount = (_SOLVED + _CERTIFIED) * float(rows) ** 2
    return Work(seconds=amount * min(times), amount=amount)
