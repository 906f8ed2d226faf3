"""Warnings that point at the user's line, however many frames of this package and of scikit-learn lie between."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

HELP = "docs/troubleshooting.md"
"""The page that has an entry for every warning."""

_PACKAGE = str(Path(__file__).parents[1])
_BETWEEN = ("sklearn", "joblib", "contextlib", "functools", "threading", "concurrent.futures")
"""Packages that call ours on the user's behalf: pipelines, searches, callbacks, decorators."""


def warn(message: str, category: type[Warning] = UserWarning, *, topic: str | None = None) -> None:
    """Issue a warning at the line of the first caller outside this package and outside scikit-learn's machinery.

    In a worker process or thread no such caller exists; the warning then points at the outermost frame. ``topic`` is
    the heading of :data:`HELP` with cause and cure; the message ends with it.
    """
    if topic is not None:
        message = f"{message} ({HELP}#{topic})"
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_between(frame.f_code.co_filename, frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_between(filename: str, module: str) -> bool:
    if filename.startswith(_PACKAGE):
        return True
    return any(module == name or module.startswith(name + ".") for name in _BETWEEN)
