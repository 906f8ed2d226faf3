import os
from pathlib import Path

from hypothesis import settings

# Numba watches a cached function's own file only, not the files of the functions it calls.
if "PYTEST_XDIST_WORKER" not in os.environ:
    for stale in (Path(__file__).parent.parent / "src").rglob("*.nb[ic]"):
        stale.unlink(missing_ok=True)  # another run may have been faster

settings.register_profile("ci", deadline=None, max_examples=100, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
