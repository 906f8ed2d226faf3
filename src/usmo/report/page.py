"""The page: its arguments, its templates, and the policy that keeps it to itself.

A Content-Security-Policy forbids the page everything but its own style sheet and its own script, each named by its
SHA-256: markup that got past the escaping could neither run nor load anything.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO

from usmo.core.groups import group_codes
from usmo.estimators.counts import Counts
from usmo.files import fingerprint as fingerprint_of
from usmo.report import refits
from usmo.report.context import (
    ReportContext,
    check_model,
    check_options,
    checked_table,
    checked_texts,
    checked_values,
)  # fmt: skip
from usmo.report.formatting import FILTERS, clean
from usmo.report.influence import tried_columns
from usmo.report.ranking import Ranking
from usmo.report.sections import SECTIONS
from usmo.report.source import SourceColumns
from usmo.system.atomic import write_whole
from usmo.system.extras import load_extra
from usmo.system.version import __version__


def build(
    *, model: Any, X: Any, known: Any, ids: Sequence[Any] | None = None, source: str = "",
    title: str | None = None, columns: Sequence[str] = (), names: Sequence[str] | None = None,
    parameters: Mapping[str, Any] | None = None, top: int = 100, fingerprint: Any = None,
    sensitivity: Any = "auto", f: Any = None, titles: Sequence[Any] | None = None,
    words: Sequence[str] | None = None, groups: Sequence[str] | None = None, cells: Any = None, encoder: Any = None,
    ignored: Sequence[str] = (), made: str | None = None, ranking_file: str = "", row_groups: Any = None,
    at_random: Any = "auto", quality: Any = "auto", other_table: bool = False,
) -> str:  # fmt: skip
    """The report as HTML. The same model and rows give the same page, but for its date.

    Parameters
    ----------
    model : PUSVC or LinearPUSVC
        Fitted on X and ``known``.
    X : array or CSR matrix
        The numbers that the model was fitted on, all rows; the kernel matrix if it is precomputed.
    known : array of bool or int
        True or 1 for the known positives, False or 0 for the unlabelled rows, -1 for the known negatives.
    ids : sequence, optional
        A text per row; without it rows are numbered from 1.
    source, title : str
        Where the rows come from, and the heading.
    columns : sequence of str
        Lines on how each column of the source was encoded.
    names : sequence of str, optional
        Names of the columns of X.
    parameters : mapping, optional
        Options of the user, shown beside the model's own parameters. An entry "command" is shown as the command
        that makes this page again.
    top : int
        Unlabelled rows in the ranking table, which shows 300 at most.
    fingerprint : mapping or str, optional
        Of the data; by default that of X and ``known`` (:func:`usmo.files.fingerprint`).
    sensitivity : "auto", None or object
        What another prior would change: "auto" fits the model again for five priors, None leaves the comparison
        out, an object with ``priors``, ``positives``, ``overlap`` and ``top`` (such as
        :class:`usmo.plots.SensitivityDisplay`) is shown. None also leaves out the quality on held-out rows, which
        takes further fits too.
    f : array, optional
        The model's decision values of all rows; computed if not given.
    titles : sequence, optional
        A text per row that says what it is, such as the title of a document; shown below its id.
    words : sequence of str, optional
        The word of each column of X, for a table of text; columns may have equal words. Of a linear model, the
        page then shows the words that speak for and against each row.
    groups : sequence of str, optional
        The column of the table that each column of X encodes; by default ``names``. The page tells which of them
        matter, and what each adds to the score of a row.
    cells : Sheet or mapping of str to sequence, optional
        The columns of the table, a value for each row, to be shown as they are.
    encoder : TableEncoder, optional
        The encoder that reads the sheet ``cells``: it says which columns are numbers, dates and categories.
    ignored : sequence of str
        Lines on the columns that were not learnt from, and why.
    made : str, optional
        When the page was made; by default today.
    ranking_file : str
        A path, relative to the page, of a file with the ranking.
    row_groups : sequence, optional
        The group of each row: rows of one group share a fold where rows are held out.
    at_random : "auto", None or ScarTest
        The test of labels at random (:func:`usmo.priors.scar_test`): made if "auto" and ``sensitivity`` is not None.
    quality : "auto", None or HeldOut
        Decision values of held-out rows (:func:`usmo.report.refits.held_out`): computed if "auto" and
        ``sensitivity`` is not None.
    other_table : bool
        Whether the model was fitted on other rows than these. The page then says so, and makes no further fits.
    """
    environment = templates()
    if other_table:
        sensitivity = at_random = quality = None
    check_model(model)
    check_options(top, sensitivity)
    table, labels = checked_table(X, known)
    ids = checked_texts("ids", ids, table.shape[0])
    names = checked_texts("names", getattr(X, "columns", None) if names is None else names, table.shape[1])
    f = checked_values(model.decision_function(X) if f is None else f, table.shape[0])
    tried = checked_texts("groups", names if groups is None else groups, table.shape[1])
    by_column = {} if words is not None else tried_columns(model, table, tried)
    counts, is_auto = Counts.of(model, f, labels), isinstance(sensitivity, str)
    if isinstance(at_random, str):
        at_random = (
            None if sensitivity is None else refits.labels_test(model, table, labels, names, row_groups=row_groups)
        )
    if isinstance(quality, str):
        group_of = group_codes(row_groups, table.shape[0])
        quality = (
            None if sensitivity is None else refits.held_out(model, table, labels, by_column, row_groups=group_of)
        )
    context = ReportContext(
        model, table, Ranking(f, labels), counts, ids, names,
        checked_texts("titles", titles, table.shape[0]), checked_texts("words", words, table.shape[1]), str(source),
        str(title or (f"Likely positives in {Path(source).name}" if source else "Likely positives")),
        list(columns), dict(parameters or {}), int(top),
        fingerprint_of(table, labels) if fingerprint is None else fingerprint,
        quality=quality,
        sensitivity=refits.sensitivity(model, table, labels, f, counts, top=top) if is_auto else sensitivity,
        groups=by_column,
        source_columns=None if cells is None else SourceColumns(cells, table.shape[0], encoder),
        ignored=[str(line) for line in ignored],
        made=str(datetime.datetime.now(datetime.timezone.utc).date()) if made is None else str(made),
        ranking_file=str(ranking_file),
        at_random=at_random,
        other_table=other_table,
    )  # fmt: skip
    return _render(context, environment)


def write(target: str | os.PathLike[str] | BinaryIO, **arguments: Any) -> None:
    """Write the report of :func:`build` to a binary stream, or to a file, which is replaced whole or not at all."""
    if hasattr(target, "write"):
        target.write(build(**arguments).encode("utf-8"))
        return
    path = Path(target)
    if path.is_dir() or not path.parent.is_dir():
        raise ValueError(f"path must name a file in an existing folder, got {str(path)!r}")
    write_whole(path, build(**arguments).encode("utf-8"))


def _render(context: ReportContext, environment: Any) -> str:
    markup = load_extra("markupsafe", "reports need Jinja2", "tables").Markup
    style, script = page_files()
    sections = []
    for name, values in SECTIONS.items():
        heading, section = values(context)
        text = environment.get_template(f"{name}.html").render(context=context, **section)
        if text.strip():
            sections.append((name, heading, markup(text)))
    page: str = environment.get_template("page.html").render(
        context=context,
        version=__version__,
        policy=content_policy(style, script),
        style=style,
        script=script,
        sections=sections,
    )
    return page


def page_files() -> tuple[Any, Any]:
    """The style sheet and the script, as markup."""
    markup = load_extra("markupsafe", "reports need Jinja2", "tables").Markup
    folder = files("usmo.report")
    style, script = (markup(folder.joinpath(name).read_text("utf-8")) for name in ("style.css", "page.js"))
    return style, script


def content_policy(style: str, script: str) -> str:
    """The Content-Security-Policy of a page with this style sheet and this script."""
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def templates(package: str = "usmo.report") -> Any:
    """The templates of a package and of the report, with automatic escaping.

    Jinja2 is loaded here, for the first page.
    """
    jinja2 = load_extra("jinja2", "reports need Jinja2", "tables")
    loader = jinja2.ChoiceLoader([jinja2.PackageLoader(name) for name in dict.fromkeys((package, "usmo.report"))])
    environment = jinja2.Environment(
        loader=loader, autoescape=True, finalize=clean, undefined=jinja2.StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters.update(FILTERS)
    return environment


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
