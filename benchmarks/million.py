"""Exact Gaussian fits up to a million rows: python -m benchmarks.million {fit,plot,tiles} [options]

fit    poker hands × 10 columns (synthetic: drawn by ``make_poker_hands``), 1,000 labelled positives, γ = 0.5 on
       standardised columns, tol 1e-3. Every fit runs in its own process with a checkpoint. Lines go to
       out/million.jsonl; sizes that are there already are skipped, and a fit that was interrupted continues. With
       ``--kill SECONDS`` the process is killed once by SIGKILL and started again.
plot   the violation against the kernel values computed, of the fits in out/million.jsonl, as a picture
tiles  nanoseconds for a kernel value, float32 and float64, with one thread and with all

The entries that an optimum with s support rows of n needs are those between two support rows, once, and those between a
support row and another; the solver and the certificate each need them. ``ratio`` is the time of the fit over that of
these entries at the speed of float32 tiles, measured before and after the fit in the same process.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.fits import best_time, time_and_memory
from usmo import PUSVC
from usmo.datasets import make_poker_hands, make_pu
from usmo.kernels.kernel import Kernel
from usmo.kernels.matrix import KernelMatrix

RESULTS = Path("out/million.jsonl")
SIZES, LAMBDAS = (50_000, 200_000, 1_000_000), (1e-3, 1e-4)
POSITIVES, GAMMA, TOL = 1000, 0.5, 1e-3
TILE_ROWS = 16_384


def hands(n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Standardised cards of n unlabelled hands and the labelled ones, labels, and the share of hands with a pair."""
    X, hand = make_poker_hands(n + POSITIVES, random_state=0)
    X = X.astype(np.float64)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y, prior = make_pu(hand > 0, n_positives=POSITIVES, random_state=0)
    return X, y, prior


def tile_time(X: np.ndarray, dtype: Any, gamma: float = GAMMA, runs: int = 5) -> float:
    """Nanoseconds for one kernel value between rows of the table, each computed once."""
    rows = np.arange(min(TILE_ROWS, len(X)))
    matrix = KernelMatrix(X, Kernel("rbf", gamma)).restrict(rows, dtype)
    v = np.ones((len(rows), 2))
    matrix.paired_product(rows, rows[:0], v)
    before = matrix.entries
    matrix.paired_product(rows, rows[:0], v)
    seconds = best_time(lambda: matrix.paired_product(rows, rows[:0], v), runs)
    return 1e9 * seconds / ((matrix.entries - before) / (1 + runs))


def fit_one(n: int, lam: float, checkpoint: str) -> None:
    """Fit one problem and print its line."""
    X, y, prior = hands(n)
    PUSVC(prior, lam=lam, gamma=GAMMA).fit(X[:4000], y[:4000])  # compiles
    tiles = [tile_time(X, np.float32)]
    model = PUSVC(
        prior, lam=lam, gamma=GAMMA, tol=TOL, solver="blocks", checkpoint=checkpoint, checkpoint_seconds=20.0
    )
    seconds, above = time_and_memory(model, X, y)
    tiles.append(tile_time(X, np.float32))
    total, s = n + POSITIVES, len(model.support_)
    needed = 2 * (s * total - s * s / 2)
    certificate = model.certificate_
    line = {
        "rows": n, "lam": lam, "seconds": round(seconds, 1), "support": round(s / total, 3),
        "kernel rows": round(model.kernel_rows_ / n, 3), "relative gap": float(f"{certificate.relative_gap:.2g}"),
        "violation": float(f"{certificate.kkt_violation:.2g}"), "precision": certificate.precision,
        "GB above the data": round(above / 1e9, 2), "tile ns": round(min(tiles), 3),
        "needed seconds": round(1e-9 * min(tiles) * needed, 1), "history": [list(r) for r in model.history_],
    }  # fmt: skip
    print(json.dumps(line), flush=True)


