"""Tables in files, and results out: CSV, TSV, Parquet, Feather, JSON lines, ``.npz``, svmlight, standard input.

``read`` gives a ``Sheet``: named columns, either a Polars data frame or a numeric matrix. Text becomes numbers
where the column holds numbers; whatever would silently be read wrong is a ``TableError`` of one line that says
what to do.

Polars reads and writes, from the extra ``usmo[tables]``, imported at the first table. The choice, on a CSV file of
1,000,000 rows and ten columns (100 MB) with 2 cores, time and peak memory by `python -m benchmarks.reading`:

    newest versions         Polars 2.1    0.45 s  262 MB    pandas 3.1    0.36 s  265 MB  (pyarrow engine 2.0 s)
    newest on Python 3.10   Polars 1.31   0.40 s  242 MB    pandas 2.3    1.51 s  358 MB  (pyarrow engine 2.1 s)

Level on new versions of Python, Polars is ahead on the oldest one that is supported, and reads Parquet and Feather
without a second package. With the checks made here ``read`` takes 1.4 s and 519 MB, 189 MB of them for imports.
"""

from __future__ import annotations

from usmo.io.errors import TableError
from usmo.io.numerals import MISSING, MIXED, mostly_numbers, parse_numbers
from usmo.io.reading import read
from usmo.io.sheet import Sheet, labels, need_column, no_column
from usmo.io.writing import write

__all__ = [
    "MISSING", "MIXED", "Sheet", "TableError", "labels", "mostly_numbers", "need_column", "no_column",
    "parse_numbers", "read", "write",
]  # fmt: skip
