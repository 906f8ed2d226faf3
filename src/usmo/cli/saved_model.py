"""Commands that use a saved model: predict, inspect, report."""

from __future__ import annotations

from typing import Any

import click

from usmo.cli.options import SPEECH, Speech, as_rows, put_json
from usmo.cli.outputs import Outputs, check_targets


def _described(model_file: str) -> dict[str, Any]:
    """What a file says about its model."""
    from usmo.files import describe
    from usmo.io.sheet import no_file

    try:
        return describe(model_file)
    except FileNotFoundError:
        raise ValueError(no_file(model_file)) from None


def _opened(model_file: str) -> tuple[Any, dict[str, Any]]:
    """The pipeline in a file, and what is kept beside it."""
    kept = _described(model_file).get("extra") or {}
    from usmo.files import load

    model = load(model_file)
    if not hasattr(model, "named_steps") or "columns" not in model.named_steps:
        raise ValueError(
            f"{model_file} holds a model of Python arrays without the columns of a table; load it with usmo.load"
        )
    return model, kept


def _features(model: Any, aside: list[str], sheet: Any, unknown: str = "error") -> Any:
    """The numbers that the model's own preprocessing makes of a table."""
    encoder = model.named_steps["columns"].set_params(unknown=unknown)
    learnt = {record["name"] for record in encoder.columns_}
    return encoder.transform(sheet.drop([name for name in aside if name in sheet.names and name not in learnt]))


def _aside(kept: dict[str, Any]) -> list[str]:
    """Columns of the training table that were not learnt from."""
    from usmo.cli.task import set_aside

    return set_aside(kept.get("columns") or {})


UNKNOWN = click.option(
    "--unknown",
    type=click.Choice(["error", "ignore"]),
    default="error",
    show_default=True,
    help="A category that was not in the training table: stop, or take it for no category.",
)


@click.command(epilog="\b\nExample: usmo predict bank.usmo new.csv --output scores.csv")
@click.argument("model_file", metavar="MODEL")
@click.argument("data")
@click.option("--id-column", help="A column that names the rows; the training table's by default.")
@click.option("--format", "kind", help="Format of DATA; else by file name.")
@click.option("--output", default="-", show_default=True, help="File for the scores.")
@UNKNOWN
@SPEECH
def predict(
    model_file: str, data: str, id_column: str | None, kind: str | None, output: str, unknown: str, as_json: bool,
    quiet: bool, dry_run: bool,
) -> None:  # fmt: skip
    """Score the rows of DATA with a saved MODEL, in the order of the table."""
    check_targets([model_file, data], {}, output)
    from usmo.cli.task import row_names, scores
    from usmo.io import TableError, need_column, read, write

    with Speech(quiet) as speech, Outputs() as outputs:
        model, kept = _opened(model_file)
        named = id_column or (kept.get("columns") or {}).get("id")
        aside = list(dict.fromkeys([*_aside(kept), *([named] if named else [])]))
        sheet = read(data, format=kind, text=aside)
        if id_column is not None:
            need_column(sheet, id_column, "--id-column")
        ids = row_names(sheet, named if named in sheet.names else None)
        try:
            X = _features(model, aside, sheet, unknown)
        except TableError as error:
            raise TableError(str(error).replace("unknown='ignore'", "--unknown ignore")) from None
        if dry_run:
            put_json({"would": "predict", "rows": sheet.n_rows, "features": int(X.shape[1]), "output": output})
            return
        decision, columns = scores(model.named_steps["model"], X)
        table = {"id": ids, **columns}
        speech.say(f"{int((decision > 0).sum())} of {len(ids)} rows are taken for positive")
        if output != "-":
            with outputs.file(output) as place:
                write(table, place)
        outputs.put()
        if as_json:
            put_json({"rows": as_rows(table)})
        elif output == "-":
            write(table, "-")


@click.command(epilog="\b\nExample: usmo inspect bank.usmo --json")
@click.argument("model_file", metavar="MODEL")
@click.option("--json", "as_json", is_flag=True, help="The result as JSON on stdout.")
def inspect(model_file: str, as_json: bool) -> None:
    """Show what is in a MODEL file: parameters, certificate, training data, without building the model."""
    found = _described(model_file)
    if as_json:
        put_json(found)
        return
    for line in _lines(found, ""):
        click.echo(line)


def _lines(value: Any, indent: str) -> list[str]:
    out = []
    for name, part in value.items():
        if isinstance(part, dict) and part:
            out += [f"{indent}{name}:", *_lines(part, indent + "  ")]
        else:
            text = str(part)
            out.append(f"{indent}{name}: {text if len(text) <= 200 else text[:200] + '…'}")
    return out


@click.command(epilog="\b\nExample: usmo report bank.usmo bank.csv --output out.html")
@click.argument("model_file", metavar="MODEL")
@click.argument("data")
@click.option("--output", required=True, help="File for the page.")
@click.option("--format", "kind", help="Format of DATA; else by file name.")
@click.option("--top", type=click.IntRange(1), default=100, show_default=True, help="Rows of the ranking shown.")
@SPEECH
def report(
    model_file: str, data: str, output: str, kind: str | None, top: int, as_json: bool, quiet: bool, dry_run: bool
) -> None:
    """Write the report page of a saved MODEL on the table DATA that it was trained on."""
    check_targets([model_file, data], {"--output": output})
    from usmo import report as page
    from usmo.cli.task import row_names
    from usmo.files import fingerprint
    from usmo.io import labels, need_column, read

    with Speech(quiet) as speech, Outputs() as outputs:
        model, kept = _opened(model_file)
        columns = kept.get("columns") or {}
        if "label" not in columns:
            raise ValueError(f"{model_file} does not say which column holds the labels; save it with usmo fit")
        sheet = read(data, format=kind, text=_aside(kept))
        need_column(sheet, columns["label"], "the model's label column")
        known = labels(sheet, columns["label"], columns["positive"])
        ids = row_names(sheet, columns.get("id"))
        X = _features(model, _aside(kept), sheet)
        if dry_run:
            put_json({"would": "report", "rows": len(known), "output": output})
            return
        mark = fingerprint(X, known.astype(int))
        if mark != kept.get("training"):
            speech.say("note: the table is not the one that the model was trained on")
        with outputs.file(output) as place:
            page.write(
                place, model=model.named_steps["model"], X=X, known=known, ids=ids,
                source="standard input" if data == "-" else data, columns=model.named_steps["columns"].summary(),
                names=model.named_steps["columns"].get_feature_names_out(), parameters=kept.get("options"),
                top=top, fingerprint=mark,
            )  # fmt: skip
        outputs.put()
        put_json({"report": output}) if as_json else click.echo(output)
