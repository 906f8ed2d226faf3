"""Values of requests, checked: an error names the field, the value and what is accepted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

LONGEST_NOTE = 10_000
LONGEST_NAME = 100
LONGEST_CRITERIA = 20_000
LONGEST_SEARCH = 200
LARGEST_BODY = 64 * 1024
LARGEST_IMPORT = 4 * 1024 * 1024
"""Bytes of a request at most; a list of known rows may be longer than the others."""
MOST_ROWS = 100
"""Rows of one answer to a search."""

_REQUEST = re.compile(r"[A-Za-z0-9_-]{8,64}")
_NUMBER = re.compile(r"[0-9]{1,12}")


class RequestRefused(Exception):
    """A request that is answered with an error. ``more`` are further values of the answer."""

    def __init__(self, status: int, why: str, **more: Any) -> None:
        super().__init__(why)
        self.status, self.more = status, more


class Fields:
    """The fields of a query, or of a JSON object, whose numbers are ``typed``."""

    def __init__(self, values: Mapping[str, Any], *, typed: bool = False) -> None:
        self._values, self._typed = values, typed

    @classmethod
    def of_json(cls, body: bytes) -> Fields:
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            raise RequestRefused(400, "the body must be JSON") from None
        if not isinstance(values, dict):
            raise RequestRefused(400, f"the body must be a JSON object, got {type(values).__name__}")
        return cls(values, typed=True)

    def text(self, name: str, longest: int, default: str | None = None) -> str:
        value = self._values.get(name, default)
        if not isinstance(value, str) or len(value) > longest:
            raise RequestRefused(400, f"{name} must be text of at most {longest:,} characters, got {value!r:.60}")
        return value.encode("utf-8", "replace").decode()

    def choice(self, name: str, accepted: tuple[Any, ...], default: Any = None) -> Any:
        value = self._values.get(name, default)
        if isinstance(value, bool) or value not in accepted:
            raise RequestRefused(400, f"{name} must be one of {', '.join(map(str, accepted))}, got {value!r:.60}")
        return value

    def flag(self, name: str) -> bool:
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise RequestRefused(400, f"{name} must be true or false, got {value!r:.60}")
        return value

    def number(self, name: str, below: int, default: int | None = None) -> int:
        """A whole number from 0."""
        value = self._values.get(name, default)
        if not self._typed and isinstance(value, str) and _NUMBER.fullmatch(value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < below:
            raise RequestRefused(400, f"{name} must be a whole number from 0 to {below - 1}, got {value!r:.60}")
        return value

    def request(self, name: str = "request") -> str:
        """The name that a page gives to a change, so that it is made once however often it is sent."""
        value = self._values.get(name)
        if not isinstance(value, str) or not _REQUEST.fullmatch(value):
            raise RequestRefused(400, f"{name} must be 8 to 64 letters, digits, - or _, got {value!r:.60}")
        return value
