"""The page as a whole: the sections between the head and the foot, without anything from elsewhere.

A Content-Security-Policy forbids the page everything but its own style sheet and its own script, each named by its
SHA-256: even markup that got past the escaping could neither run nor call out.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from usmo.report import refits, sections
from usmo.report.context import Facts, checked, first_rows
from usmo.report.formatting import esc
from usmo.system.atomic import write_whole


def build(
    *,
    model: Any,
    X: Any,
    known: Any,
    ids: Sequence[Any] | None = None,
    source: str = "",
    title: str | None = None,
    columns: Sequence[str] = (),
    names: Sequence[str] | None = None,
    parameters: Mapping[str, Any] | None = None,
    top: int = 100,
    fingerprint: Any = None,
    sensitivity: Any = "auto",
) -> str:
    """The report as HTML. The same model and rows give the same page.

    Parameters
    ----------
    model : PUSVC or LinearPUSVC
        Fitted on X and ``known``.
    X : array or CSR matrix
        The numbers that the model was fitted on, all rows; the kernel matrix if it is precomputed.
    known : array of bool
        True for the known positives, False for the unlabelled rows.
    ids : sequence, optional
        A text per row; without it rows are numbered from 1.
    source, title : str
        Where the rows come from, and the heading.
    columns : sequence of str
        Lines on what each column of the source was taken for.
    names : sequence of str, optional
        Names of the columns of X.
    parameters : mapping, optional
        What was asked for, shown beside the model's own parameters. An entry "command" is shown as the command
        that makes this page again.
    top : int
        Unlabelled rows in the list.
    fingerprint : mapping or str, optional
        Of the data; by default that of X and ``known`` (:func:`usmo.files.fingerprint`).
    sensitivity : "auto", None or object
        What another prior would change: "auto" fits the model again for five of them, None leaves it out, an
        object with ``priors``, ``positives``, ``overlap`` and ``top`` (:class:`usmo.plots.SensitivityDisplay` is
        one) is shown. None also leaves out the quality on rows held back, which takes further fits too.
    """
    table, mask, ids, names = checked(model, X, known, ids, names, top, sensitivity)
    f = np.asarray(model.decision_function(X), dtype=np.float64)
    if fingerprint is None:
        from usmo.files import fingerprint as digest

        fingerprint = digest(table, mask)
    probability = None
    if hasattr(model, "predict_proba"):
        shown = X.iloc[first_rows(f, mask, top)] if hasattr(X, "iloc") else table[first_rows(f, mask, top)]
        probability = np.asarray(model.predict_proba(shown), dtype=np.float64)[:, 1]
    further = sensitivity
    if isinstance(sensitivity, str):
        further = refits.sensitivity(model, table, mask, f, top=top)
    facts = Facts(
        model=model,
        table=table,
        known=mask,
        f=f,
        ids=ids,
        names=names,
        source=source,
        title=title or (f"Likely positives in {Path(source).name}" if source else "Likely positives"),
        columns=list(columns),
        parameters=dict(parameters or {}),
        top=int(top),
        fingerprint=fingerprint,
        quality=None if sensitivity is None else refits.held_out(model, table, mask),
        sensitivity=further,
        probability=probability,
    )
    return _page(facts)


def write(path: str | os.PathLike[str], **kw: Any) -> None:
    """Write the report of :func:`build` to a file, which holds the whole page or what it held before."""
    target = Path(path)
    if target.is_dir() or not target.parent.is_dir():
        raise ValueError(f"path must name a file in an existing folder, got {str(target)!r}")
    write_whole(target, build(**kw).encode("utf-8"))


def _page(facts: Facts) -> str:
    style, script = _part("style.css"), _part("page.js")
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = [(name, heading, body) for name, heading, body in sections.all_sections(facts) if body]
    links = "".join(f'<li><a href="#{name}">{esc(heading)}</a></li>' for name, heading, _ in parts)
    body = "".join(
        f'<section id="{name}" aria-labelledby="{name}-h"><h2 id="{name}-h">{esc(heading)}</h2>{body}</section>\n'
        for name, heading, body in parts
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{esc(facts.title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">Skip to the content</a>\n'
        f"{sections.header(facts)}"
        f'<nav aria-label="Sections"><ol>{links}</ol></nav>\n'
        f'<main id="main">\n{body}</main>\n{sections.footer()}'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _part(name: str) -> str:
    return files("usmo.report").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
