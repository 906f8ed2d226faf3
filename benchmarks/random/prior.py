"""Prior estimates by labelling mechanism: mean |error|, bias and coverage of the 90 % interval.

``known-negatives`` and ``negatives-only`` also see 50 of the unlabelled negatives, drawn at random. PULSNAR is
reimplemented from its paper.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.priors import SharedScores
from benchmarks.random.mechanisms import MECHANISMS, Draw, draw
from benchmarks.random.pulsnar import pulsnar
from benchmarks.results import Results
from usmo.priors import ESTIMATORS, NEED_NEGATIVES

METHODS = (
    "consensus",
    "best-bin",
    "saturation",
    "dedpul",
    "known-negatives",
    "negatives-only",
    "class-structure",
    "grouped",
    "PULSNAR",
)
"""Those that use the same scores follow one another."""
WITHOUT_INTERVAL = ("dedpul",)
"""Methods whose interval is not measured."""
NEGATIVES = 50


def estimate(method: str, sample: Draw, seed: int) -> tuple[float, float, float, float]:
    """The estimated prior of the whole sample, its interval (NaN for methods without one), and the truth."""
    if method == "PULSNAR":
        share, n_p = pulsnar(sample.X, sample.labelled, seed), int(sample.labelled.sum())
        return (n_p + share * (len(sample.labelled) - n_p)) / len(sample.labelled), np.nan, np.nan, sample.prior
    y = sample.labelled.astype(int)
    if method in NEED_NEGATIVES:
        negatives = np.flatnonzero(~sample.truth)
        y[np.random.default_rng(seed).choice(negatives, min(NEGATIVES, len(negatives) // 2), replace=False)] = -1
    own: dict[str, Any] = {"n_bootstrap": 0} if method in WITHOUT_INTERVAL else {}
    model = ESTIMATORS[method](scenario="censored", **own).fit(sample.X, y)
    ends = model.interval_ if method not in WITHOUT_INTERVAL else (np.nan, np.nan)
    return model.prior_, *ends, sample.prior


def main(draws: Sequence[int], tables: Sequence[str], results: Results) -> None:
    SharedScores()
    found: dict[tuple[str, str], list[tuple[str, float, float, float]]] = defaultdict(list)
    for name in tables:
        for mechanism in MECHANISMS:
            for seed in draws:
                missing = any((name, mechanism, seed, method) not in results for method in METHODS)
                sample = draw(name, mechanism, seed) if missing else None
                for method in METHODS:
                    key = (name, mechanism, seed, method)
                    value, low, high, true = results.get(key, estimate, method, sample, seed)
                    covered = np.nan if np.isnan(low) else float(low <= true <= high)
                    found[method, mechanism].append((name, value - true, covered, high - low))
        print(f"{name} is done", flush=True)
    print(f"\n{len(tables)} tables, draws {[*draws]}; mean |error| (bias) [coverage of the 90 % interval]")
    print(f"{'':16s}" + "".join(f"{mechanism:>21s}" for mechanism in (*MECHANISMS, "not at random")))
    for method in METHODS:
        others = [row for mechanism in MECHANISMS[1:] for row in found[method, mechanism]]
        cells = [_cell(found[method, mechanism]) for mechanism in MECHANISMS]
        print(f"{method:16s}" + "".join(f"{cell:>21s}" for cell in (*cells, _cell(others))))
    print("\ncoverage (width) of consensus at random, by table")
    for name in tables:
        rows = [row for row in found["consensus", "random"] if row[0] == name]
        print(f"{name:16s} {np.mean([row[2] for row in rows]):.2f} ({np.mean([row[3] for row in rows]):.2f})")


def _cell(rows: Sequence[tuple[str, float, float, float]]) -> str:
    errors = np.array([row[1] for row in rows])
    cell = f"{np.abs(errors).mean():.3f} ({errors.mean():+.2f})"
    return cell if np.isnan(rows[0][2]) else f"{cell} [{np.mean([row[2] for row in rows]):.2f}]"
