"""Where the time of an exact Gaussian fit goes: python -m benchmarks.parts [--table poker] [--rows 50000 200000]

Seconds of each part of a fit with one thread and with all, the certificate included; compilation is not. Parts that do
not use threads are marked. poker is the table of :mod:`benchmarks.million`, the others are those of
:mod:`benchmarks.large` (USMO_DATA set).
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from threadpoolctl import threadpool_limits

from benchmarks.large import NAMES, pu_table
from benchmarks.million import GAMMA, hands
from usmo import PUSVC
from usmo.fitting import fit, kernel
from usmo.kernels.matrix import KernelMatrix
from usmo.solvers import block_shards, blocks

SERIAL = ("two-row steps", "selection", "certificate, rest", "solver, rest", "model")


class Clock:
    """Seconds of nested parts: the time of a part does not contain that of the parts inside it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._open: list[str] = []
        self._since = 0.0

    @contextmanager
    def inside(self, part: str) -> Iterator[None]:
        self._settle()
        self._open.append(part)
        try:
            yield
        finally:
            self._settle()
            self._open.pop()

    def _settle(self) -> None:
        now = time.perf_counter()
        if self._open:
            part = self._open[-1]
            where = "certificate" if any(name.startswith("certificate") for name in self._open) else "solver"
            self.seconds[f"{where}, {part}" if part == "tiles" else part] += now - self._since
        self._since = now

    def timed(self, part: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            with self.inside(part):
                return work(*arguments, **options)

        return run

    def timed_steps(self, part: str, work: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        """The same for a generator."""

        def run(*arguments: Any, **options: Any) -> Iterator[Any]:
            steps, end = work(*arguments, **options), object()
            while True:
                with self.inside(part):
                    step = next(steps, end)
                if step is end:
                    return
                yield step

        return run


def parts_of(work: Callable[[], object]) -> dict[str, float]:
    """Seconds of the parts of a fit."""
    clock = Clock()
    places = [
        (fit, "fit_kernel", "solver, rest"), (kernel, "certify", "certificate, rest"),
        (blocks, "steps_on_set", "two-row steps"), (blocks._Run, "choose", "selection"),
        (block_shards.BlockShard, "advance", "selection"), (block_shards, "add_rows", "updates of G"),
        *((KernelMatrix, name, "tiles") for name in ("write_rows", "product_with", "product")),
    ]  # fmt: skip
    with ExitStack() as stack:
        for place, name, part in places:
            stack.enter_context(mock.patch.object(place, name, clock.timed(part, getattr(place, name))))
        panels = clock.timed_steps("tiles", KernelMatrix.product_panels)
        stack.enter_context(mock.patch.object(KernelMatrix, "product_panels", panels))
        with clock.inside("model"):
            work()
    return clock.seconds


def measure(name: str, n: int, lam: float) -> None:
    X, y, prior = hands(n) if name == "poker" else pu_table(name, n)
    gamma = GAMMA if name == "poker" else "scale"
    few = min(4000, len(X))
    PUSVC(prior, lam=lam, gamma=gamma).fit(X[:few], y[:few])  # compiles
    found = []
    for threads in (1, None):
        with threadpool_limits(threads, user_api="blas"):
            model = PUSVC(prior, lam=lam, gamma=gamma, solver="blocks")
            found.append(parts_of(lambda model=model: model.fit(X, y)))
    one, many = found
    total = sum(many.values())
    print(f"{name}, {n:,} rows, lambda {lam:g}: {model.kernel_rows_ / n:.2f} n kernel rows, "
          f"support {len(model.support_) / n:.2f} n")  # fmt: skip
    print(f"  {'part':22s} {'one thread':>11s} {'all':>9s} {'ratio':>6s} {'share':>6s}")
    for part in sorted(many, key=lambda part: -many[part]):
        ratio = one[part] / max(many[part], 1e-9)
        mark = "  one thread" if part in SERIAL else ""
        print(f"  {part:22s} {one[part]:9.2f} s {many[part]:7.2f} s {ratio:6.2f} {many[part] / total:6.3f}{mark}")
    serial = sum(many[part] for part in SERIAL)
    print(
        f"  {'all':22s} {sum(one.values()):9.2f} s {total:7.2f} s {sum(one.values()) / total:6.2f} "
        f"       {serial / total:.3f} of the time on one thread",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", nargs="+", default=["poker"], choices=["poker", *NAMES])
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 200_000])
    parser.add_argument("--lam", type=float, nargs="+", default=[1e-4])
    arguments = parser.parse_args()
    for name in arguments.table:
        for n in arguments.rows:
            for lam in arguments.lam:
                measure(name, n, lam)
