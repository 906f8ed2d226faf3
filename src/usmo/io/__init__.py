"""Tables read from files and written to files: CSV, workbooks, Parquet, JSON lines, ``.npz``, databases and more.

``read`` returns a ``Sheet``: named columns, either a Polars data frame or a numeric matrix. A text column that holds
plain numbers becomes a column of numbers; ``infer_types`` recognises other numbers and dates. ``Sheet.remarks`` says
what was decided. A table that could silently be read wrong raises a ``TableError``, one line that says what to do.

Polars, from the extra ``usmo-learn[tables]``, reads and writes. It is chosen by these times and peak memories for a
CSV file of 1,000,000 rows and ten columns (100 MB) on 2 cores, measured by `python -m benchmarks.reading`:

    newest versions         Polars 2.1    0.45 s  262 MB    pandas 3.1    0.36 s  265 MB  (pyarrow engine 2.0 s)
    older, on Python 3.10   Polars 1.31   0.40 s  242 MB    pandas 2.3    1.51 s  358 MB  (pyarrow engine 2.1 s)

The two are equal on new versions. Polars is faster on older ones, and reads Parquet and Feather without a second
package. ``read`` with all its checks takes 1.4 s and 519 MB, of which imports are 189 MB.
"""

from __future__ import annotations

from usmo.io.errors import TableError, no_column
from usmo.io.infer_types import mostly_numbers
from usmo.io.labels import labels
from usmo.io.parsing import MISSING, parse_numbers
from usmo.io.reading import read
from usmo.io.sheet import Sheet, need_column
from usmo.io.writing import write

__all__ = [
    "MISSING", "Sheet", "TableError", "labels", "mostly_numbers", "need_column", "no_column",
    "parse_numbers", "read", "write",
]  # fmt: skip
