"""The choice of λ and γ without negatives: python -m benchmarks.selection [--draws 2]   (USMO_DATA set)

For each of the 17 tables (split as in ``benchmarks.splits``, the true prior): F1 on the unlabelled rows of the model
chosen by held-out PU risk, of the default λ, and of the best model of the same grid, chosen with all labels (oracle);
and the time of the choice with the final fit, relative to one fit at the chosen λ. Then mean F1 for each λ with the
threshold at the prior and at 0.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

from benchmarks.splits import split
from usmo import PUSVC, PUSVCCV, path
from usmo.datasets import LARGE, SMALL
from usmo.fitting.select import LAMS
from usmo.kernels.gamma import resolve_gamma

FACTORS = (0.3, 1.0, 3.0)


def main(draws: int) -> None:
    warnings.simplefilter("ignore")
    PUSVC(0.5).fit(np.arange(8.0)[:, None], np.arange(8) % 2)  # compiles
    heads = ("default", "cv λ", "oracle λ", "cv λ,γ", "oracle", "time λ", "time λ,γ")
    print(f"{'':16s}" + "".join(f"{head:>9s}" for head in heads))
    lines, by_lam = [], []
    for name in (*SMALL, *LARGE):
        scores = []
        for draw in range(draws if name in SMALL else 1):
            X, labels, prior, truth, _, _ = split(name, draw)
            U = X[labels == 0]

            def score(model, U=U, truth=truth):
                return f1_score(truth, model.decision_function(U) > 0, zero_division=0)

            own = resolve_gamma("scale", X)
            grid = [path(PUSVC(prior, gamma=own * factor), X, labels, lams=LAMS) for factor in FACTORS]
            oracle = np.array([[score(model) for model in models] for models in grid])
            began = time.perf_counter()
            chosen = PUSVC(prior, lam="cv").fit(X, labels)
            spent = time.perf_counter() - began
            began = time.perf_counter()
            wide = PUSVCCV(PUSVC(prior), gammas=FACTORS).fit(X, labels)
            spent_wide = time.perf_counter() - began
            single = min(_seconds(PUSVC(prior, lam=chosen.lam_), X, labels) for _ in range(2))
            default = PUSVC(prior).fit(X, labels)
            scores.append(
                [
                    score(default), score(chosen), oracle[1].max(), score(wide), oracle.max(),
                    spent / single, spent_wide / single,
                ]
            )  # fmt: skip
            middle = [model.decision_function(U) for model in grid[1]]
            shifts = [model.threshold_ for model in grid[1]]
            by_lam.append(
                [
                    [f1_score(truth, f > 0, zero_division=0) for f in middle],
                    [f1_score(truth, f > -t, zero_division=0) for f, t in zip(middle, shifts, strict=True)],
                    [roc_auc_score(truth, f) for f in middle],
                    [1.0 / (draws if name in SMALL else 1)] * len(middle),
                ]
            )
        lines.append(np.mean(scores, axis=0))
        print(
            f"{name:16s}"
            + "".join(f"{v:9.3f}" for v in lines[-1][:5])
            + "".join(f"{v:9.1f}" for v in lines[-1][5:]),
            flush=True,
        )
    mean = np.mean(lines, axis=0)
    times = np.exp(np.mean(np.log(np.array(lines)[:, 5:]), axis=0))
    print(
        f"{'mean':16s}"
        + "".join(f"{v:9.3f}" for v in mean[:5])
        + "".join(f"{v:9.1f}" for v in times)
        + " (geometric)"
    )
    gaps = (mean[2] - mean[1], mean[4] - mean[3], mean[2] - mean[0])
    print("\nbelow the oracle: cv λ {:.3f}, cv λ,γ {:.3f}, default {:.3f}".format(*gaps))
    every = np.array(by_lam)
    print("\nmean over the tables at each λ, γ = scale")
    for k, what in enumerate(("F1, threshold at the prior", "F1, threshold at 0", "AUC")):
        means = (every[:, k] * every[:, 3]).sum(axis=0) / every[:, 3].sum(axis=0)
        print(f"{what:28s}" + "".join(f"{lam:8.0e} {v:.3f}" for lam, v in zip(LAMS, means, strict=True)))


def _seconds(model, X, labels) -> float:
    began = time.perf_counter()
    model.fit(X, labels)
    return time.perf_counter() - began


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2)
    main(parser.parse_args().draws)
