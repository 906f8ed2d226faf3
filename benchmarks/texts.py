"""Several text columns in one table: python -m benchmarks.texts [--draws 10] [--lam 0.01]   (USMO_DATA set)

AUC of LinearPUSVC on the documents that are not known, for 5 and 20 known ones of three collections. Titles and
abstracts only; the true share of relevant documents is given.

separate           a vocabulary for each text column, each with rows of length 1
joint              one text per row, one vocabulary
both               separate and joint side by side
joint, pairs half  the same as joint, pairs of words with half the weight: what TableEncoder does
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse
from sklearn.metrics import roc_auc_score

from benchmarks.labels import COLLECTIONS
from usmo import LinearPUSVC
from usmo.columns import TableEncoder


def matrices(name: str) -> tuple[dict[str, Any], np.ndarray]:
    """The texts encoded in each way, and which documents are relevant."""
    table = pl.read_csv(Path(os.environ["USMO_DATA"]) / "text" / f"{name}.csv.gz")
    relevant = (table["relevant"] == "yes").to_numpy()
    apart = sparse.hstack([encoded(table.select(column), 1.0) for column in ("title", "abstract")], format="csr")
    joint = encoded(table.select("title", "abstract"), 1.0)
    found = {
        "separate": apart,
        "joint": joint,
        "both": sparse.hstack([apart, joint], format="csr"),
        "joint, pairs half": encoded(table.select("title", "abstract"), 0.5),
    }
    return found, relevant


def encoded(table: Any, pair_weight: float) -> Any:
    """The text columns as one text, with this weight of pairs of words."""
    encoder = TableEncoder(text_columns=table.columns).fit(table)
    for schema in encoder.columns_:
        schema["pair_weight"] = pair_weight
    return encoder.transform(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--lam", type=float, default=0.01)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = {name: matrices(name) for name in COLLECTIONS}
    for known in (5, 20):
        print(f"{known} known documents, {args.draws} draws: AUC on {', '.join(COLLECTIONS)}, mean")
        for way in tables[COLLECTIONS[0]][0]:
            means = []
            for found, relevant in tables.values():
                X, values = found[way], []
                for draw in range(args.draws):
                    labels = np.zeros(len(relevant), dtype=int)
                    rows = np.random.default_rng(draw).choice(np.flatnonzero(relevant), known, replace=False)
                    labels[rows] = 1
                    rest = labels == 0
                    model = LinearPUSVC(float(relevant[rest].mean()), lam=args.lam).fit(X, labels)
                    values.append(roc_auc_score(relevant[rest], model.decision_function(X)[rest]))
                means.append(float(np.mean(values)))
            shown = "  ".join(f"{value:.3f}" for value in means)
            print(f"  {way:20s} {shown}  {np.mean(means):.4f}", flush=True)


if __name__ == "__main__":
    main()
