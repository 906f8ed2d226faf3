"""Errors and warnings of the library in the words of the command line: options instead of parameters."""

from __future__ import annotations

import re

_OPTIONS = "prior|lam|gamma|kernel|scenario|approximation|propensity|class_weight|folds|start|recall|confidence"
_AT_THE_START = re.compile(rf"({_OPTIONS})(?= must )")
_WITH_VALUE = re.compile(rf"""\b({_OPTIONS})=(?:(['"])([\w+-]+)\2|([0-9][\w.+-]*))""")
_AS_NUMBER = re.compile(r"(?<=\bgive )(prior)(?= as a number)")
_UNLIKE_WORDS = re.compile(r"(?<![\w'-])(lam|class_weight|propensity_columns)(?![\w'=])")


def error_text(error: Exception) -> str:
    """The message of an error in the words of the command line; errors of tables have them already."""
    return str(error) if getattr(error, "names_options", False) else with_options(str(error))


def with_options(message: str) -> str:
    """A message in which parameters that are options too, and are not plain words, are written as options."""
    message = _AT_THE_START.sub(_option, message, count=1) if _AT_THE_START.match(message) else message
    message = _WITH_VALUE.sub(lambda match: f"{_option(match)} {match[3] or match[4]}", message)
    return _UNLIKE_WORDS.sub(_option, _AS_NUMBER.sub(_option, message))


def _option(match: re.Match[str]) -> str:
    return f"--{match[1].replace('_', '-')}"
