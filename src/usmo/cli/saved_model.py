"""``usmo predict``, ``usmo inspect`` and ``usmo report``: commands on a saved model."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

import usmo.report
from usmo.cli.answers import (
    beside,
    chosen_columns,
    name_columns,
    score_columns,
    share_marked,
    source_arguments,
    write_answer,
)
from usmo.cli.features import table_sheet, titles
from usmo.cli.file_kinds import need_model, need_table
from usmo.cli.messages import Messages, as_rows, command, put_json
from usmo.cli.model_summary import lines_of
from usmo.cli.outputs import Outputs, check_targets
from usmo.cli.task import excluded_columns, row_groups, row_names
from usmo.estimators.counts import count_marked
from usmo.files import describe, fingerprint, load
from usmo.io import Sheet, TableError, labels, need_column
from usmo.io.errors import no_file
from usmo.io.vectors import NAME, with_vectors
from usmo.kernels.kernel import FORESTS
from usmo.report.doubts import FEW_POSITIVES
from usmo.report.source import cells
from usmo.system.terminal import printable
from usmo.system.words import quantity


def _description(model_file: str) -> dict[str, Any]:
    need_model(model_file)
    try:
        return describe(model_file)
    except FileNotFoundError:
        raise ValueError(no_file(model_file)) from None


def _loaded(model_file: str) -> tuple[Any, dict[str, Any]]:
    """The pipeline in a file, and the values stored with it."""
    extra = _description(model_file).get("extra") or {}
    model = load(model_file)
    if not hasattr(model, "named_steps") or "columns" not in model.named_steps:
        raise ValueError(
            f"{model_file} holds a model of Python arrays without the columns of a table; load it with usmo.load"
        )
    return model, extra


def _read(
    messages: Messages, model: Any, data: str, excluded: list[str], embeddings: str | None, **reading: Any
) -> Sheet:
    """The table, its columns to be read as those of the training table, and the vectors beside it."""
    need_table(data)
    encoder = model.named_steps["columns"]
    sheet = table_sheet(messages, data, encoder.unparsed(), excluded=excluded, **reading)
    if embeddings is not None:
        return with_vectors(sheet, embeddings, reading["max_bytes"])
    if NAME in encoder.named("vector") and NAME not in sheet.names:
        raise TableError(
            f"the model has learnt from vectors beside its table: give those of {data} with --embeddings"
        )
    return sheet


def _encoded(model: Any, sheet: Sheet, excluded: list[str], unknown: str = "error") -> Any:
    """The table, encoded by the model's own preprocessing; ``excluded`` columns are dropped if it has them."""
    encoder = model.named_steps["columns"].set_params(unknown=unknown)
    learnt = {record["name"] for record in encoder.columns_}
    return encoder.transform(sheet.drop([name for name in excluded if name in sheet.names and name not in learnt]))


def predict(
    model_file: str, data: str, id_column: str | None, columns: str, embeddings: str | None, format: str | None,
    encoding: str | None, missing: tuple[str, ...], max_bytes: float | None, output: str, unknown: str, adapt: bool,
    as_json: bool, quiet: bool, dry_run: bool,
) -> None:  # fmt: skip
    """Score the rows of a table, in its order."""
    check_targets([model_file, data, embeddings], {}, {"--output": output})
    with Messages(quiet) as messages, Outputs() as outputs:
        model, extra = _loaded(model_file)
        roles = extra.get("columns") or {}
        id_name = id_column or roles.get("id")
        excluded = list(dict.fromkeys([*excluded_columns(roles), *([id_name] if id_name else [])]))
        sheet = _read(
            messages, model, data, excluded, embeddings, format=format, encoding=encoding, max_bytes=max_bytes,
            missing=[*roles.get("missing", []), *missing],
        )  # fmt: skip
        if id_column is not None:
            need_column(sheet, id_column, "--id-column")
        ids = row_names(sheet, id_name) if id_name in sheet.names else None
        names = chosen_columns(columns, sheet, roles)
        try:
            X = _encoded(model, sheet, excluded, unknown)
        except TableError as error:
            raise TableError(str(error).replace("unknown='ignore'", "--unknown ignore")) from None
        if dry_run:
            put_json({"would": "predict", "rows": sheet.n_rows, "features": int(X.shape[1]), "output": output})
            return
        classifier = model.named_steps["model"]
        if adapt:
            known = (extra.get("summary") or {}).get("known_positives")
            classifier = _adapted(messages, classifier, X, known)
        f = classifier.decision_function(X)
        rows = np.arange(sheet.n_rows)
        own = {**name_columns(rows, ids), **score_columns(classifier, f)}
        scored = beside(own, cells(sheet, names, rows))
        messages.say(share_marked(count_marked(f), len(f), "row"))
        if output != "-":
            with outputs.file(output) as stream:
                write_answer(scored, stream)
        outputs.put()
        if as_json:
            put_json({**(_mixture(classifier) if adapt else {}), "rows": as_rows(scored)})
        elif output == "-":
            write_answer(scored, "-")


