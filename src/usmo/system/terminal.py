"""Text from files, made safe to print: a terminal acts on control characters."""

from __future__ import annotations

import re
from collections.abc import Callable

_UNSAFE = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line separators, marks that reverse the direction of text, halves of surrogate pairs."""


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def printable(text: str, *, keep: str = "", escape: Callable[[str], str] = _escaped) -> str:
    """The text with unsafe characters, except those to keep, written as escapes such as ``\\x1b``."""
    return _UNSAFE.sub(lambda match: match[0] if match[0] in keep else escape(match[0]), text)
