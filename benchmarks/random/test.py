"""How often ``scar_test`` rejects at the level of 5 %, by labelling mechanism and table.

The oracle knows the classes: it compares the labelled with the unlabelled positives by the held-out score of P against
U (Mann-Whitney, one-sided). ``told`` counts the draws in which the test gives a p-value. Power is also shown on the
draws in which the oracle rejects.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from scipy.stats import mannwhitneyu
from sklearn.preprocessing import MaxAbsScaler

from benchmarks.random.mechanisms import MECHANISMS, STRONGEST, Draw, draw
from benchmarks.results import Results
from usmo.kernels.row_sampling import row_keys
from usmo.priors import scar_test
from usmo.priors.scores import held_out_scores

LEVEL = 0.05


def oracle_p_value(sample: Draw) -> float:
    X = MaxAbsScaler().fit_transform(sample.X)
    z = held_out_scores(X, sample.labelled, np.ones(len(X)), row_keys(X, 0), 5)
    known, hidden = z[sample.labelled], z[sample.truth & ~sample.labelled]
    return float(mannwhitneyu(known, hidden, alternative="greater").pvalue)


def measure(name: str, mechanism: str, seed: int) -> list[float]:
    """The p-values of the test and of the oracle, and the seconds of the test."""
    sample = draw(name, mechanism, seed)
    began = time.perf_counter()
    result = scar_test(sample.X, sample.labelled, random_state=seed)
    seconds = time.perf_counter() - began
    return [result.p_value, oracle_p_value(sample), seconds]


def main(draws: Sequence[int], tables: Sequence[str], results: Results) -> None:
    found: dict[tuple[str, str], np.ndarray] = {}
    for name in tables:
        for mechanism in MECHANISMS:
            keys = [(name, mechanism, seed) for seed in draws]
            rows = [results.get(key, measure, *key) for key in keys]
            found[name, mechanism] = np.array(rows, dtype=np.float64)
        line = "  ".join(
            f"{mechanism} {(found[name, mechanism][:, 0] < LEVEL).mean():.1f}"
            f" ({(found[name, mechanism][:, 1] < LEVEL).mean():.1f})"
            for mechanism in MECHANISMS
        )
        print(f"{name:16s} {line}", flush=True)
    print(f"\n{len(tables)} tables, draws {[*draws]}; share of draws in which the test (the oracle) rejects")
    for mechanism in MECHANISMS:
        p, oracle, seconds = np.concatenate([found[name, mechanism] for name in tables]).T
        able = p[oracle < LEVEL]
        on_able = f"{(able < LEVEL).mean():.3f} where the oracle rejects" if mechanism != "random" else ""
        print(
            f"{mechanism:12s} test {(p < LEVEL).mean():.3f}  oracle {(oracle < LEVEL).mean():.3f}  "
            f"told {np.isfinite(p).mean():.3f}  {seconds.mean():.1f} s  {on_able}"
        )
    print(f"the strongest mechanism is {STRONGEST}")
