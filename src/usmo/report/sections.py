"""The sections of the page: the heading and the values of each one's template, ``templates/<name>.html``."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

import numpy as np

from usmo.estimators.counts import count_marked
from usmo.fitting.certify import meets_tolerance
from usmo.metrics import pu_f1, pu_precision, pu_recall, pu_roc_auc
from usmo.report import figures
from usmo.report.context import ReportContext
from usmo.report.doubts import doubts, held_out_quality, share_of_unlabelled
from usmo.report.ranking_table import ranking_rows, score_decimals
from usmo.report.refits import FEWEST, ROWS
from usmo.system.version import __version__
from usmo.system.words import quantity

Section = tuple[str, dict[str, Any]]

_MANY = 0.15
"""Share of the known positives with f ≤ 0 above which the page calls the classes overlapping, not the rows odd."""

_SHOWN = 20
"""Columns listed among those that matter."""

_CLEAR = 0.002
"""Loss of AUC from which a column is said to matter."""

_OTHER_TABLE = (
    "The model was fitted on another table than this one. Share of positives, threshold and probabilities come from "
    "that table, and are right here only if the positives have the same share. How well it finds positives here was "
    "not tried."
)

_MEASURES = (
    ("Found (recall)", "share of all positives that are marked", pu_recall),
    ("Right (precision)", "share of the marked unlabelled rows that are positive", pu_precision),
    ("F1", "both together, 1 is perfect", pu_f1),
    ("Order (AUC)", "chance that a positive ranks above a negative", pu_roc_auc),
)


def learnt(context: ReportContext) -> Section:
    counts, ends = context.counts, context.interval
    expected = counts.expected
    low, high = (expected, expected) if ends is None else (context.expected(end) for end in ends)
    return "What was learnt", {
        "n_positives": counts.positives,
        "n_unlabelled": counts.unlabelled,
        "n_negatives": counts.negatives,
        "n_marked": counts.marked,
        "expected": expected,
        "low": low,
        "high": high,
        "estimated": context.model.prior == "estimate",
        "other_table": context.other_table,
        "fewest": FEWEST,
        "propensity": getattr(context.model, "propensity_", None),
        "propensity_model": getattr(context.model, "propensity_model_", None),
        "propensity_names": _propensity_names(context),
        "quality": _quality(context),
        "doubts": [_OTHER_TABLE]
        if context.other_table
        else doubts(
            context.model, context.f, counts, held_out_quality(context.model, context.quality), context.at_random
        ),
        "at_random": context.at_random,
        "ignored": context.ignored,
    }


def _propensity_names(context: ReportContext) -> list[str]:
    """The columns that an estimated propensity depends on; empty if it depends on the score, or was not estimated."""
    found = getattr(context.model, "propensity_model_", None)
    if found is None:
        return []
    if not context.groups:
        return [context.column_name(column) for column in found.columns.tolist()]
    return [name for name, own in context.groups.items() if np.isin(found.columns, own).any()]


def _quality(context: ReportContext) -> dict[str, Any] | None:
    """Measures on held-out rows, and their range over the interval of the prior."""
    held = context.quality
    if held is None:
        return None

    used = held.labels >= 0  # known negatives are rarely a random sample
    y, f = held.labels[used], held.f[used]

    def over(measure: Callable[..., float], priors: Iterable[float]) -> list[float]:
        shares = (share_of_unlabelled(prior, held.labels, context.scenario) for prior in priors)
        return [measure(y, f, prior=share) for share in shares]

    return {
        "n_positives": int(np.count_nonzero(held.labels == 1)),
        "n_marked": count_marked(held.f[held.labels == 1]),
        "folds": held.folds,
        "sampled": ROWS if held.sampled else 0,
        "grouped": held.grouped,
        "measures": [
            {
                "name": name,
                "meaning": meaning,
                "value": over(measure, [context.prior])[0],
                "range": over(measure, context.interval or ()),
                "fixed": measure is pu_recall,
            }
            for name, meaning, measure in _MEASURES
        ],
    }


def scores(context: ReportContext) -> Section:
    rows = context.positives[np.argsort(context.f[context.positives], kind="stable")]
    missed = rows[context.f[rows] <= 0]
    return "How the scores are spread", {
        "histogram": figures.histogram(context),
        "n_missed": len(missed),
        "missed": [(context.identity(int(row)), float(context.f[row])) for row in missed[:5]],
        "share_missed": len(missed) / len(rows),
        "many_missed": len(missed) > _MANY * len(rows),
    }


def rows(context: ReportContext) -> Section:
    return f"The first {quantity(len(context.listed), 'row')}", {
        "rows": ranking_rows(context),
        "decimals": score_decimals(context.f[context.listed]),
        "file": _link(context.ranking_file),
    }


def _link(path: str) -> str:
    """A relative link to a file; "./" keeps a name from being taken for the scheme of an address."""
    return f"./{quote(path)}" if path else ""


def matter(context: ReportContext) -> Section:
    """Which columns of the table matter: what shuffling each costs, and its typical values in P and in U."""
    lost = context.lost
    if lost is None:
        return "Which columns matter", {"lines": []}
    mean = lost.mean(axis=0)
    error = lost.std(axis=0, ddof=1) / np.sqrt(len(lost)) if len(lost) > 1 else np.zeros(len(mean))
    names, scale = list(context.groups), max(float(mean.max()), 1e-12)
    order = np.argsort(-mean, kind="stable")
    return "Which columns matter", {
        "held_out": context.quality is not None,
        "n_columns": len(names),
        "lines": [
            {
                "name": names[j],
                "lost": float(mean[j]),
                "bar": round(100 * max(0.0, float(mean[j])) / scale),
                "matters": bool(mean[j] > 2.0 * error[j] and mean[j] > _CLEAR),
                "positive": context.typical(names[j], context.positives),
                "unlabelled": context.typical(names[j], context.unlabelled),
            }
            for j in order[:_SHOWN]
        ],
    }


def prior(context: ReportContext) -> Section:
    """What another prior would change, as a picture and a table."""
    heading, refits = "If the share of positives were different", context.sensitivity
    if refits is None:
        return heading, {"refits": None}
    priors, marked = np.asarray(refits.priors, dtype=np.float64), np.asarray(refits.positives)
    kept = np.round(np.asarray(refits.overlap) * refits.top).astype(int)
    counted, values = "Rows marked", marked
    if context.marks_prior:  # then the number marked is π·n by definition
        counted, values = f"Rows that stay among the first {quantity(refits.top)}", kept
    return heading, {
        "refits": refits,
        "sampled": getattr(refits, "sampled", False),
        "marked": marked,
        "kept": kept,
        "counted": counted,
        "plot": figures.prior_curve(context, priors, values, counted),
        "used": int(np.argmin(np.abs(priors - context.prior))),
        "lines": [
            (float(value), context.expected(float(value)), int(m), int(k))
            for value, m, k in zip(priors, marked, kept, strict=True)
        ],
    }


def check(context: ReportContext) -> Section:
    """The certificate."""
    model = context.model
    certificate, tol = getattr(model, "certificate_", None), float(model.tol)
    within = certificate is not None and certificate.kkt_violation <= 1.001 * tol
    return "Is the result computed correctly?", {
        "certificate": certificate,
        "gap": None if certificate is None else max(0.0, float(certificate.relative_gap)),
        "tol": tol,
        "within": within,
        "accepted": within
        or (certificate is not None and meets_tolerance(certificate, certificate.kkt_violation, tol)),
        "approximation": getattr(model, "approximation_", None),
    }


def appendix(context: ReportContext) -> Section:
    """The course of the fit and the choice of λ."""
    work, course = figures.convergence(context)
    return "Appendix", {"work": work, "course": course, "selection": figures.selection(context)}


def repeat(context: ReportContext) -> Section:
    """Columns, parameters, lines of code, versions and the fingerprint of the data."""
    model, (n, d) = context.model, context.table.shape
    fit = "# fitted on another table than X" if context.other_table else "model.fit(X, known)"
    return "How to repeat this", {
        "command": str(context.parameters.get("command", "")),
        "code": f"from usmo import {type(model).__name__}\n\n"
        f"# X: the encoded table, {n} × {d}; known: 1 known positive, 0 unlabelled, -1 known negative\n"
        f"model = {model.__repr__(N_CHAR_MAX=10_000)}\n{fit}\nscores = model.decision_function(X)",
        "asked": {str(name): value for name, value in context.parameters.items() if name != "command"},
        "parameters": [(name, repr(value)) for name, value in sorted(model.get_params(deep=False).items())],
        "fingerprint": _fingerprint_lines(context.fingerprint),
        "versions": {
            "usmo": __version__,
            "Python": platform.python_version(),
            **{name: version(name) for name in ("NumPy", "SciPy", "scikit-learn", "Numba")},
        },
    }


def _fingerprint_lines(fingerprint: Any) -> list[tuple[str, Any]]:
    if isinstance(fingerprint, str):
        return [("fingerprint", fingerprint)]
    return [
        (str(name).replace("_", " "), value)
        for name, value in fingerprint.items()
        if value is not None and not isinstance(value, list | tuple | dict)
    ]


SECTIONS: dict[str, Callable[[ReportContext], Section]] = {
    "learnt": learnt, "rows": rows, "matter": matter, "scores": scores, "prior": prior, "check": check,
    "repeat": repeat, "appendix": appendix,
}  # fmt: skip
"""The sections by name, in the order of the page; the name is also the section's anchor."""
