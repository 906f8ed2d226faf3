"""Work saved and time to discovery of the review and of rivals, over collections and seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from benchmarks.review.collections import RARE, TEXT, Collection, table, text
from benchmarks.review.finished import Finished, Key
from benchmarks.review.rivals import Bagging, RandomOrder, ReviewedSVM
from usmo.review.measures import average_time_to_discovery, places_of, work_saved
from usmo.review.rankers import choose_ranker
from usmo.review.simulation import Order, Plan, review_order

OURS = "usmo review"


def rivals(kind: str, seed: int) -> dict[str, Any]:
    """The other ways to rank, by name."""
    if kind == "text":
        return {
            "SVM on reviewed, 9.8 in all": ReviewedSVM(True, seed),
            "SVM on reviewed, 9.8 each": ReviewedSVM(False, seed),
            "random order": RandomOrder(seed),
        }
    return {
        "PU bagging of trees": Bagging(1.0, seed=seed),
        "PU bagging, rejected x 20": Bagging(20.0, seed=seed),
        "random order": RandomOrder(seed),
    }


def run(kind: str, seeds: Sequence[int], jobs: int, folder: Path) -> None:
    """Simulate the reviews that are not finished, seed by seed, and print a table of all."""
    finished = Finished(folder / f"{kind}.jsonl")
    names = names_of(kind)
    keys = [key for seed in seeds for name in names for key in keys_of(kind, name, seed)]
    due = [key for key in keys if key not in finished]
    done = Parallel(n_jobs=jobs, return_as="generator")(delayed(_order)(kind, key) for key in due)
    for k, (key, order) in enumerate(zip(due, done, strict=True), start=1):
        finished.add(key, _collection(kind, key.collection).truth, order)
        print(f"{k} of {len(due)}: {key.collection}, {key.method}, seed {key.seed}", flush=True)
    print(f"\n{len(seeds)} seeds, one positive to start from. Work saved at 95 % recall / mean time to discovery")
    print(f"{'':30}" + "".join(f"{name[:12]:>16}" for name in names) + f"{'mean':>16}{'our lead':>16}")
    ours = _by_seed(finished, [key for key in keys if key.method == OURS], names)
    for method in dict.fromkeys(key.method for key in keys):
        own = _by_seed(finished, [key for key in keys if key.method == method], names)
        means = own.mean(axis=1)
        cells = "".join(f"{f'{w:.3f} / {a:.3f}':>16}" for w, a in [*means, means.mean(axis=0)])
        print(f"{method:30}{cells}{'' if method == OURS else _lead(ours - own):>16}")


def names_of(kind: str) -> tuple[str, ...]:
    """The collections."""
    return TEXT if kind == "text" else tuple(RARE)


def keys_of(kind: str, name: str, seed: int) -> Iterable[Key]:
    """The reviews of one collection with one seed."""
    ours = choose_ranker(_collection(kind, name).X)
    for method, ranker in {OURS: ours, **rivals(kind, seed)}.items():
        yield Key(name, method, repr(ranker), seed)


def _by_seed(finished: Finished, keys: Sequence[Key], names: Sequence[str]) -> np.ndarray:
    """Both measures by collection and seed."""
    return np.array(
        [[_measures(finished.course(key).along) for key in keys if key.collection == name] for name in names]
    )


def _lead(difference: np.ndarray) -> str:
    """The mean lead in work saved over collections, and its standard error from the spread over seeds."""
    lead = difference[:, :, 0].mean(axis=0)
    error = f"{lead.std(ddof=1) / np.sqrt(len(lead)):.3f}" if len(lead) > 1 else "-"
    return f"{lead.mean():.3f} ± {error}"


def _measures(along: np.ndarray) -> tuple[float, float]:
    places, n = places_of(along), len(along)
    return work_saved(places, n), average_time_to_discovery(places, n)


def _order(kind: str, key: Key) -> Order:
    """One simulated review."""
    data = _collection(kind, key.collection)
    ours = key.method == OURS
    ranker = _own_ranker(kind, key.collection) if ours else rivals(kind, key.seed)[key.method]
    return review_order(data.X if ours else data.plain, data.truth, key.seed, Plan(rules=()), ranker)


@cache
def _collection(kind: str, name: str) -> Collection:
    return (text if kind == "text" else table)(name)


@cache
def _own_ranker(kind: str, name: str) -> Any:
    """The review's ranker, one for all seeds of a collection: latent columns do not depend on the seed."""
    return choose_ranker(_collection(kind, name).X)
