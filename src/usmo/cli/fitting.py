"""``usmo rank`` and ``usmo fit``: fit a classifier to a table; rank its unlabelled rows, save it, report on it."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import click

import usmo.report
from usmo import PUSVCCV
from usmo.cli.answers import (
    as_json_test,
    beside,
    chosen_columns,
    fit_sentences,
    marked_sentence,
    name_columns,
    score_columns,
    source_arguments,
    write_answer,
)
from usmo.cli.features import feature_columns, with_kernel
from usmo.cli.messages import Messages, as_rows, command, put_json
from usmo.cli.model_summary import summary_of
from usmo.cli.options import TableOptions
from usmo.cli.outputs import Outputs, check_targets
from usmo.cli.progress import RANK, READ, REPORT, RunProgress
from usmo.cli.propensity import propensity_sentences, with_propensity
from usmo.cli.task import Task, classifier, pipeline, read_task
from usmo.estimators.counts import Counts
from usmo.files import fingerprint, save
from usmo.io import TableError
from usmo.priors import ScarTest
from usmo.report.doubts import Quality, cross_validated_quality, doubts, held_out_quality
from usmo.report.influence import tried_columns
from usmo.report.ranking import Ranking
from usmo.report.refits import FEWEST, HeldOut, held_out, labels_test
from usmo.report.source import cells
from usmo.system.words import quantity

_ASSUMED_PRIOR = 0.05
"""The share of positives among the unlabelled rows with too few known positives to estimate it."""

_UNTOLD = {"prior": "the share of positives", "lam": "lambda", "kernel": "the kernel"}
"""What too few known positives cannot tell, by the option that is assumed."""

_ADVICE = (
    "The order of the rows depends little on that, the number marked does. Give the share if you know it (--prior)"
)

_HELD_OUT_ROWS, _HELD_OUT_TREES = 1_500, 100
"""Rows of the sample on which a command estimates quality, and trees of a learned kernel: half a second."""

_LISTED = 100
"""Rows in the ranking table of a report, unless --top says otherwise."""


@dataclass(frozen=True)
class FittedTask:
    """A task, the options of its fit and the fitted model."""

    task: Task
    options: dict[str, Any]
    model: Any
    reported: bool = False
    """Whether there is a report: then all numbers of quality are those of its held-out rows."""
    assumed: bool = False
    """Whether the prior was neither given nor estimated."""

    @cached_property
    def ranking(self) -> Ranking:
        """The decision values of the table. All results of a command come from this one computation."""
        return Ranking(self.model.decision_function(self.task.X), self.task.y)

    @cached_property
    def counts(self) -> Counts:
        """How many rows are marked, and how many the prior says."""
        return Counts.of(self.model, self.ranking.f, self.task.y)

    @cached_property
    def held_out(self) -> HeldOut | None:
        """Decision values of held-out rows: those of the report, or else of three fits to a sample of the rows."""
        task, encoder = self.task, self.task.encoder
        # a linear fit to fewer rows than columns is unlike that to all rows, and fast
        is_wide = task.X.shape[1] > _HELD_OUT_ROWS and getattr(self.model, "kernel", "linear") == "linear"
        if not self.reported and not is_wide:
            return held_out(
                self.model,
                task.X,
                task.y,
                most=_HELD_OUT_ROWS,
                parts=3,
                trees=_HELD_OUT_TREES,
                row_groups=task.groups,
            )
        is_text = encoder.words() is not None
        columns = {} if is_text else tried_columns(self.model, task.X, feature_columns(encoder))
        return held_out(self.model, task.X, task.y, columns if self.reported else None, row_groups=task.groups)

    @cached_property
    def quality(self) -> Quality | None:
        """Estimates on held-out rows; without a report, on those of the choice of λ if it held some out."""
        if hasattr(self.model, "selection_") and not self.reported:
            return cross_validated_quality(self.model, self.task.y)
        return held_out_quality(self.model, self.held_out)

    @cached_property
    def at_random(self) -> ScarTest | None:
        """The test of labels at random; None if the table does not allow it."""
        names = self.task.encoder.get_feature_names_out().tolist()
        return labels_test(self.model, self.task.X, self.task.y, names, row_groups=self.task.groups)

    def ranked(self, top: int | None, names: list[str]) -> dict[str, list[Any]]:
        """The columns of the ranking, highest decision value first, with these columns of the table."""
        rows, task = self.ranking.first(top), self.task
        ids = None if task.table.id_column is None else task.ids
        own = {"rank": list(range(1, len(rows) + 1)), **name_columns(rows, ids)}
        return beside({**own, **score_columns(self.model, self.ranking.f[rows])}, cells(task.sheet, names, rows))

    def summary(self) -> dict[str, Any]:
        """The numbers of the fit, for JSON."""
        return {
            **self.task.counts,
            "prior": self.model.prior_,
            "prior_interval": list(getattr(self.model, "prior_interval_", [])),
            "lam": self.model.lam_,
            "propensity": list(getattr(self.model, "propensity_", [])),
            "marked_positive": self.counts.marked,
            "expected_positive": round(self.counts.expected, 1),
            "indistinguishable": self.counts.equal,
            "quality": None if self.quality is None else self.quality._asdict(),
            "labels_at_random": None if self.at_random is None else as_json_test(self.at_random),
            "certificate": asdict(self.model.certificate_),
        }

    def sentences(self) -> list[str]:
        """The result in words."""
        prior, certificate = fit_sentences(self.model, self.assumed)
        found = doubts(self.model, self.ranking.f, self.counts, self.quality, self.at_random)
        notes = [f"note: {each}" for each in found]
        if self.at_random is not None and self.at_random.sentence not in found:
            notes.append(self.at_random.sentence)
        propensity = propensity_sentences(self.model, self.task.encoder)
        return [prior, *propensity, marked_sentence(self.counts), certificate, *notes]

    def stage(
        self, outputs: Outputs, model_file: str | None, report: str | None, top: int, ranking: str = "-"
    ) -> None:
        """Write the report and the model to the stage; ``ranking`` is the file of the ranking."""
        task, mark = self.task, fingerprint(self.task.X, self.task.y)
        if report is not None:
            with outputs.file(report) as stream:
                usmo.report.write(
                    stream, model=self.model, X=task.X, known=task.y, f=self.ranking.f, ids=task.ids,
                    source=task.table.source, columns=task.encoder.summary(),
                    names=task.encoder.get_feature_names_out(), top=top, fingerprint=mark,
                    parameters={**self.options, "command": command()},
                    titles=task.titles, words=task.encoder.words(), **source_arguments(task.sheet, task.encoder),
                    ranking_file="" if ranking == "-" else os.path.relpath(ranking, os.path.dirname(report) or "."),
                    row_groups=task.groups, at_random=self.at_random, quality=self.held_out,
                )  # fmt: skip
        if model_file is not None:
            extra = {
                "training": mark, "columns": task.table.roles, "source": task.table.source, "options": self.options,
                "summary": {
                    **summary_of(task.encoder, self.counts, self.quality, command()),
                    "prior_assumed": self.assumed,
                },
            }  # fmt: skip
            with outputs.file(model_file) as stream:
                save(pipeline(task.encoder, self.model), stream, extra=extra)


def with_few_positives(options: dict[str, Any], task: Task, messages: Messages) -> dict[str, Any]:
    """The options; from fewer than five known positives neither prior nor λ can be told, so both are assumed."""
    known = task.counts["known_positives"]
    if known >= FEWEST:
        return options
    assumed: dict[str, Any] = {}
    if options["prior"] == "estimate" and task.propensity is None:
        labelled = known / task.counts["rows"] if options["scenario"] == "censored" else 0.0
        assumed["prior"] = float(f"{labelled + (1 - labelled) * _ASSUMED_PRIOR:.3g}")
    if options["lam"] == "cv":
        assumed["lam"] = "auto"
    if options["kernel"] == "auto":
        assumed["kernel"] = "forest+rbf"
    if assumed:
        what = " and ".join(_UNTOLD[name] for name in assumed)
        shown = " and ".join(f"--{name} {value}" for name, value in assumed.items())
        advice = f". {_ADVICE}" if "prior" in assumed else ""
        messages.say(f"note: {quantity(known, 'known positive')} cannot tell {what}: {shown} assumed{advice}")
    return {**options, **assumed}


def _progress(messages: Messages, options: dict[str, Any], report: str | None) -> RunProgress:
    progress = RunProgress.of(
        messages, prior=options["prior"] == "estimate", lam=options["lam"] == "cv", report=report is not None,
        propensity=options["propensity"] is not None or options["propensity_columns"] is not None,
    )  # fmt: skip
    progress.begin(READ)
    return progress


def _fitted(
    messages: Messages,
    progress: RunProgress,
    task: Task,
    options: dict[str, Any],
    *,
    reported: bool,
    assumed: bool,
) -> FittedTask:
    _check_prior(task, options)
    model = classifier(**options, verbose=1 if messages.live else 0)
    with messages.during_fit(), progress.fitting():
        model.fit(task.X, task.y, propensity=task.propensity, groups=task.groups)
    if isinstance(model, PUSVCCV):
        choice = model.kernel_choice_
        measured = ", ".join(f"{name} {auc:.3f}" for name, auc in zip(choice.kernels, choice.auc, strict=True))
        messages.say(
            f"kernel {choice.kernel} is chosen; held-out known positives rank above other rows in this share of pairs: "
            f"{measured}"
        )
        model = model.best_estimator_
    return FittedTask(task, options, model, reported, assumed)


def _check_prior(task: Task, options: dict[str, Any]) -> None:
    """Refuse a share of all rows that the known negatives leave no room for."""
    largest = 1.0 - task.counts.get("known_negatives", 0) / task.counts["rows"]
    if options["scenario"] == "censored" and options["prior"] != "estimate" and options["prior"] > largest:
        raise TableError(
            f"--prior must be at most {largest:.4g} with --scenario censored, the share of all rows that are not known "
            f"to be negative, got {options['prior']:g}"
        )


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
    table: TableOptions, top: int | None, columns: str | None, output: str, report: str | None,
    model_file: str | None, as_json: bool, quiet: bool, dry_run: bool, **options: Any,
) -> None:  # fmt: skip
    """Fit, and rank the unlabelled rows; ``options`` are those of the classifier."""
    check_targets(table.files, {"--report": report, "--model": model_file}, {"--output": output})
    with Messages(quiet) as messages, Outputs() as outputs:
        progress = _progress(messages, options, report)
        task, asked = read_task(messages, table), options["prior"]
        names = chosen_columns(columns, task.sheet, task.table.roles)
        options = with_few_positives(with_kernel(options, task.encoder, len(task.y), messages), task, messages)
        options = with_propensity(options, task)
        if dry_run:
            put_json(_plan(task, options, {"output": output, "report": report, "model": model_file}))
            return
        fitted = _fitted(
            messages, progress, task, options, reported=report is not None, assumed=options["prior"] != asked
        )
        progress.begin(RANK)
        ranked = fitted.ranked(top, names)
        if report is not None:
            progress.begin(REPORT)
        fitted.stage(outputs, model_file, report, _LISTED if top is None else top, output)
        if output != "-":
            with outputs.file(output) as stream:
                write_answer(ranked, stream)
        for line in fitted.sentences():
            messages.say(line)
        outputs.put()
        if as_json:
            put_json({**fitted.summary(), "ranking": as_rows(ranked)})
        elif output == "-":
            write_answer(ranked, "-")
        for name, path in (("report", report), ("model", model_file)):
            if path is not None:
                messages.say(f"{name}: {path}")


def fit(
    table: TableOptions, report: str | None, model_file: str, scheduler: str | None, as_json: bool, quiet: bool,
    dry_run: bool, **options: Any,
) -> None:  # fmt: skip
    """Fit, and save the model; ``options`` are those of the classifier."""
    check_targets(table.files, {"--model": model_file, "--report": report})
    if scheduler is not None:
        from usmo.cli import cluster  # needs Dask

        if report is not None:
            raise click.BadParameter("does not go with --scheduler: it needs all rows here", param_hint="--report")
        cluster.fit(scheduler, table, model_file, as_json, quiet, dry_run, options)
        return
    with Messages(quiet) as messages, Outputs() as outputs:
        progress = _progress(messages, options, report)
        task, asked = read_task(messages, table), options["prior"]
        options = with_few_positives(with_kernel(options, task.encoder, len(task.y), messages), task, messages)
        options = with_propensity(options, task)
        if dry_run:
            put_json(_plan(task, options, {"report": report, "model": model_file}))
            return
        fitted = _fitted(
            messages, progress, task, options, reported=report is not None, assumed=options["prior"] != asked
        )
        if report is not None:
            progress.begin(REPORT)
        fitted.stage(outputs, model_file, report, _LISTED)
        for line in fitted.sentences():
            messages.say(line)
        outputs.put()
        put_json({**fitted.summary(), "model": model_file}) if as_json else click.echo(model_file)
