"""Hard random problems: every solver, cold, warm and along a path, must end optimal or warn with the reason.

    python -m benchmarks.hardness [--problems 500] [--first 0]

Tables of 5 to 500 rows: clouds, integers with repeated rows, columns scaled apart, one huge row, sparse rows. Kernels
linear, rbf, polynomial; λ from 1e-6 to 10; π from 1e-3 to 0.999, often an exact fraction of the rows; weights. A fit
counts as finished if its relative duality gap is at most 1e-5, as warned if it issues a ConvergenceWarning, and as
silent otherwise. Times are those of the processor. Ends with a line per way of fitting, and lists silent and slow fits.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from usmo import PUSVC, LinearPUSVC, path
from usmo.fitting.warm_up import compile_kernel_solvers, compile_linear_solver, compile_newton_solver

GAP, SLOW, QP_ROWS = 1e-5, 20.0, 300
"""Largest relative gap, longest time in seconds, and rows up to which the dense QP is tried."""


def random_table(rng: np.random.Generator) -> tuple[Any, np.ndarray, str]:
    """Rows, labels and the kind of table."""
    n, d = int(np.exp(rng.uniform(np.log(5), np.log(500)))), int(rng.integers(1, 12))
    p = int(rng.integers(1, max(2, n // 3)))
    kind = str(rng.choice(["cloud", "integers", "scaled", "huge row", "sparse", "offset"]))
    y = np.zeros(n + p, int)
    y[rng.permutation(n + p)[:p]] = 1
    hidden = (y == 1) | (rng.random(n + p) < rng.uniform(0.05, 0.6))
    X = rng.normal(size=(n + p, d)) + hidden[:, None]
    if kind == "integers":
        X = np.round(X)
    elif kind == "scaled":
        X *= 10.0 ** rng.uniform(-rng.integers(1, 7), rng.integers(1, 4), size=d)
    elif kind == "huge row":
        X[rng.integers(n + p)] *= 10.0 ** rng.uniform(2, 9)
    elif kind == "offset":
        X += 10.0 ** rng.uniform(0, 5)
    elif kind == "sparse":
        return sparse.csr_matrix(X * (rng.random(X.shape) < 0.3)), y, kind
    return X, y, kind


def random_parameters(rng: np.random.Generator, n: int, d: int) -> dict[str, Any]:
    prior = 1.0 / (1.0 + np.exp(rng.uniform(-6.9, 6.9)))
    if rng.random() < 0.5:  # an exact multiple of h
        prior = np.clip(np.round(2 * n * prior), 1, 2 * n - 1) / (2 * n)
    kernel = str(rng.choice(["linear", "rbf", "poly"]))
    gamma = 10.0 ** rng.uniform(-2, 1.3) / d
    shape = {"degree": int(rng.integers(2, 4)), "coef0": float(rng.choice([0.0, 1.0]))} if kernel == "poly" else {}
    lam = float(10.0 ** rng.uniform(-6, 1))
    return {"prior": float(prior), "lam": lam, "kernel": kernel, "gamma": gamma, "tol": 1e-4, **shape}


def ways(
    rng: np.random.Generator, X: Any, y: np.ndarray, weight: Any, parameters: dict[str, Any]
) -> Iterator[Any]:
    """Name and function of every way to fit the problem; a function returns the fitted models."""
    other = random_parameters(rng, int((y == 0).sum()), X.shape[1])
    labels = rng.permutation(y)
    solvers = ["auto", "blocks", "usmo", *(["qp"] if len(y) <= QP_ROWS else [])]
    if parameters["kernel"] == "linear":
        solvers.append("interior-point")
    for solver in solvers:
        yield solver, lambda solver=solver: [PUSVC(solver=solver, **parameters).fit(X, y, weight)]
    changed = {name: other[name] for name in ("prior", "lam")}
    first = {**parameters, **changed}
    yield (
        "warm",
        lambda: [PUSVC(warm_start=True, **first).fit(X, labels).set_params(**parameters).fit(X, y, weight)],
    )
    grid = {"lams": [parameters["lam"], other["lam"]], "priors": [parameters["prior"], other["prior"]]}
    yield "path", lambda: path(PUSVC(**parameters), X, y, sample_weight=weight, **grid)
    if parameters["kernel"] == "linear":
        plain = {name: parameters[name] for name in ("prior", "lam", "tol")}
        yield "LinearPUSVC", lambda: [LinearPUSVC(**plain).fit(X, y, weight)]
        yield "LinearPUSVC path", lambda: path(LinearPUSVC(**plain), X, y, sample_weight=weight, **grid)
        yield (
            "LinearPUSVC warm",
            lambda: [
                LinearPUSVC(warm_start=True, **{**plain, **changed}).fit(X, labels).set_params(**plain).fit(X, y)
            ],
        )


def judge(fit: Any) -> tuple[str, float, float]:
    """Outcome, largest relative gap and time of one way of fitting."""
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            models = fit()
        except ValueError as error:
            if "too large for float64" in str(error) or "overflows" in str(error):
                return "refused", np.nan, time.process_time() - began
            return f"{type(error).__name__}: {error}", np.nan, time.process_time() - began
        except Exception as error:
            return f"{type(error).__name__}: {error}", np.nan, time.process_time() - began
    seconds = time.process_time() - began
    gap = max(abs(model.certificate_.relative_gap) for model in models)
    if gap <= GAP:
        return "finished", gap, seconds
    warned = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return ("warned" if warned else "silent"), gap, seconds


def main(problems: int, first: int) -> int:
    for compile_solver in (compile_kernel_solvers, compile_linear_solver, compile_newton_solver):
        compile_solver()
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    slowest: dict[str, float] = defaultdict(float)
    bad = 0
    for seed in range(first, first + problems):
        rng = np.random.default_rng(seed)
        X, y, kind = random_table(rng)
        parameters = random_parameters(rng, int((y == 0).sum()), X.shape[1])
        weight = rng.choice([None, "integer", "real"])
        if weight is not None:
            weight = (
                rng.integers(1, 4, len(y)).astype(float) if weight == "integer" else rng.exponential(size=len(y))
            )
        for name, fit in ways(rng, X, y, weight, parameters):
            outcome, gap, seconds = judge(fit)
            known = outcome in ("finished", "warned", "silent", "refused")
            counts[name][outcome if known else "error"] += 1
            slowest[name] = max(slowest[name], seconds)
            if outcome not in ("finished", "refused") or seconds > SLOW:
                bad += outcome != "warned" or seconds > SLOW
                print(f"{seed} {kind} {name}: {outcome}, gap {gap:.1e}, {seconds:.1f} s, {parameters}", flush=True)
    for name, outcomes in counts.items():
        print(f"{name:18s}", dict(outcomes), f"slowest {slowest[name]:.1f} s")
    print("every fit is optimal, refused or warned, and none is slow" if not bad else f"{bad} fits fall short")
    return 1 if bad else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    sys.exit(main(options.problems, options.first))
