"""Commands that fit a classifier to a table: rank and fit."""

from __future__ import annotations

from typing import Any

import click

from usmo.cli.options import LEARNING, MODEL, SPEECH, TABLE, Speech, as_rows, put_json
from usmo.cli.outputs import Outputs, check_targets


def _fitted(speech: Speech, task: Any, options: dict[str, Any]) -> Any:
    from usmo.cli.task import classifier

    model = classifier(**options, verbose=1 if speech.live else 0)
    speech.say("fitting")
    with speech.over_a_fit():
        return model.fit(task.X, task.y)


def _plan(task: Any, options: dict[str, Any], outputs: dict[str, str | None]) -> dict[str, Any]:
    return {
        "would": "fit",
        "rows": len(task.known),
        "known_positives": int(task.known.sum()),
        "columns": task.encoder.summary(),
        "features": int(task.X.shape[1]),
        **options,
        "write": {name: path for name, path in outputs.items() if path},
    }


def _stage(
    outputs: Outputs, task: Any, model: Any, model_file: str | None, report: str | None, options: dict[str, Any],
    top: int,
) -> None:  # fmt: skip
    from usmo.files import fingerprint, save

    mark = fingerprint(task.X, task.y)
    if report is not None:
        from usmo import report as page

        with outputs.file(report) as place:
            page.write(
                place, model=model, X=task.X, known=task.known, ids=task.ids, source=task.source,
                columns=task.encoder.summary(), names=task.encoder.get_feature_names_out(), parameters=options,
                top=top, fingerprint=mark,
            )  # fmt: skip
    if model_file is not None:
        from usmo.cli.task import pipeline

        extra = {"training": mark, "columns": task.columns, "source": task.source, "options": options}
        with outputs.file(model_file) as place:
            save(pipeline(task.encoder, model), place, extra=extra)


@click.command(
    epilog="\b\nExample: usmo rank bank.csv --label-column known --positive yes --id-column id --report out.html"
)
@TABLE
@LEARNING
@MODEL
@click.option("--top", type=click.IntRange(1), help="Only the first rows of the ranking.")
@click.option(
    "--output", default="-", show_default=True, help="File for the ranking: CSV, TSV, Parquet, JSON lines."
)
@click.option("--report", help="Write a page with ranking, reasons and certificate to this file.")
@click.option("--model", "model_file", help="Also save the model to this file.")
@SPEECH
def rank(
    data: str, label_column: str, positive: str, id_column: str | None, ignore: tuple[str, ...], kind: str | None,
    top: int | None, output: str, report: str | None, model_file: str | None, as_json: bool, quiet: bool,
    dry_run: bool, **options: Any,
) -> None:  # fmt: skip
    """Fit, and rank the unlabelled rows of DATA: the likeliest positives first."""
    check_targets([data], {"--report": report, "--model": model_file}, output)
    import numpy as np

    from usmo.cli.task import read_task, scores, sentences
    from usmo.io import write

    with Speech(quiet) as speech, Outputs() as outputs:
        task = read_task(speech, data, label_column, positive, id_column, ignore, kind)
        if dry_run:
            put_json(_plan(task, options, {"output": output, "report": report, "model": model_file}))
            return
        model = _fitted(speech, task, options)
        rows = np.flatnonzero(~task.known)
        decision, columns = scores(model, task.X[rows])
        order = np.argsort(-decision, kind="stable")[:top]
        ranked = {name: [values[k] for k in order] for name, values in columns.items()}
        table = {
            "rank": list(range(1, len(order) + 1)),
            "id": [task.ids[k] for k in rows[order]],
            **ranked,
        }
        _stage(outputs, task, model, model_file, report, options, 100 if top is None else top)
        if output != "-":
            with outputs.file(output) as place:
                write(table, place)
        for line in sentences(task, model):
            speech.say(line)
        outputs.put()
        if as_json:
            put_json({**_facts(task, model), "ranking": as_rows(table)})
        elif output == "-":
            write(table, "-")
        for name, path in (("report", report), ("model", model_file)):
            if path is not None:
                speech.say(f"{name}: {path}")


def _facts(task: Any, model: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "rows": len(task.known),
        "known_positives": int(task.known.sum()),
        "prior": model.prior_,
        "prior_interval": list(getattr(model, "prior_interval_", [])),
        "lam": model.lam_,
        "marked_positive": int((model.predict(task.X[~task.known]) == model.classes_[1]).sum()),
        "certificate": asdict(model.certificate_),
    }


@click.command(epilog="\b\nExample: usmo fit bank.csv --label-column known --positive yes --model bank.usmo")
@TABLE
@LEARNING
@MODEL
@click.option("--model", "model_file", required=True, help="File for the model, by custom something.usmo.")
@click.option("--report", help="Write a page with ranking, reasons and certificate to this file.")
@click.option(
    "--scheduler",
    help="Address of a Dask scheduler, tcp://…: DATA is then a folder of Parquet files that its workers can read.",
)
@SPEECH
def fit(
    data: str, label_column: str, positive: str, id_column: str | None, ignore: tuple[str, ...], kind: str | None,
    report: str | None, model_file: str, scheduler: str | None, as_json: bool, quiet: bool, dry_run: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Fit a classifier to DATA and save it with its preprocessing."""
    check_targets([data], {"--model": model_file, "--report": report})
    if scheduler is not None:
        from usmo.cli.cluster import fit_on_cluster

        if report is not None:
            raise click.BadParameter("does not go with --scheduler: it needs all rows here", param_hint="--report")
        columns = {"label": label_column, "positive": positive, "id": id_column, "ignore": list(ignore)}
        fit_on_cluster(scheduler, data, columns, kind, model_file, as_json, quiet, dry_run, options)
        return
    from usmo.cli.task import read_task, sentences

    with Speech(quiet) as speech, Outputs() as outputs:
        task = read_task(speech, data, label_column, positive, id_column, ignore, kind)
        if dry_run:
            put_json(_plan(task, options, {"report": report, "model": model_file}))
            return
        model = _fitted(speech, task, options)
        _stage(outputs, task, model, model_file, report, options, 100)
        for line in sentences(task, model):
            speech.say(line)
        outputs.put()
        put_json({**_facts(task, model), "model": model_file}) if as_json else click.echo(model_file)
