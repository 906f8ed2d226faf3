"""What a command prints: messages on stderr, JSON on stdout."""

from __future__ import annotations

import contextlib
import json
import math
import sys
import warnings
from typing import Any

import click

from usmo.cli.wording import with_options
from usmo.system.compilation import silent
from usmo.system.terminal import printable

_LINE = 78
"""Characters of a passing line."""

_FOR_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)


class Messages:
    """Lines on stderr, unless quiet. Inside its block, warnings of the library are such lines too, each once."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.live = not quiet and sys.stderr.isatty()
        self._warnings_shown: set[str] = set()
        self._line_shown = False

    def show_line(self, text: str) -> None:
        """Show a passing line on a terminal; the next line takes its place."""
        with contextlib.suppress(OSError):
            print(f"\r{text:<{_LINE}}", end="", file=sys.stderr, flush=True)
            self._line_shown = True

    def clear_line(self) -> None:
        """Remove the passing line."""
        if self._line_shown:
            with contextlib.suppress(OSError):
                print("\r" + " " * _LINE + "\r", end="", file=sys.stderr, flush=True)
            self._line_shown = False

    def say(self, text: str) -> None:
        if not self.quiet:
            self.clear_line()
            with contextlib.suppress(OSError):
                print(f"usmo: {printable(text)}", file=sys.stderr, flush=True)

    def during_fit(self) -> contextlib.AbstractContextManager[None]:
        """A block in which a quiet command does not announce compilation either."""
        return silent() if self.quiet else contextlib.nullcontext()

    def _show_warning(self, message: Warning | str, *_place: Any, **_more: Any) -> None:
        text = " ".join(str(message).split())
        # only commands that fit have these options
        if any(option.name == "lam" for option in click.get_current_context().command.params):
            text = with_options(text)
        if text not in self._warnings_shown:
            self._warnings_shown.add(text)
            self.say(f"note: {text}")

    def __enter__(self) -> Messages:
        self._caught = warnings.catch_warnings()
        self._caught.__enter__()
        warnings.simplefilter("always")
        for category in _FOR_DEVELOPERS:
            warnings.simplefilter("ignore", category)
        warnings.showwarning = self._show_warning
        return self

    def __exit__(self, *error: Any) -> None:
        self.clear_line()
        self._caught.__exit__(*error)


def command() -> str:
    """The command that is running, as one would type it."""
    return str(click.get_current_context().obj or "")


def put_json(value: dict[str, Any]) -> None:
    """Print one JSON object; numbers that JSON cannot represent become text, control characters escapes."""
    text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)
    click.echo(printable(text, escape=lambda character: json.dumps(character)[1:-1]))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def as_rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Columns as a list of rows, for JSON."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
