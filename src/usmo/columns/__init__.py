"""From the columns of a table to numbers: ``TableEncoder``.

    number, date    (x - mean) / scale, missing values at the median; dates count days since 1970-01-01
    boolean         0 or 1, missing values at the more frequent one
    category        1/√2 in the column of its value, 0 elsewhere
    missing         a column of its own, 1 where the value is missing, if the training table had missing values

1/√2 puts two rows of different category at distance 1, as far apart as true from false, or as two numbers that
differ by one standard deviation: a column of text then weighs about as much as a column of numbers, however many
categories it has. Everything that ``fit`` learns is text, numbers, lists, dicts and arrays, so that it can be
stored as such.
"""

from __future__ import annotations

from usmo.columns.encoder import TableEncoder

__all__ = ["TableEncoder"]
