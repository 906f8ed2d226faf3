"""One fuzz run in a process of its own, with limits of memory and processor time for each file.

    python -m tests.fuzz.worker TARGET FOLDER [--seconds S] [--files N] [--seed N] [--first N]
    python -m tests.fuzz.worker TARGET FILE

File number n of a seed is always the same. It is written to FOLDER, checked and removed. It stays if the check raises
an error that is not documented, which is shown once per place in the code, or if the process ends: by a crash, or by
too much time. The second form checks one file again.
"""

import argparse
import faulthandler
import itertools
import math
import os
import random
import resource
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

from tests.fuzz.targets import TARGETS

MEMORY = 2**29
"""Bytes of address space for one file, beyond those of the warm process: 512 MB. Files of some kilobytes may take 128
MB as models and 64 MB as tables; libraries reserve more than they use."""

CPU_SECONDS = 30
"""Processor time for one file."""

_SHOWN = 2000
"""Characters of an error that are shown, from its end."""

_OURS = f"{os.sep}usmo{os.sep}"


def _check(target, path):
    """Check a file with limits of memory and processor time; SIGPROF ends the process."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        target.check(path)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _warm_up(target, folder):
    """Import, compile and cache everything, so that memory is measured from here; the unchanged files are accepted."""
    for name, data in target.originals().items():
        path = folder / f"original.{name}"
        path.write_bytes(data)
        target.check(path)
        path.unlink(missing_ok=True)


def _fuzz(name, folder, options):
    target, faults, count = TARGETS[name], set(), 0
    _warm_up(target, folder)
    end = time.monotonic() + options.seconds
    for number in itertools.count(options.first):
        if count >= options.files or time.monotonic() >= end:
            break
        ending, data = target.make(random.Random(f"{name} {options.seed} {number}"))
        path = folder / f"{name}-{options.seed}-{number}.{ending}"
        path.write_bytes(data)
        count += 1
        try:
            _check(target, path)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a panic in Polars is not an Exception
            frames = traceback.extract_tb(error.__traceback__)
            place = next((frame for frame in reversed(frames) if _OURS in frame.filename), frames[-1])
            key = (type(error), place.filename, place.lineno)
            if key not in faults:
                faults.add(key)
                print(f"{path}: an error that is not documented", flush=True)
                print(traceback.format_exc(limit=-4)[-_SHOWN:], flush=True)
                continue
        path.unlink(missing_ok=True)
    print(f"{name}: {count} files, {len(faults)} faults", flush=True)
    return len(faults)


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.worker")
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("path", type=Path, metavar="FOLDER|FILE")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--files", type=float, default=math.inf)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    faulthandler.register(signal.SIGPROF, chain=True)  # shows where the time went, then ends the process
    if options.path.is_dir():
        return int(_fuzz(options.target, options.path, options) > 0)
    _check(TARGETS[options.target], options.path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
