"""All stopping rules on many reviews: rows saved, recall reached, and how often a promise was kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from usmo.review.replay import Stopped, replay
from usmo.review.stopping import RULES, make_rule

MADE_UP = [(n, T, d) for n, T in ((1700, 45), (6000, 50), (2000, 100), (4000, 400)) for d in (1.5, 2.5, 3.5)]
"""Rows, positives, and by how many standard deviations the scores of positives are higher."""

_NAMES = [name for name in RULES if name != "estimate"]
"""The rules that need no model."""


def run(folder: Path, reviews: int, jobs: int) -> None:
    """Replay the rules on the orders of ``text`` and ``tables``, several times with other random rows, and made-up."""
    cases = [
        (path.stem, labels, seed)
        for path in sorted(folder.glob("*.npz"))
        for seed, labels in enumerate(np.load(path)["along"])
    ]
    real = len({name for name, _, _ in cases})
    again = max(1, reviews // max(1, 2 * len(cases)))
    cases = [(name, labels, 1000 * k + seed) for k in range(again) for name, labels, seed in cases]
    k = 0
    while len(cases) < reviews:
        n, T, d = MADE_UP[k % len(MADE_UP)]
        cases.append((f"made up {T}/{n}, {d:g}", made_up(n, T, d, k), k))
        k += 1
    print(
        f"{len(cases)} reviews: {real} collections, each order with {again} draws of random rows, and {k} made up"
    )
    results = Parallel(n_jobs=jobs)(delayed(_all_rules)(labels, seed) for _, labels, seed in cases)
    print(f"{'rule':12}{'saved':>8}{'recall':>8}{'promises':>10}{'kept':>7}{'share':>8}")
    for name in _NAMES:
        _print(name, [result[name] for result in results])
    print("\nrows saved by collection")
    print(f"{'':28}" + "".join(f"{name:>12}" for name in _NAMES))
    for group in dict.fromkeys(name for name, _, _ in cases):
        own = [result for (name, _, _), result in zip(cases, results, strict=True) if name == group]
        print(f"{group:28}" + "".join(f"{np.mean([one[rule].saved for one in own]):12.3f}" for rule in _NAMES))


def made_up(n: int, T: int, d: float, seed: int) -> np.ndarray:
    """Labels along a ranking by normal scores, those of positives higher by d."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) < T
    return np.asarray(truth[np.argsort(-(rng.normal(size=n) + d * truth), kind="stable")])


def _all_rules(labels: np.ndarray, seed: int) -> dict[str, Stopped]:
    return {name: replay(make_rule(name, 0.95, 0.95), labels, seed) for name in _NAMES}


def _print(name: str, results: list[Stopped]) -> None:
    promises = [result for result in results if result.promised is not None]
    kept = sum(bool(result.kept) for result in promises)
    share = f"{kept / len(promises):8.3f}" if promises else f"{'-':>8}"
    saved, recall = (np.mean([getattr(result, key) for result in results]) for key in ("saved", "recall"))
    print(f"{name:12}{saved:8.3f}{recall:8.3f}{len(promises):10}{kept:7}{share}")
