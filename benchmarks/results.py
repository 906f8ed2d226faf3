"""Measurements that are kept: a line of JSON for each, appended when it is made, so that a run can be continued."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Results:
    """The measurements in a file, by key. Delete the file to measure again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: dict[tuple[Any, ...], Any] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            for line in path.read_text().splitlines():
                key, value = json.loads(line)
                self._found[tuple(key)] = value

    def __contains__(self, key: tuple[Any, ...]) -> bool:
        return key in self._found

    def get(self, key: tuple[Any, ...], compute: Callable[..., Any], *arguments: Any) -> Any:
        """The value of the key: from the file, else computed and kept."""
        if key not in self._found:
            self._found[key] = compute(*arguments)
            with self.path.open("a") as file:
                file.write(json.dumps([key, self._found[key]]) + "\n")
        return self._found[key]
