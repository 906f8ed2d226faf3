"""Texts without the markup of web pages: tags such as <p> and <sup>, and references such as &lt; and &eacute;."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.parser import HTMLParser

_MARK = re.compile(
    r"</[a-zA-Z][\w:-]*\s*>|<(?:br|p|hr)\s*/?>|&(?:[a-zA-Z]{2,31}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});"
)
"""What only marked-up text has: an end tag, a tag that needs no end, a character reference with its semicolon."""

_INLINE = frozenset((
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "emphasis", "font", "i",
    "inf", "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var",
))  # fmt: skip
"""Elements inside a word or a sentence. The tags of all others end a word."""


def is_marked_up(texts: Iterable[str]) -> bool:
    """Whether any of the texts has an end tag, a line break or a character reference."""
    return any(_MARK.search(text) for text in texts)


def without_markup(text: str) -> str:
    """The text without tags and with references replaced by their characters.

    "CO<sub>2</sub>" is one word, "<p>one</p><p>two</p>" are two. "a<b and c>d" has no tag: attributes have values.
    """
    if "<" not in text and "&" not in text:
        return text
    parser = _Reader()
    parser.feed(text)
    parser.close()
    return "".join(parser.pieces)


class _Reader(HTMLParser):
    """Collects the text between tags."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if any(value is None for _, value in attrs):
            self.pieces.append(self.get_starttag_text() or "")
            return
        self.pieces.append("" if tag in _INLINE else " ")

    def handle_endtag(self, tag: str) -> None:
        self.pieces.append("" if tag in _INLINE else " ")

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)
