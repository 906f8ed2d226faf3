"""How often ``scar_test`` rejects at the level of 5 %, by labelling mechanism and table.

Each entry has the draws in which the test without the prior rejects, those in which the test with the true prior does,
and the number of draws. The second test rejects if the prior is above ``largest_prior``. Where labels are not at
random, only the draws in which an oracle rejects are counted. The oracle knows the classes: it compares the labelled
with the unlabelled positives by the held-out score of P against U (Mann-Whitney, one-sided). ``told`` is the share of
draws in which the test without the prior gives a p-value.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from scipy.stats import mannwhitneyu
from sklearn.preprocessing import MaxAbsScaler

from benchmarks.random.mechanisms import FREQUENCY, MECHANISMS, STRONGEST, Draw, draw
from benchmarks.results import Results
from usmo.kernels.row_sampling import row_keys
from usmo.priors import scar_test
from usmo.priors.scores import held_out_scores

LEVEL = 0.05
FEW = {"random, 10 %": 0.1, "random, 5 %": 0.05}
"""Labels at random, and the share of positives."""
MANY = {"random, 60 % labelled": 0.6, "random, 80 % labelled": 0.8}
"""Labels at random, and the share of the positives that is labelled; in the other rows it is 40 %."""


def oracle_p_value(sample: Draw) -> float:
    X = MaxAbsScaler().fit_transform(sample.X)
    z = held_out_scores(X, sample.labelled, np.ones(len(X)), row_keys(X, 0), 5)
    known, hidden = z[sample.labelled], z[sample.truth & ~sample.labelled]
    return float(mannwhitneyu(known, hidden, alternative="greater").pvalue)


def measure(name: str, mechanism: str, seed: int) -> list[float]:
    """Whether the tests without and with the prior and the oracle reject, whether there is a p-value, and seconds."""
    kind = "random" if mechanism in FEW or mechanism in MANY else mechanism
    sample = draw(name, kind, seed, prior=FEW.get(mechanism), frequency=MANY.get(mechanism, FREQUENCY))
    began = time.perf_counter()
    result = scar_test(sample.X, sample.labelled, scenario="censored", random_state=seed)
    seconds = time.perf_counter() - began
    known, told = sample.prior > result.largest_prior, np.isfinite(result.p_value)
    return [float(result.differs), float(known), float(oracle_p_value(sample) < LEVEL), float(told), seconds]


def main(draws: Sequence[int], tables: Sequence[str], results: Results) -> None:
    mechanisms = (*MECHANISMS, *FEW, *MANY)
    found: dict[tuple[str, str], np.ndarray] = {}
    for name in tables:
        for mechanism in mechanisms:
            keys = [(name, mechanism, seed) for seed in draws]
            rows = [results.get(key, measure, *key) for key in keys]
            found[name, mechanism] = np.array(rows, dtype=np.float64)
        cells = (f"{mechanism} {_counts(found[name, mechanism], mechanism)}" for mechanism in mechanisms)
        print(f"{name:16s} " + "  ".join(cells), flush=True)
    print(f"\n{len(tables)} tables, draws {[*draws]}; draws in which the tests without and with the prior reject,")
    print("of those in which the oracle does; of all if labels are at random")
    for mechanism in mechanisms:
        rows = np.concatenate([found[name, mechanism] for name in tables])
        print(
            f"{mechanism:22s} {_counts(rows, mechanism):14s} oracle {rows[:, 2].mean():.3f}  "
            f"told {rows[:, 3].mean():.3f}  {rows[:, 4].mean():.1f} s"
        )
    print(f"the strongest mechanism is {STRONGEST}")


def _counts(rows: np.ndarray, mechanism: str) -> str:
    used = rows if mechanism.startswith("random") else rows[rows[:, 2] > 0]
    return f"{used[:, 0].sum():.0f} {used[:, 1].sum():.0f} of {len(used)}"
