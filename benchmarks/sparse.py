"""Wide sparse tables: python -m benchmarks.sparse [texts] [large] [tables] [warm] [growth] [crossing]   (USMO_DATA set)

Ratios to scikit-learn's LinearSVC, timed in turn with ours in the same run (best of several), and counts. Times are
those of whole fits, from the arrays to the calibrated and certified model.

texts     TF-IDF-like rows of three sizes and three real collections, against LinearSVC(C=0.11, class_weight="balanced")
large     500,000 × 200,000 with 60 entries a row, and the memory beside the table
tables    adult, shuttle, bank, MNIST, against LinearSVC(dual=False)
warm      a fit after ten labels have changed, over a fit from scratch, in seconds and in products with the table; in a
          review, over its first fit
growth    time against the rows and against the entries of a row
crossing  the Newton solver against the interior point on dense tables of few columns
"""

from __future__ import annotations

import argparse
import itertools
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.svm import LinearSVC

from benchmarks.labels import COLLECTIONS, documents
from benchmarks.large import pu_table
from usmo import LinearPUSVC
from usmo.core.labels import Part, Risk, label_problem
from usmo.estimators.preparation import resolve_eta
from usmo.review.rankers import LinearRanker
from usmo.solvers import newton, starts
from usmo.solvers.newton_products import rows_of

SIZES = ((5000, 10_000), (20_000, 30_000), (50_000, 50_000))
WORDS, KNOWN, LAMBDAS = 60, 20, (1e-1, 1e-2, 1e-3)


def synthetic(n: int, d: int, length: int = WORDS) -> tuple[Any, np.ndarray, float]:
    """Rows of words with Zipf-like frequencies; a hidden concept of 200 words makes a tenth of them positive."""
    rng = np.random.default_rng(0)
    p = 1.0 / (np.arange(d) + 10.0)
    words = rng.choice(d, size=n * length, p=p / p.sum()).astype(np.int32)
    X = sparse.csr_matrix((np.ones(n * length), words, np.arange(0, n * length + 1, length)), shape=(n, d))
    X.sum_duplicates()
    X.data = 1.0 + np.log(X.data)
    X.data *= (np.log((1 + n) / (1 + np.bincount(X.indices, minlength=d))) + 1.0)[X.indices]
    X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), np.diff(X.indptr))
    concept = np.zeros(d)
    concept[rng.choice(min(d, 3000), 200, replace=False)] = rng.standard_normal(200)
    score = X @ concept
    return X, *_labelled(score > np.quantile(score, 0.9), 100)


def _labelled(truth: np.ndarray, known: int) -> tuple[np.ndarray, float]:
    labels = np.zeros(len(truth), dtype=int)
    labels[np.random.default_rng(0).choice(np.flatnonzero(truth), known, replace=False)] = 1
    return labels, float(truth[labels == 0].mean())


