"""Memory that is asked for is checked first."""

import subprocess
import sys

import pytest

from usmo.system import memory

SCRIPT = """
import resource
import numpy as np
from usmo import PUSVC
X, y = np.random.default_rng(0).normal(size=(4000, 2)), np.arange(4000) < 50
PUSVC(0.4, solver="qp").fit(X[:100], y[:100])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, -1))
try:
    PUSVC(0.4, solver="qp").fit(X, y)
except MemoryError as error:
    print(error)
"""


def test_a_size_beyond_what_is_free_is_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 2**30)
    memory.require(2**29, "this")
    with pytest.raises(MemoryError, match=r"this needs about 4\.0 GB of memory, 1\.0 GB are free"):
        memory.require(2**32, "this")
    monkeypatch.setattr(memory, "free_bytes", lambda: 0)  # the system does not tell
    memory.require(2**60, "this")


@pytest.mark.skipif(sys.platform != "linux", reason="address space limits are those of Linux")
def test_the_dense_qp_raises_before_a_memory_limit_aborts_the_process():
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300, check=True)
    assert "solver='qp' with 4000 rows needs about 1.2 GB of memory" in run.stdout
