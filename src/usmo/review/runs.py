"""Finished simulated reviews in a file, so that a simulation that was ended goes on where it stood."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

_FORMAT = "usmo simulate 1"


class FinishedRuns:
    """Runs by seed. The file has a line of JSON for each, with a digest of table and plan; a torn last line is ignored.

    Runs of other tables or plans may be in the same file.
    """

    def __init__(self, path: str | os.PathLike[str] | None, digest: str) -> None:
        self.path = None if path is None else Path(path)
        self.digest = digest
        self.runs: dict[int, dict[str, Any]] = {}
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def _read(self, path: Path) -> None:
        lines = path.read_bytes().split(b"\n")
        complete, torn = lines[:-1], lines[-1]
        for number, line in enumerate(complete, start=1):
            try:
                entry = json.loads(line)
                known = entry["format"] == _FORMAT
            except (ValueError, KeyError, TypeError):
                known = False
            if not known:
                raise ValueError(
                    f"{path} is not a file of simulated reviews (line {number}): give another --store"
                )
            if entry["digest"] == self.digest:
                self.runs[int(entry["run"]["seed"])] = entry["run"]
        if torn:  # a kill left half a line: what follows must start on a new one
            with open(path, "r+b") as stream:
                stream.truncate(sum(len(line) + 1 for line in complete))

    def add(self, run: dict[str, Any]) -> None:
        """Keep a run, on disk if there is a file."""
        self.runs[int(run["seed"])] = run
        if self.path is None:
            return
        line = json.dumps({"format": _FORMAT, "digest": self.digest, "run": run}) + "\n"
        with open(self.path, "ab") as stream:
            stream.write(line.encode())
            stream.flush()
            os.fsync(stream.fileno())
