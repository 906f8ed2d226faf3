"""All stopping rules on many reviews: rows saved, recall reached, and how often a promise was kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.review.finished import Course, Finished
from benchmarks.review.ranking import OURS, keys_of, names_of
from usmo.review.replay import Stopped, replay
from usmo.review.stopping import RULES, make_rule


def run(seeds: range, folder: Path, reviews: int, jobs: int) -> None:
    """Replay the rules on the orders that ``text`` and ``tables`` left, several times with other random rows.

    All collections have about as many reviews: with fewer orders, each gets more draws of random rows.
    """
    cases: list[tuple[str, int, Course]] = []
    names = [(kind, name) for kind in ("text", "tables") for name in names_of(kind)]
    for kind, name in names:
        orders = _orders(Finished(folder / f"{kind}.jsonl"), kind, name, seeds)
        again = -(-reviews // (len(names) * max(1, len(orders))))
        cases += [(name, 1000 * k + seed, course) for k in range(again) for seed, course in orders]
        print(f"{name}: {len(orders)} orders, each with {again} draws of random rows")
    print(f"{len(cases)} reviews")
    results = Parallel(n_jobs=jobs)(delayed(_all_rules)(course, seed) for _, seed, course in cases)
    print(f"{'rule':12}{'saved':>8}{'recall':>8}{'promises':>10}{'kept':>7}{'share':>8}")
    for rule in RULES:
        _print(rule, [result[rule] for result in results])
    for title, value in (("rows saved", "saved"), ("share of promises kept", "kept")):
        print(f"\n{title}, by collection\n{'':16}" + "".join(f"{rule:>12}" for rule in RULES))
        for _, name in names:
            own = [result for (other, _, _), result in zip(cases, results, strict=True) if other == name]
            print(f"{name:16}" + "".join(_cell([getattr(one[rule], value) for one in own]) for rule in RULES))


def _orders(finished: Finished, kind: str, name: str, seeds: range) -> list[tuple[int, Course]]:
    """Seeds and orders of the review's finished simulations."""
    keys = [key for seed in seeds for key in keys_of(kind, name, seed) if key.method == OURS and key in finished]
    return [(key.seed, finished.course(key)) for key in keys]


def _all_rules(course: Course, seed: int) -> dict[str, Stopped]:
    return {name: replay(make_rule(name, 0.95, 0.95), course.along, seed, course.expected) for name in RULES}


def _print(name: str, results: list[Stopped]) -> None:
    promises = [result for result in results if result.promised is not None]
    kept = sum(bool(result.kept) for result in promises)
    share = f"{kept / len(promises):8.3f}" if promises else f"{'-':>8}"
    saved, recall = (np.mean([getattr(result, key) for result in results]) for key in ("saved", "recall"))
    print(f"{name:12}{saved:8.3f}{recall:8.3f}{len(promises):10}{kept:7}{share}")


def _cell(values: list[float | bool | None]) -> str:
    known = [float(value) for value in values if value is not None]
    return f"{np.mean(known):12.3f}" if known else f"{'-':>12}"
