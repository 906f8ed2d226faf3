"""Errors of the library in the words of the command line: options instead of parameters."""

from __future__ import annotations

import re

_OPTIONS = "prior|lam|gamma|kernel|scenario|approximation|propensity|class_weight|folds|start|recall|confidence"
_AT_THE_START = re.compile(rf"({_OPTIONS})(?= must )")
_WITH_VALUE = re.compile(rf"\b({_OPTIONS})='([\w+-]+)'")
_UNLIKE_WORDS = re.compile(r"(?<![\w'-])(class_weight|propensity_columns)(?![\w'])")


def with_options(message: str) -> str:
    """A message in which parameters that are options too, and are not plain words, are written as options."""
    message = _AT_THE_START.sub(_option, message, count=1) if _AT_THE_START.match(message) else message
    message = _WITH_VALUE.sub(lambda match: f"{_option(match)} {match[2]}", message)
    return _UNLIKE_WORDS.sub(_option, message)


def _option(match: re.Match[str]) -> str:
    return f"--{match[1].replace('_', '-')}"
