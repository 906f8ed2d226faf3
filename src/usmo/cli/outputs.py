"""The files of a command: checked before any work, written to a stage, and moved to their places together."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import click

from usmo.cli import interrupts
from usmo.io import TableError
from usmo.io.writing import output_file_type


def check_targets(
    inputs: Sequence[str], files: Mapping[str, str | None], tables: Mapping[str, str | None] | None = None
) -> None:
    """Refuse files that cannot be written, or would overwrite each other or the inputs, before any work is done.

    ``files`` and ``tables`` are paths by option. A table needs the name of a format, or is "-" for stdout.
    """
    in_use = {os.path.realpath(path): "the input" for path in inputs if path != "-"}
    tables = {option: path for option, path in (tables or {}).items() if path != "-"}
    for option, path in (*files.items(), *tables.items()):
        if path is None:
            continue
        why = _obstacle(path, in_use) or (_format_error(path) if option in tables else "")
        if why:
            raise click.BadParameter(why, ctx=click.get_current_context(), param_hint=option)
        in_use[os.path.realpath(path)] = f"the file of {option}"


def _format_error(path: str) -> str:
    try:
        output_file_type(path)
    except TableError as error:
        return str(error)
    return ""


def _obstacle(path: str, in_use: Mapping[str, str]) -> str:
    real = Path(os.path.realpath(path))
    if path in ("", "-"):
        return f"must be the name of a file, got {path!r}"
    if real.is_dir():
        return f"{path} is a folder: give the name of a file"
    if not real.parent.is_dir():
        return f"there is no folder {real.parent}"
    if str(real) in in_use:
        return f"{path} is {in_use[str(real)]} already: give another file"
    if not os.access(real if _is_special(real) else real.parent, os.W_OK):
        return f"no permission to write {path}"
    return ""


def _is_special(path: Path) -> bool:
    """Whether the path is a pipe or a device: written to, never replaced by a file."""
    return path.exists() and not stat.S_ISREG(path.stat().st_mode)


class Outputs:
    """A stage for files that appear together when ``put`` is called, or not at all."""

    def __init__(self) -> None:
        self._folders: list[Path] = []
        self._staged: list[tuple[Path, Path, str]] = []

    def __enter__(self) -> Outputs:
        interrupts.set_outcome(interrupts.NOTHING_WRITTEN)
        interrupts.cleanups.append(self._clear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()
        interrupts.cleanups.remove(self._clear)

    def _clear(self) -> None:
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def file(self, target: str) -> Iterator[BinaryIO]:
        """Open a new file of the target's name on the stage, on the disk of the target; synced when it is closed."""
        real = Path(os.path.realpath(target))
        beside = Path(tempfile.gettempdir()) if _is_special(real) else real.parent
        folder = beside / f".usmo-{secrets.token_hex(4)}"
        self._folders.append(folder)  # before it exists, so that an interrupt removes it
        place = folder / Path(target).name
        with _named(target, place):
            folder.mkdir()
            with open(place, "x+b") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
        self._staged.append((place, real, target))

    def put(self) -> None:
        """Move the files to their places."""
        with interrupts.postponed():
            for place, real, target in self._staged:
                with _named(target, place):
                    if _is_special(real):
                        real.write_bytes(place.read_bytes())
                    else:
                        os.replace(place, real)
            if self._staged:
                interrupts.set_outcome("the files are written")


@contextlib.contextmanager
def _named(target: str, place: Path) -> Iterator[None]:
    """Let errors name the file that was asked for, not the one on the stage."""
    try:
        yield
    except (OSError, ValueError) as error:
        system = error if isinstance(error, OSError) else error.__cause__
        if isinstance(system, OSError) and system.strerror:
            raise click.ClickException(f"{target} cannot be written ({system.strerror})") from error
        raise click.ClickException(str(error).replace(str(place), target)) from error
