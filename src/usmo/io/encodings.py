"""The encoding of a text file: UTF-8, what its first bytes say, or what its letters are likely to be."""

from __future__ import annotations

import codecs
import re

from usmo.io.errors import TableError
from usmo.io.libraries import charset_normalizer

_MARKS = {
    codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
"""Byte order marks; UTF-32 before UTF-16, whose mark it starts with."""

_BLOCK = 1 << 23
"""Bytes that are checked at a time."""

_SAMPLE = 1 << 17
"""Bytes of lines with letters beyond ASCII by which an encoding is detected."""

_CANDIDATES = [
    "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp932", "gb18030", "big5", "euc_kr",
    "koi8_r", "mac_roman", "cp850", "cp437",
]  # fmt: skip
_CHAOS = 0.5
"""Disorder of a decoded text up to which charset-normalizer accepts an encoding; short columns of names have much."""

_WESTERN = "àâäáãåæçèéêëìíîïñòóôõöøœùúûüýÿßðþšžÀÂÄÁÃÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØŒÙÚÛÜÝŸÐÞŠŽ"
_SIGNS = "€°§µ²³«»–—‘’“”„…·•©®™£¥½¼¾±×\u00a0¿¡ªº"
_UNLIKELY = re.compile(r"[^\W\d_][£¥½¼¾¿¡©®±×³¹]|[£¿¡³ª¹][^\W\d_]")
"""Signs within words: a wrong encoding."""

_NOT_WESTERN = re.compile(r"[^\W\d_a-zA-Z]{4}")
"""Four letters beyond ASCII in a row: not a language of Western Europe."""


def as_utf8(data: bytes, name: str, encoding: str | None) -> tuple[bytes, str]:
    """A text in UTF-8 without byte order mark, and a note on its encoding; a TableError if it is not text."""
    if encoding is not None:
        return _decoded(data, name, encoding), f"read as {encoding}"
    for mark, marked in _MARKS.items():
        if data.startswith(mark):
            if marked == "utf-8":
                data = data[len(mark) :]
                break
            return _decoded(data, name, marked), f"the file is {marked.upper()}"
    if b"\0" in data:
        wide = _wide(data)
        if not wide:
            raise TableError(f"{name} is not text (it holds zero bytes): save it as text, or name its format")
        return _decoded(data, name, wide), f"the file is {wide.upper()}"
    if data.isascii() or _is_utf8(data):
        return data, ""
    text = data.decode("utf-8", "replace")
    damaged, beyond = text.count("\ufffd"), sum(1 for letter in text if letter > "\x7f")
    if damaged <= 0.05 * beyond:
        line = text[: text.index("\ufffd")].count("\n") + 1
        return text.encode(), f"line {line} holds bytes that are not UTF-8; they are replaced by �"
    found = _detected(data)
    if found is None:
        raise TableError(f"{name} is in no encoding that is known: save it as UTF-8, or name it with --encoding")
    return _decoded(data, name, found), f"the file is not UTF-8: read as {found}; --encoding names another"


def _is_utf8(data: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(data), _BLOCK):
            decoder.decode(data[at : at + _BLOCK], final=at + _BLOCK >= len(data))
    except UnicodeDecodeError:
        return False
    return True


def _decoded(data: bytes, name: str, encoding: str) -> bytes:
    try:
        text = data.decode(encoding)
    except LookupError:
        raise TableError(f"--encoding {encoding} is not known: give one such as utf-8, cp1252 or utf-16") from None
    except UnicodeError as error:
        raise TableError(f"{name} cannot be read as {encoding} ({error}): name another with --encoding") from None
    return text.removeprefix("\ufeff").encode()


def _wide(data: bytes) -> str:
    """UTF-16 without a byte order mark, by the place of its zero bytes; "" if it is not."""
    start = data[:4000]
    even, odd = start[::2].count(0), start[1::2].count(0)
    if len(data) % 2 == 0 and max(even, odd) > 0.3 * len(start[::2]) and min(even, odd) < 0.05 * len(start[::2]):
        return "utf-16-le" if odd > even else "utf-16-be"
    return ""


def _detected(data: bytes) -> str | None:
    """Windows-1252 if its letters and signs are likely ones, else the best guess of charset-normalizer."""
    lines, size = [], 0
    for match in re.finditer(rb"[^\n]*[\x80-\xff][^\n]*\n?", data):
        lines.append(match.group())
        size += len(lines[-1])
        if size > _SAMPLE:
            break
    sample = b"".join(lines)
    western = sample.decode("cp1252", "replace")
    known = all(letter < "\x80" or letter in _WESTERN + _SIGNS for letter in western)
    if known and not _UNLIKELY.search(western) and not _NOT_WESTERN.search(western):
        return "cp1252"
    candidates, first = list(_CANDIDATES), None
    while candidates:  # it stops at the first encoding without control characters
        best = charset_normalizer().from_bytes(sample, cp_isolation=candidates, threshold=_CHAOS).best()
        if best is None or str(best.encoding) not in candidates:
            break
        first = first or str(best.encoding)
        if not _UNLIKELY.search(str(best)):
            return str(best.encoding)
        candidates.remove(str(best.encoding))
    return first
