"""``--propensity estimate`` and ``--propensity-columns``: which columns of X they mean, and the result in words."""

from __future__ import annotations

from typing import Any

import click

from usmo.cli.features import feature_columns
from usmo.cli.task import Task
from usmo.columns import TableEncoder
from usmo.fitting.propensity import Propensity, refuse_many
from usmo.io import TableError, need_column

_REFUSED = {"text": "text", "vector": "vectors"}
"""What columns hold that are encoded as too many columns for a propensity, by their kind."""


def with_propensity(options: dict[str, Any], task: Task) -> dict[str, Any]:
    """The options of the classifier, with the names of --propensity-columns as numbers of columns of X."""
    asked, option = options["propensity_columns"], "--propensity-columns"
    if asked is None and options["propensity"] is None:
        return options
    if task.propensity is not None:
        given = option if asked is not None else "--propensity"
        raise click.BadParameter("does not go with --propensity-column, which gives it", param_hint=given)
    if asked is None:
        return options
    features = feature_columns(task.encoder)
    refused = {name: kind for kind in _REFUSED for name in task.encoder.named(kind)}
    columns: list[int] = []
    for name in dict.fromkeys(name.strip() for name in asked.split(",") if name.strip()):
        need_column(task.sheet, name, option)
        if name in refused:
            raise TableError(
                f"{option}: column {name!r} holds {_REFUSED[refused[name]]}; propensities are functions of numbers, "
                "dates and categories"
            )
        own = [place for place, feature in enumerate(features) if feature == name]
        if not own:
            raise TableError(f"{option}: column {name!r} is not learnt from, so nothing can be said about it")
        columns += own
    if not columns:
        raise click.BadParameter(f"must name columns of the table, got {asked!r}", param_hint=option)
    refuse_many(columns)
    return {**options, "propensity": "estimate", "propensity_columns": columns}


def propensity_sentences(model: Any, encoder: TableEncoder) -> list[str]:
    """What an estimated propensity assumes, and what was found."""
    found: Propensity | None = getattr(model, "propensity_model_", None)
    if found is None:
        return []
    features = feature_columns(encoder)
    names = dict.fromkeys(features[place] for place in found.columns.tolist())
    what = f"the columns {', '.join(names)}" if len(names) > 1 else f"the column {', '.join(names)}"
    of = what if names else "the score, and increasing with it"
    low, high = model.propensity_
    assumed = f"propensity: assumed to be a logistic function of {of}; its level comes from the prior"
    if model.prior == "estimate":
        assumed += (
            ", which was estimated as if labels were at random: where they are not, it tells little. Give the share if "
            "you know it (--prior)"
        )
    if found.is_constant:
        found_level = f"With this prior it is not found to differ: {high:.2g} for all known positives"
        return [f"{assumed}. {found_level}"]
    return [
        f"{assumed}. Known positives had a chance between {low:.2g} and {high:.2g} to be known (log evidence against "
        f"labels at random {found.gain:.1f})"
    ]
