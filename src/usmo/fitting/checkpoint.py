"""Checkpoints of long fits: the solver's state in one file, replaced atomically, refused for other data.

For the block solver the file has σ, G = q - Kσ at it, the point that the solver is moving to, and how far G has come on
the way there. A fit that is killed and started again with the same table and parameters continues from there without
computing a kernel row twice.

One fit at a time uses a file: a lock beside it says which process. A disk that is full or gone during the fit costs the
checkpoint, not the fit.
"""

from __future__ import annotations

import glob
import hashlib
import math
import os
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from scipy import sparse

from usmo.core.arrays import Array
from usmo.core.problem import Problem
from usmo.core.solution import EvaluatedPoint
from usmo.kernels.forest import LeafTable
from usmo.kernels.matrix import KernelMatrix
from usmo.system import caller
from usmo.system.atomic import replacing, temporary_file
from usmo.system.locks import FileLock, LockHeld
from usmo.system.terminal import printable

_FORMAT = 2

_HEADER = 4096
"""Bytes that an array in a file may have besides its numbers."""


def problem_digest(problem: Problem, kernel: KernelMatrix) -> str:
    """A digest of the table, the problem and the kernel."""
    digest = hashlib.blake2b(digest_size=16)
    X = kernel.X
    parts: list[Any] = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X]
    if isinstance(X, LeafTable):
        parts = [X.leaves] if X.columns is None else [X.leaves, X.columns]
    parts += [problem.b_rows, problem.c_rows, problem.b, problem.c]
    for part in parts:
        digest.update(str((part.shape, part.dtype)).encode())
        digest.update(np.ascontiguousarray(part).view(np.uint8).data)
    digest.update(kernel.kernel.describe().encode())
    return digest.hexdigest()


def text_digest(value: Any) -> str:
    """A digest of the ``repr`` of a value."""
    return hashlib.blake2b(repr(value).encode(), digest_size=16).hexdigest()


def _array(archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], kind: str) -> Any:
    """An array of the archive, with a type of this kind. Its size is checked before memory is allocated for it."""
    member = archive.getinfo(f"{name}.npy")
    if member.file_size > _HEADER + 8 * math.prod(shape):
        raise ValueError(f"array {name} is larger than {shape}")
    with archive.open(member) as stream:
        array = np.lib.format.read_array(stream, allow_pickle=False)
    if array.shape != shape or array.dtype.kind != kind or (kind == "f" and not np.isfinite(array).all()):
        raise ValueError(f"array {name} must have the shape {shape}, the right type and finite numbers")
    return array.astype(np.float64, copy=False) if kind == "f" else array


def check_checkpoint(path: str | os.PathLike[str] | None) -> None:
    """Refuse a checkpoint that cannot be written or is in use, before any work is done."""
    if path is not None:
        _lock(path).release()


def _lock(path: str | os.PathLike[str]) -> FileLock:
    """Lock a checkpoint. That writes a file beside it, so that it fails where the checkpoint would."""
    file = Path(path)
    if not file.parent.is_dir():
        raise ValueError(f"checkpoint must lie in an existing folder, got {str(path)!r}")
    if file.is_dir():
        raise ValueError(f"checkpoint must be the name of a file, got the folder {str(path)!r}")
    try:
        return FileLock(file.with_name(f"{file.name}.lock"))
    except LockHeld as holder:
        raise RuntimeError(
            f"checkpoint {str(path)!r} is in use by {holder}: wait until that fit has ended, or name another file"
        ) from None
    except OSError as error:
        raise ValueError(
            f"checkpoint must lie in a folder that can be written, got {str(path)!r} ({error.strerror})"
        ) from error


class StateFile:
    """Named arrays in the file ``path``, written at most every ``seconds``. ``digest`` identifies their problem.

    Used in a ``with`` block around the fit: the file is removed at its end, and stays if an exception ends it.
    """

    def __init__(self, path: str | os.PathLike[str], seconds: float, digest: str) -> None:
        self.path, self.seconds = Path(path), seconds
        self._lock = _lock(path)
        for left in self.path.parent.glob(temporary_file(glob.escape(self.path.name), "*")):
            left.unlink(missing_ok=True)  # by runs killed while writing
        self._digest, self._full = digest, False
        self._last = time.monotonic()

    def __enter__(self) -> StateFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release() if error is not None else self.remove()

    def load(self, **shapes: tuple[int, ...]) -> dict[str, Array] | None:
        """Arrays of these names and shapes from an earlier run of the same fit, None if there is no file."""
        if not self.path.exists():
            return None
        try:
            with zipfile.ZipFile(self.path) as archive:
                form = int(_array(archive, "format", (), "i"))
                digest = str(_array(archive, "fingerprint", (), "U"))
                same = form == _FORMAT and digest == self._digest
                state = {name: _array(archive, name, shape, "f") for name, shape in shapes.items()} if same else {}
        except Exception as error:
            why = printable(str(error))[:200]  # Python's zip reader quotes the file
            raise ValueError(f"checkpoint {str(self.path)!r} is not a checkpoint of usmo: {why}") from error
        if not same:
            raise ValueError(
                f"checkpoint {str(self.path)!r} belongs to other data or parameters: remove it or name another"
            )
        return state

    def save(self, state: Callable[[], dict[str, Any]]) -> None:
        """Write the state if the last one is old enough; ``state`` is called only then. A failure is a warning."""
        if time.monotonic() - self._last < self.seconds:
            return
        arrays = state()
        try:
            with replacing(self.path) as stream:
                np.savez(stream, format=_FORMAT, fingerprint=self._digest, **arrays)
            self._full = False
        except (OSError, ValueError) as error:  # ValueError: zipfile on a full disk
            if not self._full:
                self._warn("written", error, "the fit goes on, and the file keeps its last state, if it has one")
            self._full = True
        self._last = time.monotonic()

    def remove(self) -> None:
        """Delete the file at the end of the fit."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            self._warn("removed", error, "remove it before another fit uses that name")
        self._lock.release()

    def _warn(self, action: str, error: BaseException, advice: str) -> None:
        system = error if isinstance(error, OSError) else error.__context__
        why = getattr(system, "strerror", None) or str(error)
        caller.warn(
            f"checkpoint {str(self.path)!r} cannot be {action} ({why}); {advice}",
            RuntimeWarning,
            topic="checkpoint-file",
        )


class Checkpoint:
    """The state of one fit by the block solver; ``n`` is the number of unlabelled rows. ``file`` is for ``with``."""

    def __init__(self, path: str | os.PathLike[str], seconds: float, digest: str, n: int) -> None:
        self.file, self._n = StateFile(path, seconds, digest), n
        self.remove = self.file.remove

    def load(self) -> tuple[EvaluatedPoint, Array] | None:
        """The last point with its G, and the target, of an earlier run of the same fit; None if there is no file."""
        state = self.file.load(sigma=(self._n,), G=(self._n,), target=(self._n,), panels=())
        if state is None:
            return None
        return EvaluatedPoint(state["sigma"], state["G"], int(state["panels"])), state["target"]

    def save(self, sigma: Array, get_G: Callable[[], Array], target: Array, panels: int = 0) -> None:
        """Write the state if the last one is old enough; G is computed only then."""
        self.file.save(lambda: {"sigma": sigma, "G": get_G(), "target": target, "panels": float(panels)})
