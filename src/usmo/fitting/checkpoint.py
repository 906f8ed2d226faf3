"""Checkpoints of long fits: the solver's state in one file, replaced atomically, refused for other data.

For the block solver the file has σ, G = q - Kσ at it, and the point that the solver is moving to. A fit that is killed
and started again with the same table and parameters continues from there without computing a kernel row twice.
"""

from __future__ import annotations

import hashlib
import os
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array
from usmo.core.problem import PUProblem
from usmo.core.solution import EvaluatedPoint
from usmo.kernels.matrix import KernelMatrix
from usmo.system.atomic import replacing

_FORMAT = 1


def problem_digest(problem: PUProblem, kernel: KernelMatrix) -> str:
    """A digest of the table, the problem and the kernel."""
    digest = hashlib.blake2b(digest_size=16)
    X = kernel.X
    parts: list[Any] = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    parts += [problem.positives, problem.unlabelled, problem.c1, problem.c2]
    for part in parts:
        digest.update(str((part.shape, part.dtype)).encode())
        digest.update(np.ascontiguousarray(part).view(np.uint8).data)
    digest.update(kernel.kernel.describe().encode())
    return digest.hexdigest()


def text_digest(value: Any) -> str:
    """A digest of the ``repr`` of a value."""
    return hashlib.blake2b(repr(value).encode(), digest_size=16).hexdigest()


class StateFile:
    """Named arrays in the file ``path``, written at most every ``seconds``. ``digest`` identifies their problem."""

    def __init__(self, path: str | os.PathLike[str], seconds: float, digest: str) -> None:
        self.path, self.seconds = Path(path), seconds
        if not self.path.parent.is_dir():
            raise ValueError(f"checkpoint must lie in an existing folder, got {str(path)!r}")
        self._temporary = self.path.with_name(f"{self.path.name}.tmp")
        self._digest = digest
        self._last = time.monotonic()

    def load(self, **shapes: tuple[int, ...]) -> dict[str, Array] | None:
        """Arrays of these names and shapes from an earlier run of the same fit, None if there is no file."""
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as stored:
                form, digest = int(stored["format"]), str(stored["fingerprint"])
                state = {name: stored[name] for name in shapes}
        except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
            raise ValueError(f"checkpoint {str(self.path)!r} is not a checkpoint of usmo: {error}") from error
        if form != _FORMAT or digest != self._digest or any(state[name].shape != shapes[name] for name in shapes):
            raise ValueError(
                f"checkpoint {str(self.path)!r} belongs to other data or parameters: remove it or name another"
            )
        return state

    def save(self, state: Callable[[], dict[str, Any]]) -> None:
        """Write the state if the last one is old enough; ``state`` is called only then."""
        if time.monotonic() - self._last < self.seconds:
            return
        arrays = state()
        with replacing(self.path, beside=self._temporary) as stream:
            np.savez(stream, format=_FORMAT, fingerprint=self._digest, **arrays)
        self._last = time.monotonic()

    def remove(self) -> None:
        """Delete the file at the end of the fit."""
        self.path.unlink(missing_ok=True)
        self._temporary.unlink(missing_ok=True)  # left by a run killed while writing


class Checkpoint:
    """The state of one fit by the block solver; ``n`` is the number of unlabelled rows."""

    def __init__(self, path: str | os.PathLike[str], seconds: float, digest: str, n: int) -> None:
        self.file, self._n = StateFile(path, seconds, digest), n
        self.remove = self.file.remove

    def load(self) -> tuple[EvaluatedPoint, Array] | None:
        """The last point with its G, and the target, of an earlier run of the same fit; None if there is no file."""
        state = self.file.load(sigma=(self._n,), G=(self._n,), target=(self._n,))
        return None if state is None else (EvaluatedPoint(state["sigma"], state["G"]), state["target"])

    def save(self, sigma: Array, get_G: Callable[[], Array], target: Array) -> None:
        """Write the state if the last one is old enough; G is computed only then."""
        self.file.save(lambda: {"sigma": sigma, "G": get_G(), "target": target})