def _adapted(messages: Messages, classifier: Any, X: Any, known: int | None) -> Any:
    """The classifier for the mixture of this table; ``known`` is the number of known positives in training."""
    result = classifier.adapt(X)
    low, high = result.prior_interval_
    fits = "" if not hasattr(result, "drift_") else f"; drift {result.drift_:.2f}"
    messages.say(
        f"the share of positives here is {result.prior_:.3f}, between {low:.3f} and {high:.3f} "
        f"({classifier.prior_:.3f} in training){fits}"
    )
    kernel = getattr(classifier, "kernel", "linear")
    if kernel in FORESTS and known is not None and known < FEW_POSITIVES:
        messages.say(
            f"note: the trees of the kernel {kernel} have seen the labels: with as few as "
            f"{quantity(known, 'known positive')}, the share found here is unsure"
        )
    return result


def _mixture(classifier: Any) -> dict[str, Any]:
    """What an adapted classifier says of its table, for JSON; older model files give no drift."""
    return {
        "prior": classifier.prior_,
        "prior_interval": list(classifier.prior_interval_),
        "drift": getattr(classifier, "drift_", None),
    }


def inspect(model_file: str, as_json: bool) -> None:
    """Show what is in a model file."""
    description = _description(model_file)
    if as_json:
        put_json(description)
        return
    for line in lines_of(model_file, description):
        click.echo(printable(line))


def report(
    model_file: str,
    data: str,
    output: str,
    embeddings: str | None,
    format: str | None,
    encoding: str | None,
    missing: tuple[str, ...],
    max_bytes: float | None,
    top: int,
    as_json: bool,
    quiet: bool,
    dry_run: bool,
) -> None:
    """Write the report page of a model and its training table."""
    check_targets([model_file, data, embeddings], {"--output": output})
    with Messages(quiet) as messages, Outputs() as outputs:
        model, extra = _loaded(model_file)
        roles = extra.get("columns") or {}
        if "label" not in roles:
            raise ValueError(f"{model_file} does not say which column holds the labels; save it with usmo fit")
        excluded = excluded_columns(roles)
        sheet = _read(
            messages, model, data, excluded, embeddings, format=format, encoding=encoding, max_bytes=max_bytes,
            missing=[*roles.get("missing", []), *missing],
        )  # fmt: skip
        for role in ("label", "group"):
            if roles.get(role) is not None:
                need_column(sheet, roles[role], f"the model's {role} column")
        known = labels(sheet, roles["label"], roles["positive"], roles.get("negative")).astype(int)
        ids, groups = row_names(sheet, roles.get("id")), row_groups(sheet, roles.get("group"))
        X = _encoded(model, sheet, excluded)
        if dry_run:
            put_json({"would": "report", "rows": len(known), "output": output})
            return
        mark = fingerprint(X, known)
        is_other = mark != extra.get("training")
        if is_other:
            messages.say("note: the table is not the one that the model was trained on")
        encoder = model.named_steps["columns"]
        with outputs.file(output) as stream:
            usmo.report.write(
                stream, model=model.named_steps["model"], X=X, known=known, ids=ids,
                source="standard input" if data == "-" else data, columns=encoder.summary(),
                names=encoder.get_feature_names_out(), top=top, fingerprint=mark,
                parameters={**(extra.get("options") or {}), "command": command()},
                titles=titles(sheet, encoder), words=encoder.words(), **source_arguments(sheet, encoder),
                row_groups=groups, other_table=is_other,
            )  # fmt: skip
        outputs.put()
        put_json({"report": output}) if as_json else click.echo(output)
