"""Progress of a fit on stderr: a live line on a terminal, or a line per pass."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from usmo.core.arrays import Array
from usmo.core.solution import PassRecord
from usmo.solvers.stopping import Progress
from usmo.system.work import LONG, Work, in_words, watched, watching


def combined(*parts: Progress | None) -> Progress | None:
    """One progress function that calls all of them. Each can end the fit."""
    present = [part for part in parts if part is not None]

    def progress(record: PassRecord, sigma: Array) -> bool:
        answers = [bool(part(record, sigma)) for part in present]
        return any(answers)

    return progress if present else None


@contextmanager
def long_work(verbose: int) -> Iterator[None]:
    """A block in which a fit of more than ``LONG`` seconds says about how long it takes, and on a terminal how far."""
    if verbose < 1 or watched():
        yield
        return
    told = _Told()
    with watching(told):
        yield
    told.end()


class _Told:
    """The expected time of a fit at its beginning, then one live line on a terminal."""

    def __init__(self) -> None:
        self.live, self.begun = sys.stderr.isatty(), False

    def __call__(self, work: Work) -> None:
        if not self.begun and work.seconds >= LONG:
            print(f"usmo: this fit takes about {in_words(work.seconds)}", file=sys.stderr)
            self.begun = True
        elif self.begun and self.live:
            print(f"\r{self.text(work):<70s}", end="", file=sys.stderr, flush=True)

    @staticmethod
    def text(work: Work) -> str:
        return f"usmo: {100 * work.share:3.0f} % of the kernel values, about {in_words(work.left)} left"

    def end(self) -> None:
        if self.begun and self.live:
            print(f"\r{'':70s}\r", end="", file=sys.stderr, flush=True)


def printed(verbose: int, tol: float) -> Progress | None:
    """For verbose=1 a live line if stderr is a terminal, for verbose=2 a line per pass."""
    if verbose >= 2:
        return _line_per_pass
    if verbose == 1 and sys.stderr.isatty():
        return _LiveLine(tol)
    return None


def _line_per_pass(record: PassRecord, sigma: Array) -> None:
    print(
        f"usmo: {record.kind:9s} steps {record.steps:>9d}  violation {record.violation:9.2e}  "
        f"non-bound {record.nonbound:>6d}  kernel rows {record.kernel_rows:9.0f}  {record.seconds:7.1f} s",
        file=sys.stderr,
    )


class _LiveLine:
    """The violation on a log scale from its first value to the tolerance, kernel rows, time spent, estimated rest."""

    WIDTH = 20

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.first: PassRecord | None = None

    def __call__(self, record: PassRecord, sigma: Array) -> None:
        self.first = self.first or record
        print("\r" + self.text(record), end="", file=sys.stderr, flush=True)
        if record.violation <= self.tol:
            print(file=sys.stderr)
            self.first = None

    def text(self, record: PassRecord) -> str:
        assert self.first is not None
        whole = math.log(max(self.first.violation, self.tol) / self.tol)
        done = math.log(max(self.first.violation, self.tol) / max(record.violation, self.tol))
        share = done / whole if whole > 0 else 1.0
        elapsed = record.seconds - self.first.seconds
        rest = f"{elapsed * (1 - share) / share:5.0f} s left" if share > 0.02 else "           "
        bar = "#" * round(self.WIDTH * share)
        return (
            f"usmo [{bar:<{self.WIDTH}s}] violation {record.violation:8.2e} → {self.tol:g}  "
            f"kernel rows {record.kernel_rows:8.0f}  {record.seconds:6.1f} s  {rest}"
        )
