"""Review candidates one by one: propose, decide, refit, and know how many are left and when to stop.

``Review`` is the loop, ``Store`` its file. The assumptions are in ``docs/review.md``. The names below are imported when
they are first used: the store needs nothing but the standard library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from usmo.review.loop import Candidate, Review
    from usmo.review.refit import BackgroundRefit
    from usmo.review.stopping import QBCB, RULES, Audit, Buscar, Estimate, Irrelevant, Tail, Verdict
    from usmo.review.store import AlreadyDecided, Entry, Store, StoreError
    from usmo.review.what_is_left import Remaining

_HOME = {
    "AlreadyDecided": "store", "BackgroundRefit": "refit", "Candidate": "loop", "Entry": "store",
    "Remaining": "what_is_left", "Review": "loop", "Store": "store", "StoreError": "store", "Verdict": "stopping",
    "RULES": "stopping", "Audit": "stopping", "Buscar": "stopping", "Estimate": "stopping", "Irrelevant": "stopping",
    "QBCB": "stopping", "Tail": "stopping",
}  # fmt: skip

__all__ = [
    "QBCB", "RULES", "AlreadyDecided", "Audit", "BackgroundRefit", "Buscar", "Candidate", "Entry", "Estimate",
    "Irrelevant", "Remaining", "Review", "Store", "StoreError", "Tail", "Verdict",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'usmo.review' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"usmo.review.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
