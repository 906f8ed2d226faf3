"""``usmo simulate``: reviews of a table whose labels are known."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import click
import numpy as np
from joblib import Parallel, cpu_count, delayed

from usmo.cli.features import encoder_of, feature_sheet
from usmo.cli.messages import Messages, put_json
from usmo.cli.options import TableOptions
from usmo.cli.outputs import Outputs, check_targets
from usmo.cli.task import excluded_columns, read_sheet, say_columns
from usmo.cli.wording import error_text
from usmo.io import TableError
from usmo.io.labels import label_kinds, label_remarks, labels
from usmo.review.encoding import encoded
from usmo.review.fingerprint import fingerprint
from usmo.review.runs import FinishedRuns
from usmo.review.simulation import Plan, means
from usmo.review.simulation import simulate as simulate_review
from usmo.review.simulation_page import page
from usmo.system.compilation import silent
from usmo.system.words import quantity

_HIDDEN = ("rows", "places")
"""Parts of a run that only the page uses."""


def simulate(
    table: TableOptions, seeds: int, start: int, strategy: Any, rules: tuple[str, ...], recall: float,
    confidence: float, jobs: int | None, store: str | None, output: str | None, as_json: bool, quiet: bool,
    dry_run: bool,
) -> None:  # fmt: skip
    """Read and encode the table, run the reviews that are not in the store, print and plot."""
    check_targets(table.files, {"--output": output, "--store": store})
    plan = Plan(strategy, rules or Plan.rules, start, recall=recall, confidence=confidence)
    with Messages(quiet) as messages:
        X, truth = _read(table, messages)
        try:
            plan.check(truth)
        except ValueError as error:
            raise click.UsageError(error_text(error)) from None
        finished = FinishedRuns(store, _digest(X, truth, plan))
        missing = [seed for seed in range(seeds) if seed not in finished.runs]
        if dry_run:
            plan_of = {"reviews": len(missing), "rows": len(truth), "positives": int(truth.sum())}
            put_json({"would": "simulate reviews", **plan_of})
            return
        _run_all(X, truth, missing, plan, jobs, finished, messages)
    runs = [finished.runs[seed] for seed in range(seeds)]
    mean = means(runs)
    if output is not None:
        with Outputs() as outputs:
            with outputs.file(output) as stream:
                stream.write(page(runs, mean, table.source, plan).encode())
            outputs.put()
    if as_json:
        shown = [{key: value for key, value in run.items() if key not in _HIDDEN} for run in runs]
        put_json({"runs": shown, "mean": mean})
    else:
        _print(runs, mean)


def _read(table: TableOptions, messages: Messages) -> tuple[Any, np.ndarray]:
    """The encoded columns and the true labels."""
    try:
        sheet = read_sheet(messages, table)
        labels(sheet, table.label_column, table.positive, options=True)
    except TableError as error:
        raise TableError(str(error).replace("--label-column", "--truth-column")) from None
    truth = label_kinds(sheet, table.label_column, table.positive) == 1
    features = feature_sheet(sheet, table, excluded_columns(table.roles))
    encoder, X = encoded(features, encoder_of(table))
    messages.say(f"{table.source}: {quantity(len(truth), 'row')}, {truth.sum():,} positive")
    if encoder is not None:
        say_columns(messages, encoder)
    for remark in label_remarks(
        sheet, table.label_column, table.positive, None, truth.astype(np.int8), others="negative"
    ):
        messages.say(f"  {remark}")
    return X, truth


def _digest(X: Any, truth: np.ndarray, plan: Plan) -> str:
    """What identifies runs that can be continued: the encoded table and the plan."""
    what = json.dumps([plan.as_dict(), fingerprint(X, truth)], sort_keys=True)
    return hashlib.blake2b(what.encode(), digest_size=16).hexdigest()


def _run_all(
    X: Any, truth: np.ndarray, seeds: Sequence[int], plan: Plan, jobs: int | None, finished: FinishedRuns,
    messages: Messages,
) -> None:  # fmt: skip
    """Simulate the reviews in processes of their own, and keep each as soon as it is finished."""
    n_jobs = min(jobs or cpu_count(), max(1, len(seeds)))
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    results: Iterator[dict[str, Any]] = parallel(delayed(_one)(X, truth, seed, plan) for seed in seeds)
    shown: Any = nullcontext(results)
    if messages.live:
        shown = click.progressbar(results, length=len(seeds), label="usmo: reviews", file=sys.stderr)
    with shown as runs:
        for run in runs:
            finished.add(run)


def _one(X: Any, truth: np.ndarray, seed: int, plan: Plan) -> dict[str, Any]:
    with silent():
        return simulate_review(X, truth, seed, plan)


def _print(runs: Sequence[dict[str, Any]], mean: dict[str, Any]) -> None:
    """The measures of each review and their mean, then the rules."""
    keys = list(mean["recall_at"])
    click.echo(f"{'seed':>6} {'wss95':>7} " + " ".join(f"{'r@' + key:>7}" for key in keys) + f" {'atd':>7}")
    for name, run in [*((str(run["seed"]), run) for run in runs), ("mean", mean)]:
        recalls = " ".join(f"{run['recall_at'][key]:7.3f}" for key in keys)
        click.echo(f"{name:>6} {run['wss95']:7.3f} {recalls} {run['atd']:7.3f}")
    click.echo(f"\n{'rule':<12} {'saved':>7} {'recall':>7} {'promise kept':>13}")
    for rule, one in mean["stopping"].items():
        promised = sum(run["stopping"][rule]["promised"] is not None for run in runs)
        kept = sum(bool(run["stopping"][rule]["kept"]) for run in runs)
        words = f"{kept} of {promised}" if promised else "no promise"
        click.echo(f"{rule:<12} {one['saved']:7.3f} {one['recall']:7.3f} {words:>13}")
