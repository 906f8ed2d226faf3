"""The report: one self-contained HTML page about a fitted model, its ranking and how far to trust it::

    write("out.html", model=model, X=X, known=known, ids=ids, source="data.csv")

The page loads nothing, opens from a file, and holds all its pictures as SVG. ``sections`` computes the values of the
templates in ``templates/``; Jinja2 (extra ``tables``) fills them in and escapes every text.
"""

from usmo.report.page import build, write

__all__ = ["build", "write"]
