"""Small tables of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from usmo.report.formatting import esc


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numeric: frozenset[int] | set[int] = frozenset(),
) -> str:
    """A small table; cells are HTML already, the first of each row is its heading."""

    def kind(k: int) -> str:
        return ' class="n"' if k in numeric else ""

    head = "".join(f'<th scope="col"{kind(k)}>{esc(text)}</th>' for k, text in enumerate(heads))
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>'
        + "".join(f"<td{kind(k)}>{cell}</td>" for k, cell in enumerate(row[1:], start=1))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{esc(caption)}, scrollable"><table>'
        f"<caption>{esc(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
