"""The files of a command: checked before any work, written aside, and put in their places together at the end."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import click

from usmo.cli import interrupts


def check_targets(inputs: Sequence[str], files: dict[str, str | None], table: str = "-") -> None:
    """Refuse files that cannot be written, or would be written over each other, before any work is done.

    ``files`` by option; ``table``, the file of ``--output``, needs the name of a format, or is "-" for stdout.
    """
    taken = {os.path.realpath(path): "the input" for path in inputs if path != "-"}
    for option, path in (*files.items(), *([("--output", table)] if table != "-" else [])):
        if path is None:
            continue
        why = _obstacle(path, taken) or (_no_format(path) if path is table else "")
        if why:
            raise click.BadParameter(why, ctx=click.get_current_context(), param_hint=option)
        taken[os.path.realpath(path)] = f"the file of {option}"


def _no_format(path: str) -> str:
    from usmo.io import TableError
    from usmo.io.writing import written_form

    try:
        written_form(path)
    except TableError as error:
        return str(error)
    return ""


def _obstacle(path: str, taken: dict[str, str]) -> str:
    real = Path(os.path.realpath(path))
    if path in ("", "-"):
        return f"must be the name of a file, got {path!r}"
    if real.is_dir():
        return f"{path} is a folder: give the name of a file"
    if not real.parent.is_dir():
        return f"there is no folder {real.parent}"
    if str(real) in taken:
        return f"{path} is {taken[str(real)]} already: give another file"
    if not os.access(real if _is_special(real) else real.parent, os.W_OK):
        return f"no permission to write {path}"
    return ""


def _is_special(path: Path) -> bool:
    """A pipe or a device: bytes are put into it, and it stays."""
    return path.exists() and not stat.S_ISREG(path.stat().st_mode)


class Outputs:
    """Files that appear all together when ``put`` is called, or not at all."""

    def __init__(self) -> None:
        self._folders: list[Path] = []
        self._staged: list[tuple[Path, Path, str]] = []

    def __enter__(self) -> Outputs:
        interrupts.would_mean(interrupts.NOTHING_WRITTEN)
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
    def file(self, target: str) -> Iterator[str]:
        """A place of the same name to write the file to."""
        real = Path(os.path.realpath(target))
        beside = Path(tempfile.gettempdir()) if _is_special(real) else real.parent
        folder = beside / f".usmo-{secrets.token_hex(4)}"
        self._folders.append(folder)  # before it is there: an interrupt must find it
        place = folder / Path(target).name
        with _named(target, place):
            folder.mkdir()
            yield str(place)
        self._staged.append((place, real, target))

    def put(self) -> None:
        """Put the files in their places."""
        with interrupts.held():
            for place, real, target in self._staged:
                with _named(target, place):
                    if _is_special(real):
                        real.write_bytes(place.read_bytes())
                    else:
                        os.replace(place, real)
            if self._staged:
                interrupts.would_mean("the files are written")


@contextlib.contextmanager
def _named(target: str, place: Path) -> Iterator[None]:
    """What goes wrong is said of the file that was asked for."""
    try:
        yield
    except (OSError, ValueError) as error:
        system = error if isinstance(error, OSError) else error.__cause__
        if isinstance(system, OSError) and system.strerror:
            raise click.ClickException(f"{target} cannot be written ({system.strerror})") from error
        raise click.ClickException(str(error).replace(str(place), target)) from error
