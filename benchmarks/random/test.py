"""How often ``scar_test`` rejects at the level of 5 %, by labelling mechanism and table.

The oracle knows the classes: it compares the labelled with the unlabelled positives by the held-out score of P against
U (Mann-Whitney, one-sided). ``told`` counts the draws in which the test gives a p-value. Power is also shown on the
draws in which the oracle rejects.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from scipy.stats import mannwhitneyu
from sklearn.preprocessing import MaxAbsScaler

from benchmarks.random.mechanisms import MECHANISMS, STRONGEST, Draw, draw
from usmo.kernels.row_sampling import row_keys
from usmo.priors import scar_test
from usmo.priors.scores import held_out_scores

LEVEL = 0.05


def oracle_rejects(sample: Draw) -> bool:
    X = MaxAbsScaler().fit_transform(sample.X)
    z = held_out_scores(X, sample.labelled, np.ones(len(X)), row_keys(X, 0), 5)
    known, hidden = z[sample.labelled], z[sample.truth & ~sample.labelled]
    return bool(mannwhitneyu(known, hidden, alternative="greater").pvalue < LEVEL)


def main(draws: int, tables: Sequence[str]) -> None:
    found: dict[tuple[str, str], list[tuple[bool, bool, bool]]] = defaultdict(list)
    for name in tables:
        for mechanism in MECHANISMS:
            for seed in range(draws):
                sample = draw(name, mechanism, seed)
                result = scar_test(sample.X, sample.labelled, random_state=seed)
                told = not np.isnan(result.p_value)
                found[name, mechanism].append((result.differs, oracle_rejects(sample), told))
        line = "  ".join(
            f"{mechanism} {np.mean([r[0] for r in found[name, mechanism]]):.1f}"
            f" ({np.mean([r[1] for r in found[name, mechanism]]):.1f})"
            for mechanism in MECHANISMS
        )
        print(f"{name:16s} {line}", flush=True)
    print(f"\n{len(tables)} tables, {draws} draws; share of draws in which the test (the oracle) rejects")
    for mechanism in MECHANISMS:
        rows = [row for name in tables for row in found[name, mechanism]]
        able = [row[0] for row in rows if row[1]]
        on_able = f"{np.mean(able):.2f} where the oracle rejects" if able and mechanism != "random" else ""
        shares = [np.mean([row[k] for row in rows]) for k in range(3)]
        print(f"{mechanism:12s} test {shares[0]:.2f}  oracle {shares[1]:.2f}  told {shares[2]:.2f}  {on_able}")
    print(f"the strongest mechanism is {STRONGEST}")
