"""``usmo rank`` and ``usmo fit``: fit a classifier to a table; rank its unlabelled rows, save it, report on it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import click

import usmo.report
from usmo import PUSVCCV
from usmo.cli.features import with_kernel
from usmo.cli.messages import Messages, as_rows, put_json
from usmo.cli.options import TableOptions
from usmo.cli.outputs import Outputs, check_targets
from usmo.cli.task import Task, classifier, fit_sentences, pipeline, read_task, score_columns
from usmo.files import fingerprint, save
from usmo.io import write
from usmo.report.ranking import Ranking

_LISTED = 100
"""Rows in the ranking table of a report, unless --top says otherwise."""


@dataclass(frozen=True)
class FittedTask:
    """A task, the options of its fit and the fitted model."""

    task: Task
    options: dict[str, Any]
    model: Any

    @cached_property
    def ranking(self) -> Ranking:
        """The decision values of the table. All results of a command come from this one computation."""
        return Ranking(self.model.decision_function(self.task.X), self.task.y)

    def ranked(self, top: int | None) -> dict[str, list[Any]]:
        """The columns of the ranking, highest decision value first."""
        rows = self.ranking.first(top)
        return {
            "rank": list(range(1, len(rows) + 1)),
            "id": [self.task.ids[row] for row in rows],
            **score_columns(self.model, self.ranking.f[rows]),
        }

    def summary(self) -> dict[str, Any]:
        """The numbers of the fit, for JSON."""
        return {
            **self.task.counts,
            "prior": self.model.prior_,
            "prior_interval": list(getattr(self.model, "prior_interval_", [])),
            "lam": self.model.lam_,
            "marked_positive": self.ranking.n_marked,
            "certificate": asdict(self.model.certificate_),
        }

    def sentences(self) -> list[str]:
        """The result in words."""
        prior, certificate = fit_sentences(self.model)
        ranking = self.ranking
        marked = f"{ranking.n_marked} of {len(ranking.unlabelled)} unlabelled rows are marked as positive"
        return [prior, marked, certificate]

    def stage(self, outputs: Outputs, model_file: str | None, report: str | None, top: int) -> None:
        """Write the report and the model to the stage."""
        task, mark = self.task, fingerprint(self.task.X, self.task.y)
        if report is not None:
            with outputs.file(report) as stream:
                usmo.report.write(
                    stream, model=self.model, X=task.X, known=task.y, f=self.ranking.f, ids=task.ids,
                    source=task.table.source, columns=task.encoder.summary(),
                    names=task.encoder.get_feature_names_out(), parameters=self.options, top=top, fingerprint=mark,
                    titles=task.titles, words=task.encoder.words(),
                )  # fmt: skip
        if model_file is not None:
            extra = {
                "training": mark, "columns": task.table.roles, "source": task.table.source, "options": self.options
            }  # fmt: skip
            with outputs.file(model_file) as stream:
                save(pipeline(task.encoder, self.model), stream, extra=extra)


def _fitted(messages: Messages, task: Task, options: dict[str, Any]) -> FittedTask:
    model = classifier(**options, verbose=1 if messages.live else 0)
    messages.say("fitting")
    with messages.during_fit():
        model.fit(task.X, task.y, propensity=task.propensity)
    if isinstance(model, PUSVCCV):
        choice = model.kernel_choice_
        measured = ", ".join(f"{name} {auc:.3f}" for name, auc in zip(choice.kernels, choice.auc, strict=True))
        messages.say(
            f"kernel {choice.kernel}: share of held-out pairs of a known positive and another row in order: {measured}"
        )
        model = model.best_estimator_
    return FittedTask(task, options, model)


def _plan(task: Task, options: dict[str, Any], outputs: dict[str, str | None]) -> dict[str, Any]:
    return {
        "would": "fit",
        **task.counts,
        "columns": task.encoder.summary(),
        "features": int(task.X.shape[1]),
        **options,
        "write": {name: path for name, path in outputs.items() if path},
    }


def rank(
    table: TableOptions, top: int | None, output: str, report: str | None, model_file: str | None, as_json: bool,
    quiet: bool, dry_run: bool, **options: Any,
) -> None:  # fmt: skip
    """Fit, and rank the unlabelled rows; ``options`` are those of the classifier."""
    check_targets([table.data], {"--report": report, "--model": model_file}, {"--output": output})
    with Messages(quiet) as messages, Outputs() as outputs:
        task = read_task(messages, table)
        options = with_kernel(options, task.encoder, len(task.y), messages)
        if dry_run:
            put_json(_plan(task, options, {"output": output, "report": report, "model": model_file}))
            return
        fitted = _fitted(messages, task, options)
        ranked = fitted.ranked(top)
        fitted.stage(outputs, model_file, report, _LISTED if top is None else top)
        if output != "-":
            with outputs.file(output) as stream:
                write(ranked, stream)
        for line in fitted.sentences():
            messages.say(line)
        outputs.put()
        if as_json:
            put_json({**fitted.summary(), "ranking": as_rows(ranked)})
        elif output == "-":
            write(ranked, "-")
        for name, path in (("report", report), ("model", model_file)):
            if path is not None:
                messages.say(f"{name}: {path}")


def fit(
    table: TableOptions, report: str | None, model_file: str, scheduler: str | None, as_json: bool, quiet: bool,
    dry_run: bool, **options: Any,
) -> None:  # fmt: skip
    """Fit, and save the model; ``options`` are those of the classifier."""
    check_targets([table.data], {"--model": model_file, "--report": report})
    if scheduler is not None:
        from usmo.cli import cluster  # needs Dask

        if report is not None:
            raise click.BadParameter("does not go with --scheduler: it needs all rows here", param_hint="--report")
        cluster.fit(scheduler, table, model_file, as_json, quiet, dry_run, options)
        return
    with Messages(quiet) as messages, Outputs() as outputs:
        task = read_task(messages, table)
        options = with_kernel(options, task.encoder, len(task.y), messages)
        if dry_run:
            put_json(_plan(task, options, {"report": report, "model": model_file}))
            return
        fitted = _fitted(messages, task, options)
        fitted.stage(outputs, model_file, report, _LISTED)
        for line in fitted.sentences():
            messages.say(line)
        outputs.put()
        put_json({**fitted.summary(), "model": model_file}) if as_json else click.echo(model_file)
