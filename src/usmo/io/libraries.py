"""Optional and heavy libraries, imported with the first table that needs them: ``import usmo.io`` stays fast."""

from __future__ import annotations

import logging
from typing import Any

from usmo.system.extras import load_extra

_UNHEARD = logging.NullHandler()


def polars() -> Any:
    return load_extra("polars", "tables are read and written with Polars", "tables")


def zstandard() -> Any:
    return load_extra("zstandard", ".zst files need zstandard", "tables")


def charset_normalizer() -> Any:
    return load_extra("charset_normalizer", "texts that are not UTF-8 need charset-normalizer", "tables")


def fastexcel() -> Any:
    # without a handler of the program, Python would print its remarks on the types of columns
    logging.getLogger("fastexcel").addHandler(_UNHEARD)
    return load_extra("fastexcel", "workbooks are read with fastexcel", "tables")


def xlsxwriter() -> Any:
    return load_extra("xlsxwriter", ".xlsx files are written with XlsxWriter", "tables")


def duckdb() -> Any:
    return load_extra("duckdb", "tables of DuckDB need its package", "duckdb")


def load_svmlight(stream: Any) -> Any:
    from sklearn.datasets import load_svmlight_file

    return load_svmlight_file(stream)
