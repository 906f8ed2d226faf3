"""The report: one self-contained HTML page about a fitted model, its ranking and how far to trust it.

    write("out.html", model=model, X=X, known=known, ids=ids, source="data.csv")

The page fetches nothing, runs from a file, and carries all its pictures as SVG.
"""

from usmo.report.page import build, write

__all__ = ["build", "write"]
