"""Optional and heavy libraries, imported with the first table that needs them: ``import usmo.io`` stays fast."""

from __future__ import annotations

from typing import Any

from usmo.system.extras import load_extra


def polars() -> Any:
    return load_extra("polars", "tables are read and written with Polars", "tables")


def zstandard() -> Any:
    return load_extra("zstandard", ".zst files need zstandard", "tables")


def load_svmlight(stream: Any) -> Any:
    from sklearn.datasets import load_svmlight_file

    return load_svmlight_file(stream)
