"""Review candidates one by one: propose, decide, refit, and know how many are left and when to stop.

``Review`` is the loop, ``Store`` its file. The assumptions are in ``docs/review.md``.
"""

from __future__ import annotations

from usmo.review.loop import Candidate, Review
from usmo.review.refit import BackgroundRefit
from usmo.review.stopping import RULES, Audit, Buscar, Estimate, Irrelevant, Verdict
from usmo.review.store import AlreadyDecided, Entry, Store, StoreError
from usmo.review.what_is_left import Remaining

__all__ = [
    "RULES", "AlreadyDecided", "Audit", "BackgroundRefit", "Buscar", "Candidate", "Entry", "Estimate", "Irrelevant",
    "Remaining", "Review", "Store", "StoreError", "Verdict",
]  # fmt: skip
