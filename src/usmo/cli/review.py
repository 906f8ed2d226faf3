"""``usmo review``: the page on which the rows of a table are reviewed."""

from __future__ import annotations

import os
from typing import Any

import click

from usmo.cli import interrupts
from usmo.cli.features import encoder_of, feature_sheet
from usmo.cli.messages import Messages, put_json
from usmo.cli.options import TableOptions
from usmo.cli.outputs import check_targets
from usmo.cli.task import excluded_columns, label_counts, name_rows, read_sheet, row_names
from usmo.io import labels
from usmo.io.labels import label_remarks
from usmo.review import BackgroundRefit, Review, Store
from usmo.review.fingerprint import fingerprint
from usmo.system.extras import load_extra
from usmo.system.words import quantity

_NEEDS = "usmo review needs Starlette, uvicorn and Jinja2"

_REMOTE = (
    "the page can be reached from other machines. What it shows and the decisions go over the network unencrypted, and "
    "whoever opens the address first is let in; ssh -L to a server on 127.0.0.1 avoids both"
)


def review(
    table: TableOptions, store: str | None, strategy: Any, random_share: float, rule: str, recall: float,
    confidence: float, host: str, port: int, allow_remote: bool, browser: bool, seed: int, as_json: bool, quiet: bool,
    dry_run: bool,
) -> None:  # fmt: skip
    """Read the table, make the first ranking, serve the page until an interrupt."""
    serving = load_extra("usmo.review_page.serving", _NEEDS, "review")
    path = _store_path(table, store)
    check_targets(table.files, {"--store": path})
    remote = not serving.is_loopback(host)
    if remote and not allow_remote:
        raise click.BadParameter(
            f"{host!r} can be reached from other machines: add --allow-remote, or take 127.0.0.1",
            param_hint="--host",
        )
    with Messages(quiet) as messages:
        sheet = read_sheet(messages, table)
        kinds = labels(sheet, table.label_column, table.positive, table.negative, options=True)
        if dry_run:
            there = "continue a review" if os.path.exists(path) else "start a review"
            put_json({"would": there, "store": path, **label_counts(kinds)})
            return
        listening = serving.bound_socket(host, port)
        features = feature_sheet(sheet, table, excluded_columns(table.roles))
        encoder = encoder_of(table).fit(features)
        table, named = name_rows(table, features, encoder)
        known = [quantity((kinds == 1).sum(), "known positive")]
        if table.negative is not None:
            known.append(quantity((kinds == -1).sum(), "known negative"))
        messages.say(f"{table.source}: {', '.join([quantity(len(kinds), 'row'), *known])}")
        for remark in label_remarks(sheet, table.label_column, table.positive, table.negative, kinds):
            messages.say(f"  {remark}")
        if named:
            messages.say(f"  {named}")
        mark = fingerprint(sheet.drop([table.label_column]), kinds)
        with Store(path, mark) as own, interrupts.calling(own.end):
            one = Review(
                features, kinds, ids=row_names(sheet, table.id_column), encoder=encoder, store=own,
                strategy=strategy, rule=rule, random_share=random_share, recall=recall, confidence=confidence,
                random_state=seed,
            )  # fmt: skip
            interrupts.set_outcome(f"all decisions are in {path}")
            messages.say(
                f"the decisions are kept in {path}, {len(own.decisions()):,} so far; Ctrl-C ends the server"
            )
            with messages.during_fit(), BackgroundRefit(one) as refit:
                hidden = [name for name in (table.label_column, table.id_column) if name is not None]
                desk = serving.Desk(one, sheet, hidden=hidden, source=table.source, refit=refit)
                if remote:
                    messages.say(_REMOTE)

                def say(address: str) -> None:
                    put_json({"address": address, "store": path}) if as_json else click.echo(address)

                serving.serve(desk, listening, host, say, browser=browser)


def _store_path(table: TableOptions, store: str | None) -> str:
    """The file of the decisions; beside the table if none is given."""
    if store is not None:
        return store
    if table.data == "-":
        raise click.BadParameter("is needed for a table from standard input", param_hint="--store")
    return f"{table.data}.review"
