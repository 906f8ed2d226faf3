"""``make fuzz``: run the targets one after the other, each for some time, and keep the files that break something.

python -m tests.fuzz [--seconds 60] [--seed N] [TARGET …]
"""

import argparse
import math
import os
import random
import subprocess
import sys
import time
from pathlib import Path

NAMES = ("models", "tables", "checkpoints")
ENVIRONMENT = {**os.environ, "POLARS_MAX_THREADS": "1", "RUST_BACKTRACE": "0"}
"""Each thread of Polars reserves address space, which is limited."""

MOST_CRASHES = 5
"""Crashes after which a target is given up."""


def run(name, folder, seed, *, seconds=math.inf, files=math.inf):
    """Run one target, and after a crash its later files. The number of faults, and what was printed."""
    folder.mkdir(parents=True, exist_ok=True)
    printed, faults, first, end = [], 0, 0, time.monotonic() + seconds
    while faults < MOST_CRASHES:
        left = max(1, end - time.monotonic())
        options = {"seed": seed, "first": first, "seconds": left, "files": files}
        command = [sys.executable, "-m", "tests.fuzz.worker", name, str(folder)]
        command += [f"--{key}={value}" for key, value in options.items()]
        longest = 120 + (2 * left if left < math.inf else files)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=longest, env=ENVIRONMENT)
        except subprocess.TimeoutExpired:
            printed.append(f"{name}: no end after {longest:.0f} s; the last file is in {folder}")
            return faults + 1, "\n".join(printed)
        printed.append(done.stdout.strip())
        if done.returncode in (0, 1) and done.stdout.rstrip().endswith("faults"):
            return faults + done.returncode, "\n".join(printed)
        faults += 1
        last = max(_numbers(folder, name, seed), default=-1)
        printed.append(f"{name}: exit code {done.returncode} at file {last} in {folder}\n{done.stderr[-3000:]}")
        if last < first:  # the worker failed before its first file
            break
        first, files = last + 1, files - (last + 1 - first)
    return faults, "\n".join(printed)


def _numbers(folder, name, seed):
    """The numbers of the files that were not removed."""
    return [int(path.name.split(".")[0].split("-")[2]) for path in folder.glob(f"{name}-{seed}-*.*")]


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(NAMES)}; default all")
    parser.add_argument("--seconds", type=float, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--folder", type=Path, default=Path("out/fuzz"))
    options = parser.parse_args()
    total = 0
    for name in options.targets or NAMES:
        faults, text = run(name, options.folder, options.seed, seconds=options.seconds)
        print(text.strip(), flush=True)
        total += faults
    if total:
        print(f"check a file again: python -m tests.fuzz.worker TARGET {options.folder}/FILE")
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
