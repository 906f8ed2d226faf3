"""The list of unlabelled rows, highest score first, as a table that the script makes sortable and filterable."""

from __future__ import annotations

from usmo.report.context import Facts
from usmo.report.formatting import chance, count, esc, number, percent, score, user


def ranking(facts: Facts) -> str:
    """The list itself, as a table that the script makes sortable and filterable."""
    n, shown = len(facts.unlabelled), len(facts.ranked)
    heads = [
        ("rank", "Rank", "number"),
        ("id", "Row" if facts.ids is None else "Id", "text"),
        ("score", "Score", "number down"),
        *([("probability", "Probability", "number down")] if facts.probability is not None else []),
        ("decision", "Decision", "text"),
        ("why", "Nearest known positives", ""),
    ]
    body = []
    for k, row in enumerate(facts.ranked):
        f = float(facts.f[row])
        cells = [f'<td data-v="{k + 1}">{k + 1}</td>', f'<th scope="row">{user(facts.identity(int(row)))}</th>']
        cells.append(f'<td data-v="{f!r}">{score(f)}</td>')
        if facts.probability is not None:
            likely = float(facts.probability[k])
            cells.append(f'<td data-v="{likely!r}">{esc(chance(likely))}</td>')
        mark = '<span class="mark">marked</span>' if f > 0 else "not marked"
        cells.append(f"<td>{mark}</td><td>{_why(facts, k)}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    cells = [f'<th scope="col" class="c-{name}" data-sort="{kind}">{text}</th>' for name, text, kind in heads]
    rows = "Rows are numbered from 1 in the order of the table. " if facts.ids is None else ""
    whole = "all" if shown == n else f"the first {count(shown)} of"
    return (
        f"<p>These are {whole} {count(n, 'unlabelled row')}, highest score first. {rows}{_why_words(facts)}</p>"
        '<form class="tools" role="search" hidden><label for="filter">Show only rows that contain</label> '
        '<input id="filter" type="search" autocomplete="off" spellcheck="false" aria-controls="ranking">'
        f'<p id="told" role="status">{count(shown, "row")}</p></form>'
        '<div class="scroll tall" tabindex="0" role="region" aria-label="Ranking, scrollable">'
        '<table id="ranking"><caption>Unlabelled rows by score</caption>'
        f"<thead><tr>{''.join(cells)}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _why(facts: Facts, k: int) -> str:
    near = facts.neighbours[k]
    said = ", ".join(
        f'{user(facts.identity(int(row)))} <span class="far">{number(float(distance))}</span>'
        for row, distance in zip(near.rows, near.distances, strict=True)
    )
    reasons = facts.reasons[k]
    if facts.reason == "raised" and reasons:
        told = ", ".join(f"{user(facts.column_name(j))} +{number(value, 2)}" for j, value in reasons)
        return f"{said}<small>raised by {told}</small>"
    if facts.reason == "close" and reasons:
        told = ", ".join(f"{user(facts.column_name(j))} ({percent(share)})" for j, share in reasons)
        return f"{said}<small>close in {told}</small>"
    return said


def _why_words(facts: Facts) -> str:
    words = (
        "The last column names the known positives that are nearest, with their distance "
        + ("in the space of the kernel" if facts.precomputed else "over all columns, after scaling")
        + "."
    )
    if facts.reason == "raised":
        words += (
            " “Raised by” names the columns that lift the score most: what each adds beyond the average "
            "unlabelled row."
        )
    elif facts.reason == "close":
        words += (
            " “Close in” names columns in which the row is unusually close to the first of them: the percentage "
            "is the share of unlabelled rows that come as close."
        )
    if facts.probability is not None:
        words += " The probability of being positive rests on the same assumptions as the share of positives"
        flattered = not hasattr(facts.model, "selection_")
        words += ", and is somewhat too sure: the model was fitted on these rows." if flattered else "."
    return words
