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
from usmo.io.reading import source_files
from usmo.io.writing import output_file_type
from usmo.system.atomic import copy_permissions


def check_targets(
    inputs: Sequence[str | None], files: Mapping[str, str | None], tables: Mapping[str, str | None] | None = None
) -> None:
    """Refuse files that cannot be written, or would overwrite each other or the inputs, before any work is done.

    ``inputs`` are sources of tables and other files, None if not given. ``files`` and ``tables`` are paths by option.
    A table needs the name of a format, or is "-" for stdout.
    """
    in_use = {os.path.realpath(path): "the input" for source in inputs if source for path in _files(source)}
    tables = {option: path for option, path in (tables or {}).items() if path != "-"}
    for option, path in (*files.items(), *tables.items()):
        if path is None:
            continue
        why = _obstacle(path, in_use) or (_format_error(path) if option in tables else "")
        if why:
            raise click.BadParameter(why, ctx=click.get_current_context(), param_hint=option)
        in_use[os.path.realpath(path)] = f"the file of {option}"


def _files(source: str) -> list[str]:
    """The files of an input; none if it cannot be read, which the reader will say."""
    try:
        return source_files(source)
    except TableError:
        return []


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
    if real.is_file():
        return _protection(path, real)
    return ""


def _protection(path: str, real: Path) -> str:
    """Why an existing file must not or cannot be replaced, although its folder can be written."""
    file, folder = real.stat(), real.parent.stat()
    if not file.st_mode & 0o222 or not os.access(real, os.W_OK):  # root has access to all files
        return f"{path} is read-only: make it writable (chmod u+w) or give another file"
    if folder.st_mode & stat.S_ISVTX and os.geteuid() not in (0, file.st_uid, folder.st_uid):
        return f"{path} belongs to another user, and its folder lets only the owner replace it: give another file"
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
            folder.mkdir(mode=0o700)
            with open(place, "x+b") as stream:
                if not _is_special(real):
                    copy_permissions(real, place)
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
        self._staged.append((place, real, target))

    def put(self) -> None:
        """Move the files to their places. If one cannot be moved, the files moved before it are put back."""
        with interrupts.postponed():
            moved: list[tuple[Path, Path | None]] = []
            try:
                # pipes and devices last: what is written to them cannot be taken back
                for place, real, target in sorted(self._staged, key=lambda staged: _is_special(staged[1])):
                    with _named(target, place):
                        if _is_special(real):
                            real.write_bytes(place.read_bytes())
                        else:
                            backup = _backup(real, place.with_name(f"{place.name}.before"))
                            os.replace(place, real)
                            moved.append((real, backup))
            except BaseException:
                self._put_back(moved)
                raise
            if self._staged:
                interrupts.set_outcome("the files are written")

    def _put_back(self, moved: list[tuple[Path, Path | None]]) -> None:
        failures = []
        for real, backup in reversed(moved):
            try:
                real.unlink() if backup is None else os.replace(backup, real)
            except OSError as error:
                before = f", its old contents are {backup}" if backup else ""
                failures.append(f"{real} is replaced and cannot be put back ({error.strerror}){before}")
        if failures:
            self._folders.clear()  # the backups stay
            raise click.ClickException("; ".join(failures))


def _backup(real: Path, backup: Path) -> Path | None:
    """A second name for the contents of a file, or a copy where the disk has no links; None if there is no file."""
    if not real.exists():
        return None
    try:
        os.link(real, backup)
    except OSError:
        shutil.copy2(real, backup)
    return backup


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
