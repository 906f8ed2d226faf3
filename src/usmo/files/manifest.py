"""The manifest of a model file: JSON whose memory is estimated from the text before it is parsed."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from usmo.files.errors import FOREIGN, ModelFileError, check_limit, need

_MAX_NESTING = 100
"""Brackets open at once in a manifest; Python's JSON reader recurses on them."""

_OBJECT, _LIST, _MEMBER, _ELEMENT = 200, 120, 170, 70
"""Bytes of CPython's dictionaries, lists, keys with their places in a dictionary, and values, each with the copy that
decoding makes: the largest measured, for short keys that are all different and values of few characters."""

_IS_STRUCTURE = np.isin(np.arange(256), list(b"[]{},:"))


def parsed_json(text: bytes, limit: int) -> Any:
    """The value of a JSON text without deep nesting, repeated keys and numbers beyond 64 bits.

    A text whose parsing would take more than ``limit`` bytes of memory is refused before it is parsed.
    """
    structure = _structure(text)
    check_limit("its manifest takes", _memory(len(text), structure), limit)
    _check_nesting(structure)
    try:
        decoder = json.JSONDecoder(parse_int=_integer, parse_float=_finite, parse_constant=_finite)
        value = decoder.decode(text.decode("ascii"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelFileError(f"the manifest is not JSON ({error}); {FOREIGN}") from error
    need(_count_members(value) == structure.count(b":"), f"a key occurs twice in one JSON object; {FOREIGN}")
    return value


def memory_of(text: bytes) -> int:
    """An upper estimate of the bytes that parsing and decoding a JSON text takes."""
    return _memory(len(text), _structure(text))


def memory_of_text(size: int) -> int:
    """The bytes that a text of this size takes at least, with the copies that its check makes."""
    return 6 * size


def _memory(size: int, structure: bytes) -> int:
    objects, lists = (max(map(structure.count, pair)) for pair in ((b"{", b"}"), (b"[", b"]")))
    members, commas = structure.count(b":"), structure.count(b",")
    elements = max(0, commas + objects + lists + 1 - members)
    values = _OBJECT * objects + _LIST * lists + _MEMBER * members + _ELEMENT * elements
    return max(memory_of_text(size), 2 * size + values)


def _structure(text: bytes) -> bytes:
    """The brackets, commas and colons outside of strings."""
    unescaped = np.frombuffer(text.replace(b"\\\\", b"").replace(b'\\"', b""), dtype=np.uint8)
    in_string = np.logical_xor.accumulate(unescaped == ord('"'))
    return unescaped[_IS_STRUCTURE[unescaped] & ~in_string].tobytes()


def _check_nesting(structure: bytes) -> None:
    marks = np.frombuffer(structure.translate(None, b",:"), dtype=np.uint8)
    steps = np.where((marks == ord("[")) | (marks == ord("{")), 1, -1)
    depth = int(np.cumsum(steps).max(initial=0))
    need(depth <= _MAX_NESTING, f"JSON values are nested more than {_MAX_NESTING} deep; {FOREIGN}")


def _count_members(value: Any) -> int:
    """The number of members of all objects: less than the text has if a key occurs twice in an object."""
    count, values = 0, [value]
    while values:
        value = values.pop()
        if isinstance(value, dict):
            count += len(value)
            values += value.values()
        elif isinstance(value, list):
            values += value
    return count


def _integer(text: str) -> int:
    need(len(text) <= 20, f"an integer of {len(text)} digits; {FOREIGN}")
    return int(text)


def _finite(text: str) -> float:
    value = float(text) if len(text) <= 40 else math.inf
    need(math.isfinite(value), f"the number {text[:40]} is no float64; {FOREIGN}")
    return value
