"""The libraries of the extra ``usmo[tables]``, loaded at the first table."""

from __future__ import annotations

from typing import Any

from usmo.system.extras import load_extra


def polars() -> Any:
    return load_extra("polars", "tables are read and written with Polars", "tables")


def zstandard() -> Any:
    return load_extra("zstandard", ".zst files need zstandard", "tables")
