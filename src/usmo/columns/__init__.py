"""Columns of a table as features of a classifier: ``TableEncoder``. It makes of a column::

    number, date    (x - mean) / scale, missing values at the median; dates are days since 1970-01-01; numbers with
                    heavy tails on a log scale first (:mod:`usmo.columns.tails`)
    clock           of dates whose times of day differ: two more output columns, the hour of the day and the day of the
                    week, standardised in the same way (:mod:`usmo.columns.clock`)
    boolean         0 or 1, missing values at the more frequent one
    category        one output column per value: 1/√2 in the column of the row's value, 0 in the others
    missing         one more output column, 1 where the value is missing (1/√2 for a category), if the training
                    table had missing values in the column
    text            one output column per word and pair of words, weighted by TF-IDF (:mod:`usmo.columns.words`)
    vector          its numbers, standardised (:mod:`usmo.columns.vectors`)

1/√2 puts two rows of different categories at distance 1, the distance of true from false, and of two numbers one
standard deviation apart: a text column weighs about as much as a numeric one, for any number of categories.
Beside text or vectors all other columns are scaled together (:mod:`usmo.columns.blocks`).
``fit`` stores text, numbers, lists, dicts and arrays only, which a model file can hold.
"""

from __future__ import annotations

from usmo.columns.encoder import TableEncoder

__all__ = ["TableEncoder"]
