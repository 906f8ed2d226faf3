"""The sections of the page, each a function from the facts to HTML."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from usmo.metrics import pu_f1, pu_precision, pu_recall, pu_roc_auc
from usmo.report import figures
from usmo.report import ranking_table as listing
from usmo.report.context import Facts
from usmo.report.formatting import count, esc, number, percent, user
from usmo.report.refits import FEWEST, ROWS
from usmo.report.tables import table


def all_sections(facts: Facts) -> list[tuple[str, str, str]]:
    """Name, heading and content; a section without content is left out."""
    return [
        ("learnt", "What was learnt", learnt(facts)),
        ("scores", "How the scores are spread", figures.scores(facts)),
        ("rows", f"The first {count(len(facts.ranked), 'row')}", listing.ranking(facts)),
        ("prior", "If the share of positives were different", prior(facts)),
        ("check", "Is the result computed right?", check(facts)),
        ("repeat", "How to repeat this", repeat(facts)),
    ]


def header(facts: Facts) -> str:
    where = f"<p>Rows from {user(facts.source)}.</p>" if facts.source else ""
    return f'<header><p class="kind">usmo report</p><h1>{user(facts.title)}</h1>{where}</header>\n'


def footer() -> str:
    return (
        "<footer><p>Made with usmo: classifiers from known positives and unlabelled rows. "
        "This page is one file and fetches nothing.</p></footer>\n"
    )


def learnt(facts: Facts) -> str:
    p, n, k = len(facts.positives), len(facts.unlabelled), facts.marked
    expected, interval = facts.expected(facts.prior), facts.interval
    cells = [
        (count(p), "known positives" if p != 1 else "known positive", ""),
        (count(n), "unlabelled rows" if n != 1 else "unlabelled row", ""),
        (count(expected), "of these expected to be positive", _range_words(facts)),
        (count(k), "marked as positive", f"{percent(k / n)} of the unlabelled"),
    ]
    figures_list = "".join(
        f"<div><dt>{label}</dt><dd>{value}</dd>" + (f'<dd class="more">{more}</dd>' if more else "") + "</div>"
        for value, label, more in cells
    )
    share = percent(expected / n)
    if interval is not None:
        low, high = (facts.expected(end) for end in interval)
        told = (
            f"<strong>Between {count(low)} and {count(high)} of the {count(n, 'unlabelled row')} are expected to "
            f"be positive</strong>, about {count(expected)} ({share}) by the best single estimate. "
            f"The decision marks {count(k)}."
        )
    else:
        low = high = expected
        origin = "estimated" if facts.model.prior == "estimate" else "given, not estimated from the rows"
        told = (
            f"<strong>About {count(expected)} of the {count(n, 'unlabelled row')} ({share}) are expected to be "
            f"positive.</strong> This share was {origin}. The decision marks {count(k)}."
        )
    return (
        f'<dl class="key">{figures_list}</dl>'
        f'<p class="lead">From {count(p, "row")} known to be positive and {count(n, "row")} of which nobody said '
        "what they are, a score was learnt: the higher, the more a row is like the known positives. Rows with a "
        "score above 0 are marked.</p>"
        f'<p class="lead">{told}{_compared(facts, low, high)}</p>'
        "<p>All of this takes the known positives for a fair sample of all positives. If they are special (only "
        "the easy cases, only one year, only one place), the numbers speak about rows like them, and the true "
        "number of positives may be larger.</p>"
        f"{quality(facts)}"
    )


def _range_words(facts: Facts) -> str:
    if facts.interval is None:
        return "by the share given" if facts.model.prior != "estimate" else ""
    low, high = (facts.expected(end) for end in facts.interval)
    return f"between {count(low)} and {count(high)}"


def _compared(facts: Facts, low: float, high: float) -> str:
    marked = facts.marked
    if facts.threshold == "prior":
        return (
            " These are the rows with the highest scores: as many as are expected, some of them wrongly, while as "
            "many positives stand further down."
        )
    if marked < round(low):
        return " That is fewer than expected: some positives look like many other rows, and stand further down."
    if marked > round(high):
        return " That is more than expected: some of the marked rows will not be positive."
    return ""


def quality(facts: Facts) -> str:
    """Measures on rows held back, and how they move with the prior."""
    title = "<h3>How well it finds positives</h3>"
    held = facts.quality
    if held is None:
        p = len(facts.positives)
        if facts.sensitivity is None and min(p, len(facts.unlabelled)) >= FEWEST:
            return ""
        return (
            f"{title}<p>Not estimated: that takes at least {FEWEST} known positives and as many unlabelled rows "
            f"to hold some of them back, and there are {count(p)} and {count(len(facts.unlabelled))}. The same "
            "rows that a model was fitted on would flatter it.</p>"
        )
    found, of = int((held.f[held.known] > 0).sum()), int(held.known.sum())
    options: dict[str, Any] = {"scenario": facts.scenario}
    rows = []
    for name, words, measure in (
        ("Found (recall)", "share of all positives that are marked", pu_recall),
        ("Right (precision)", "share of the marked rows that are positive", pu_precision),
        ("F1", "both together, 1 is perfect", pu_f1),
        ("Order (AUC)", "chance that a positive stands above a negative", pu_roc_auc),
    ):
        value = measure(held.known, held.f, prior=facts.prior, **options)
        cells = [f"{name}<small>{words}</small>", f"{value:.2f}"]
        if facts.interval is not None:
            ends = [measure(held.known, held.f, prior=_inside(end), **options) for end in facts.interval]
            same = measure is pu_recall
            cells.append("the same" if same else f"{min(ends):.2f} to {max(ends):.2f}")
        rows.append(cells)
    heads = ["Measure", "Estimate"] + (["Over the range of the share"] if facts.interval else [])
    whole = f"a random sample of {count(ROWS)} rows" if held.sampled else "the rows"
    return (
        f"{title}<p>To judge the model by rows it has not seen, {whole} were dealt into {held.folds} parts, and "
        "each part was scored by a model fitted on the others. "
        f"<strong>Of {count(of, 'known positive')} held back in this way, {count(found)} "
        f"{'was' if found == 1 else 'were'} marked.</strong> No row is known to be negative; the other measures "
        "follow from the known positives, the unlabelled rows and the share of positives, so they are estimates: "
        "1.00 means that no error is to be seen among so few rows, not that there is none.</p>"
        + table("Quality on rows held back", heads, rows, numeric={1, 2})
    )


def _inside(prior: float) -> float:
    return min(max(prior, 1e-9), 1.0 - 1e-9)


def prior(facts: Facts) -> str:
    """What another prior would change, as a picture and a table."""
    found = facts.sensitivity
    n = len(facts.unlabelled)
    if found is None:
        return (
            "<p>Not computed for this report. The share of positives moves the line between marked and not marked "
            "far more than the order of the rows.</p>"
        )
    sampled = getattr(found, "sampled", False)
    size = getattr(found, "rows", n)
    priors, marked = np.asarray(found.priors, dtype=np.float64), np.asarray(found.positives)
    kept = np.round(np.asarray(found.overlap) * found.top).astype(int)
    span = (
        "over the range of the estimate" if facts.interval else "from half to one and a half times the value given"
    )
    where = f" (all on a random sample of the rows, {count(size)} of them unlabelled)" if sampled else ""
    told = (
        f"<p>The model was fitted again with the share of positives moved {span}{where}. "
        f"<strong>Between {count(int(marked.min()))} and {count(int(marked.max()))} rows are then marked, and of "
        f"the {count(found.top, 'row')} that stand first now, at least {count(int(kept.min()))} still do. "
        "</strong>"
        + (
            "The number marked follows the share that the model is told; the order shows what really changes.</p>"
            if facts.threshold == "prior"
            else "If the first number moves much and the second little, the order is surer than the cut.</p>"
        )
    )
    own = int(np.argmin(np.abs(priors - facts.prior)))
    rows = [
        [
            percent(value) + (" (used)" if k == own else ""),
            count(_expected_in(facts, float(value), size)),
            count(int(marked[k])),
            f"{count(int(kept[k]))} of {count(found.top)}",
        ]
        for k, value in enumerate(priors)
    ]
    heads = ["Share of positives", "Expected positive", "Marked", "Still among the first"]
    shares = "The share is that among all rows, known ones included. " if facts.scenario == "censored" else ""
    return (
        told
        + figures.sensitivity(facts, priors, marked, kept, found.top)
        + (f"<p>{shares}</p>" if shares else "")
        + table("The same numbers", heads, rows, numeric={1, 2, 3})
    )


def _expected_in(facts: Facts, prior: float, size: int) -> float:
    n = len(facts.unlabelled)
    return facts.expected(prior) * (size / n)


def check(facts: Facts) -> str:
    """The certificate and the course of the fit in words."""
    model = facts.model
    proof = getattr(model, "certificate_", None)
    parts = []
    if proof is not None:
        gap = max(0.0, float(proof.relative_gap))
        tol = float(model.tol)
        reached = proof.kkt_violation <= tol * 1.001
        if proof.convex:
            parts.append(
                "<p>Fitting means finding the lowest value of an objective: errors on the rows plus a price for "
                f"complicated rules. <strong>The objective is within {percent(gap)} of the optimum.</strong> No "
                "other rule of this kind can be better by more than that. This was checked by code independent of "
                "the solver, from scores computed afresh.</p>"
            )
        else:
            parts.append(
                "<p>The kernel is not positive semidefinite, so that the objective may have several valleys. The "
                f"model lies at the bottom of one of them to within {percent(gap)}; whether it is the lowest is "
                "not known.</p>"
            )
        parts.append(
            f"<p>The largest violation of the conditions that hold at the optimum is "
            f"{number(proof.kkt_violation, 2)} in units of the score; {number(tol, 2)} was asked for"
            + (".</p>" if reached else ", so the fit ended early. Scores near 0 may still change.</p>")
        )
    nearly = getattr(model, "approximation_", None)
    if nearly is not None:
        parts.append(
            "<p>The kernel is approximated, and the statement above is about the approximate one. Compared with "
            f"an exact fit on {count(nearly.n_compared)} unlabelled rows, {percent(nearly.changed)} of the rows "
            f"change class and scores differ by {number(nearly.mean_difference, 2)} on average.</p>"
        )
    return "".join(parts) + figures.convergence(facts) + figures.selection(facts)


def repeat(facts: Facts) -> str:
    """Columns, parameters, lines of code, versions and the fingerprint of the data."""
    model, parts = facts.model, []
    asked = {str(name): value for name, value in facts.parameters.items() if name != "command"}
    if facts.columns:
        lines = "".join(f"<li>{user(line)}</li>" for line in facts.columns)
        parts.append(
            f"<h3>Columns</h3><details><summary>What {count(len(facts.columns), 'column')} "
            f"{'was' if len(facts.columns) == 1 else 'were'} taken for</summary><ul>{lines}</ul></details>"
        )
    if "command" in facts.parameters:
        parts.append(f"<h3>Command</h3>{code(str(facts.parameters['command']))}")
    call = model.__repr__(N_CHAR_MAX=10_000)
    name = type(model).__name__
    shape = f"{facts.table.shape[0]} × {facts.table.shape[1]}"
    parts.append(
        "<h3>Python</h3>"
        + code(
            f"from usmo import {name}\n\n# X: the encoded table, {shape}; known: True for the known positives\n"
            f"model = {call}\nmodel.fit(X, known)\nscores = model.decision_function(X)"
        )
    )
    rows = [[user(key), user(value)] for key, value in asked.items()]
    rows += [[esc(key), user(repr(value))] for key, value in sorted(model.get_params(deep=False).items())]
    rows.append(["prior used", number(facts.prior, 6)])
    parts.append(
        "<h3>Parameters</h3><details><summary>All parameters</summary>"
        + table("Parameters", ["Name", "Value"], rows)
        + "</details>"
    )
    parts.append("<h3>Data and versions</h3>" + table("Data and versions", ["What", "Value"], _origin(facts)))
    return "".join(parts)


def _origin(facts: Facts) -> list[list[str]]:
    import numba
    import scipy
    import sklearn

    from usmo import __version__

    found = facts.fingerprint
    if isinstance(found, str):
        rows = [["fingerprint", f"<code>{esc(found, 200)}</code>"]]
    else:
        rows = [
            [user(str(key).replace("_", " ")), f"<code>{esc(value, 200)}</code>"]
            for key, value in found.items()
            if value is not None and not isinstance(value, list | tuple | dict)
        ]
    versions = {
        "usmo": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "Numba": numba.__version__,
    }
    return rows + [[name, esc(value)] for name, value in versions.items()]


def code(text: str) -> str:
    return f'<pre tabindex="0"><code>{esc(text)}</code></pre>'
