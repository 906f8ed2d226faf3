"""Results as CSV files, each replaced as a whole."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from usmo.system.atomic import write_whole


def write_rows(path: Path, fields: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    """Write a header and these fields of every row; other keys of the rows are ignored."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fields, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue().encode())