def in_turn(*works: Callable[[], Any], times: int, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Best seconds of each piece of work, run in turn so that all meet the same load."""
    best = [np.inf] * len(works)
    for _ in range(times):
        for k, work in enumerate(works):
            began = clock()
            work()
            best[k] = min(best[k], clock() - began)
    return best


def products(X: Any, labels: np.ndarray, prior: float, lam: float, weight: Any) -> float:
    """Passes over the entries of the table that the solver takes."""
    parts = [Part.of(np.flatnonzero(labels == kind)) for kind in (1, 0)]
    problem = label_problem(Risk(class_weight=weight), prior, lam, *parts)
    return newton.solve(rows_of(X), *problem.dense(len(labels))).products


def compare(title: str, X: Any, labels: np.ndarray, prior: float, rival: Any, times: int, lams: Any) -> list[Any]:
    """Print and return (ratio, products, seconds) of each λ and class weight."""
    rows = []
    for lam in lams:
        for weight in (None, "balanced"):
            models: list[LinearPUSVC] = []
            ours = LinearPUSVC(prior, lam=lam, class_weight=weight)
            theirs, own = in_turn(
                lambda: rival.fit(X, labels),
                lambda ours=ours, m=models: m.append(ours.fit(X, labels)),
                times=times,
            )
            gap, count = models[-1].certificate_.relative_gap, products(X, labels, prior, lam, weight)
            rows.append((own / theirs, count, own))
            print(
                f"  {title:16s} λ {lam:<6g} {weight or 'none':9s} ratio {own / theirs:.2f}  products {count:.1f}  "
                f"gap {gap:.0e}  ({own:.3f} s)",
                flush=True,
            )
    return rows


def summary(rows: list[Any]) -> None:
    ratio, count, _ = np.array(rows).T
    print(
        f"  ratio: mean {ratio.mean():.2f}, geometric {np.exp(np.log(ratio).mean()):.2f}, most {ratio.max():.2f}; "
        f"products: mean {count.mean():.1f}, most {count.max():.1f}"
    )


def figure_texts() -> None:
    rival = LinearSVC(C=0.11, class_weight="balanced")
    print(f"texts: time over {rival}")
    rows, grown = [], []
    for size in SIZES:
        part = compare(f"{size[0]} × {size[1]}", *synthetic(*size), rival, 3, LAMBDAS)
        grown.append([seconds for _, _, seconds in part])
        rows += part
    for name in COLLECTIONS:
        X, relevant = documents(name)
        rows += compare(name, X, *_labelled(relevant, KNOWN), rival, 3, LAMBDAS)
    summary(rows)
    slope = np.polyfit(np.log([n for n, _ in SIZES]), np.log(grown), 1)[0]
    print(f"  time grows as n to the power {slope.mean():.2f} (least {slope.min():.2f}, most {slope.max():.2f})")


def figure_large() -> None:
    X, labels, prior = synthetic(500_000, 200_000)
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    LinearPUSVC(0.1).fit(X[:200], np.arange(200) % 2)  # compiles
    tracemalloc.start()
    model = LinearPUSVC(prior).fit(X, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    gap = model.certificate_.relative_gap
    print(f"500,000 × 200,000: gap {gap:.0e}, memory beside the table {peak / size:.2f} × its size", flush=True)
    theirs = in_turn(lambda: LinearSVC(C=0.11, class_weight="balanced").fit(X, labels), times=1)[0]
    print(f"  LinearSVC(C=0.11, class_weight='balanced') takes {theirs:.1f} s", flush=True)
    for lam in LAMBDAS:
        for weight in (None, "balanced"):
            own = in_turn(lambda: LinearPUSVC(prior, lam=lam, class_weight=weight).fit(X, labels), times=1)[0]  # noqa: B023
            count = products(X, labels, prior, lam, weight)
            print(
                f"  λ {lam:<6g} {weight or 'none':9s} ratio {own / theirs:.2f}  products {count:.1f}  ({own:.2f} s)",
                flush=True,
            )


def figure_tables() -> None:
    print("adult, shuttle, bank, MNIST: time over LinearSVC(dual=False)")
    rows = []
    for name, n in (("adult", 32_461), ("shuttle", 43_400), ("bank", 45_000), ("mnist", 59_900)):
        rows += compare(name, *pu_table(name, n), LinearSVC(dual=False), 2, (1e-2, 1e-4))
    summary(rows)


def figure_warm() -> None:
    """Times are those of whole fits, products those of the solver and of the certificate (2)."""
    print("a fit after ten labels have changed, over a fit from scratch")
    for title, (X, labels, prior) in (
        ("radjenovic", (lambda X, relevant: (X, *_labelled(relevant, KNOWN)))(*documents("radjenovic"))),
        ("200000 × 100000", synthetic(200_000, 100_000)),
    ):
        for kind, lam in itertools.product((-1, 1), (1e-2, 1e-3)):
            changed = labels.copy()
            changed[np.random.default_rng(1).choice(np.flatnonzero(labels == 0), 10, replace=False)] = kind
            for weight in (None, "balanced"):
                counts = refit_products(X, labels, changed, prior, lam, weight)
                ratios = []
                for _ in range(2):
                    old = LinearPUSVC(prior, lam=lam, class_weight=weight, warm_start=True).fit(X, labels)
                    cold = LinearPUSVC(prior, lam=lam, class_weight=weight)
                    seconds = in_turn(
                        lambda m=old, y=changed: m.fit(X, y), lambda m=cold, y=changed: m.fit(X, y), times=1  # noqa: B023
                    )  # fmt: skip
                    ratios.append(seconds[0] / seconds[1])
                print(
                    f"  {title:16s} to {'negative' if kind < 0 else 'positive'}  λ {lam:<6g} {weight or 'none':9s} "
                    f"time {min(ratios):.2f}  products {counts[0]:.1f} / {counts[1]:.1f} = "
                    f"{counts[0] / counts[1]:.2f}",
                    flush=True,
                )

    print("a review: fits after ten more decisions, on the top of the ranking, over the first fit")
    for name in COLLECTIONS:
        X, relevant = documents(name)
        first, refit = review_refits(X, relevant)
        print(
            f"  {name:16s} {refit / first:.3f}  (first {1e3 * first:.0f} ms, refit {1e3 * refit:.0f} ms)",
            flush=True,
        )


def review_refits(X: Any, relevant: np.ndarray) -> tuple[float, float]:
    """Best seconds of the first ranking of a review, with its latent columns, and of those after ten decisions each."""
    kinds = np.zeros(len(relevant), np.int8)
    kinds[np.flatnonzero(relevant)[:10]] = 1
    firsts, refits = [], []
    for _ in range(3):
        ranker, began = LinearRanker(), time.perf_counter()
        ranked = ranker.rank(X, kinds)
        firsts.append(time.perf_counter() - began)
        known = kinds.copy()
        for _ in range(5):
            top = np.argsort(np.where(known == 0, -ranked.scores, np.inf))[:10]
            known[top] = np.where(relevant[top], 1, -1)
            began = time.perf_counter()
            ranked = ranker.rank(X, known, ranked.start)
            refits.append(time.perf_counter() - began)
    return min(firsts), float(np.median(refits))


def refit_products(
    X: Any, labels: np.ndarray, changed: np.ndarray, prior: float, lam: float, weight: Any
) -> tuple[float, float]:
    """Passes over the entries for a refit and for a fit from scratch, the two of the certificate included."""
    n, problems = len(labels), []
    for y in (labels, changed):
        parts = [Part.of(np.flatnonzero(y == kind)) for kind in (1, 0, -1)]
        negatives = len(parts[2].rows)
        eta = resolve_eta("auto", negatives, float(np.count_nonzero(y == 0))) if negatives else 0.0
        problems.append(label_problem(Risk(class_weight=weight, eta=eta), prior, lam, *parts))
    old, new = problems
    rows = rows_of(X)
    first = newton.solve(rows, *old.dense(n))
    share = np.zeros(n)
    share[old.c_rows] = first.sigma[old.c_rows] / old.c
    sigma = np.zeros(n)
    sigma[new.c_rows] = starts.previous(new, share[new.c_rows])
    warm = newton.solve(rows, *new.dense(n), sigma=sigma, beta=first.beta)
    return 2 + warm.products, 2 + newton.solve(rows, *new.dense(n)).products


def figure_growth() -> None:
    """Whole fits with as many columns throughout, so that only one number changes; processor time of all threads."""
    print("processor time against n, and against the entries of a row")
    for title, sizes in (
        ("rows", [(n, 50_000, WORDS) for n in (25_000, 50_000, 100_000, 200_000)]),
        ("entries", [(50_000, 50_000, words) for words in (30, 60, 120, 240)]),
    ):
        seconds = []
        for size in sizes:
            X, labels, prior = synthetic(*size)
            for weight in (None, "balanced"):
                LinearPUSVC(prior, class_weight=weight).fit(X[:5000], np.arange(5000) < 100)
            works = [
                lambda lam=lam, w=w: LinearPUSVC(prior, lam=lam, class_weight=w).fit(X, labels)  # noqa: B023
                for lam in LAMBDAS
                for w in (None, "balanced")
            ]
            seconds.append(in_turn(*works, times=2, clock=time.process_time))
        measure = [n if title == "rows" else words for n, _, words in sizes]
        slope = np.polyfit(np.log(measure), np.log(seconds), 1)[0]
        print(f"  {title}: power {slope.mean():.2f} (least {slope.min():.2f}, most {slope.max():.2f})", flush=True)


def figure_crossing() -> None:
    print("dense tables: time of the Newton solver over that of the interior point")
    rng = np.random.default_rng(0)
    for d in (5, 10, 20, 40, 80):
        for n in (20_000, 100_000):
            truth = rng.random(n) < 0.2
            X = rng.normal(size=(n, d)) + 0.5 * truth[:, None]
            labels, prior = _labelled(truth, 200)
            for lam in (1e-2, 1e-4):
                works = [
                    lambda s=s, lam=lam: LinearPUSVC(prior, lam=lam, solver=s).fit(X, labels)  # noqa: B023
                    for s in ("newton", "interior-point")
                ]
                seconds = in_turn(*works, times=2)
                print(f"  {n} × {d}  λ {lam:g}  {seconds[0] / seconds[1]:.2f}", flush=True)


FIGURES = {
    "texts": figure_texts, "large": figure_large, "tables": figure_tables, "warm": figure_warm,
    "growth": figure_growth, "crossing": figure_crossing,
}  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", default=list(FIGURES))
    warnings.simplefilter("ignore")
    for figure in parser.parse_args().figures:
        FIGURES[figure]()