def fits(sizes: list[int], lambdas: list[float], kill: float | None) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    stored = [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    done = {(line["rows"], line["lam"]) for line in stored}
    for n in sizes:
        for lam in lambdas:
            if (n, lam) in done:
                continue
            checkpoint = RESULTS.parent / f"million-{n}-{lam:g}.checkpoint"
            command = [
                sys.executable,
                "-W",
                "ignore",
                "-m",
                "benchmarks.million",
                "one",
                str(n),
                str(lam),
                str(checkpoint),
            ]
            killed_after = 0.0
            if kill is not None and not checkpoint.exists():
                process = subprocess.Popen(command, stdout=subprocess.PIPE)
                killed_after = _kill_after(process, kill)
            answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            line = json.loads(answer.splitlines()[-1]) | {"killed after": round(killed_after, 1)}
            with RESULTS.open("a") as file:
                file.write(json.dumps(line) + "\n")
            stored.append(line)
    _print(stored)


def _kill_after(process: subprocess.Popen[bytes], seconds: float) -> float:
    """Kill a fit that has run for so long; returns 0 if it ended before."""
    try:
        process.wait(timeout=seconds)
        return 0.0
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return seconds


def _print(lines: list[dict[str, Any]]) -> None:
    head = (
        "rows",
        "lam",
        "seconds",
        "killed after",
        "support",
        "kernel rows",
        "relative gap",
        "GB above the data",
        "tile ns",
    )
    print("  ".join(f"{name:>12s}" for name in (*head, "ratio")))
    for line in sorted(lines, key=lambda line: (line["lam"], line["rows"])):
        ratio = (line["seconds"] + line["killed after"]) / line["needed seconds"]
        print("  ".join(f"{line[name]:>12}" for name in head), f"{ratio:12.2f}")
    for lam in {line["lam"] for line in lines}:
        points = sorted(
            (line["rows"], line["seconds"] + line["killed after"]) for line in lines if line["lam"] == lam
        )
        if len(points) > 1:
            (n, first), (m, last) = points[0], points[-1]
            power = np.log(last / first) / np.log(m / n)
            print(f"lambda {lam:g}: time grows from {n:,} to {m:,} rows with the power {power:.2f}")


def plot(target: str, lam: float = 1e-4) -> None:
    """Draw the convergence of the stored fits with this λ."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    lines = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    for line in sorted(lines, key=lambda line: line["rows"]):
        if line["lam"] == lam:
            n, passes = line["rows"], line["history"]
            shares, violations = [p[6] / n for p in passes], [max(p[3], 1e-6) for p in passes]
            axes.plot(shares, violations, "o-", markersize=4, label=f"{n:,} rows, {line['seconds']:.0f} s")
    axes.axhline(TOL, color="grey", linewidth=0.8, linestyle="--")
    axes.annotate("tol", (axes.get_xlim()[0], TOL), xytext=(3, 3), textcoords="offset points", color="grey")
    axes.set(
        yscale="log", xlabel="kernel values computed, divided by n²", ylabel="largest violation of optimality"
    )
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(target, dpi=130)


def tiles() -> None:
    X, _, _ = hands(TILE_ROWS)
    for dtype in (np.float32, np.float64):
        times = []
        for threads in (1, None):
            with threadpool_limits(threads, user_api="blas"):
                times.append(tile_time(X, dtype))
        one, many = times
        print(
            f"{np.dtype(dtype).name}: {one:.3f} ns with one thread, {many:.3f} ns with all, ratio {one / many:.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    fit = commands.add_parser("fit")
    fit.add_argument("--rows", type=int, nargs="+", default=list(SIZES))
    fit.add_argument("--lam", type=float, nargs="+", default=list(LAMBDAS))
    fit.add_argument("--kill", type=float, help="kill every fit once after so many seconds")
    one = commands.add_parser("one")
    one.add_argument("n", type=int)
    one.add_argument("lam", type=float)
    one.add_argument("checkpoint")
    commands.add_parser("plot").add_argument("target")
    commands.add_parser("tiles")
    arguments = parser.parse_args()
    if arguments.command == "fit":
        fits(arguments.rows, arguments.lam, arguments.kill)
    elif arguments.command == "one":
        fit_one(arguments.n, arguments.lam, arguments.checkpoint)
    elif arguments.command == "plot":
        plot(arguments.target)
    else:
        tiles()


if __name__ == "__main__":
    main()
