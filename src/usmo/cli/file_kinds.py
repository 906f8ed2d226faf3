"""Tables and model files told apart, so that one given in place of the other is named as such."""

from __future__ import annotations

import os
import zipfile

from usmo.files.archive import MANIFEST
from usmo.io import TableError


def need_table(path: str) -> None:
    """Refuse a model file where a table is expected."""
    if path != "-" and os.path.isfile(path) and _is_model(path):
        raise TableError(
            f"{path} is a model file, not a table: usmo inspect {path} shows it, usmo predict {path} DATA scores rows"
        )


def need_model(path: str) -> None:
    """Refuse a table where a model file is expected."""
    if os.path.isfile(path) and not zipfile.is_zipfile(path) and _has_table_name(path):
        raise ValueError(
            f"{path} is a table, not a model file: usmo fit {path} --model FILE makes one; the model comes before the "
            "table in usmo predict MODEL DATA"
        )


def _is_model(path: str) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return MANIFEST in archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def _has_table_name(path: str) -> bool:
    endings = os.path.basename(path).lower().split(".")[1:]
    return bool({"csv", "tsv", "txt", "jsonl", "ndjson", "parquet", "feather", "svm", "svmlight"} & set(endings))
