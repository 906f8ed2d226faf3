"""``usmo bench``: how fast this machine fits, compared with scikit-learn's SVC."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np
from sklearn.svm import SVC

from usmo import PUSVC
from usmo.cli.messages import put_json
from usmo.datasets import make_poker_hands, make_pu

_REPEATS = 3


def bench(sizes: tuple[int, ...], as_json: bool) -> None:
    """Fit PUSVC and SVC to poker hands."""
    PUSVC(0.5).fit(np.arange(100.0)[:, None], np.arange(100) < 10)  # compiles
    rows = [_measured(n) for n in sizes]
    if as_json:
        put_json({"bench": rows})
        return
    click.echo(",".join(rows[0]))
    for row in rows:
        click.echo(",".join(f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()))


def _measured(n: int) -> dict[str, float]:
    X, hand = make_poker_hands(n, random_state=0)
    X = X / 13.0
    known, prior = make_pu(hand == 0, n_positives=min(100, n // 10), random_state=0)
    model = PUSVC(prior)
    ours = _seconds(lambda: model.fit(X, known))
    theirs = _seconds(lambda: SVC().fit(X, known))
    return {
        "rows": n,
        "seconds": round(ours, 4),
        "svc_seconds_over_ours": round(theirs / ours, 3),
        "kernel_rows": round(model.kernel_rows_, 1),
        "relative_gap": model.certificate_.relative_gap,
    }


def _seconds(fit: Callable[[], Any]) -> float:
    """The shortest time of several calls."""
    times = []
    for _ in range(_REPEATS):
        began = time.perf_counter()
        fit()
        times.append(time.perf_counter() - began)
    return min(times)
