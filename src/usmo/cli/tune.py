"""``usmo prior`` and ``usmo select``: estimate the prior, and choose λ and γ."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from usmo import PUSVC, PUSVCCV
from usmo.cli.answers import as_json_test
from usmo.cli.features import with_kernel
from usmo.cli.messages import Messages, put_json
from usmo.cli.options import TableOptions
from usmo.cli.task import Task, classifier, read_task
from usmo.estimators.preparation import estimate_prior, prepare_table, seed_of, specification
from usmo.estimators.types import Rule, Scenario
from usmo.priors import DEFAULT, ESTIMATORS, NEED_NEGATIVES
from usmo.report.doubts import FEW_POSITIVES, wide_interval
from usmo.report.refits import labels_test
from usmo.system.words import quantity


def prior(
    table: TableOptions, scenario: Scenario, method: str, seed: int, as_json: bool, quiet: bool, dry_run: bool
) -> None:
    """Estimate the share of positives by one or several methods."""
    if table.propensity_column is not None:
        raise click.BadParameter(
            "does not go with prior: propensities imply the share of positives, which usmo rank prints. --ignore "
            "leaves a column out",
            ctx=click.get_current_context(), param_hint="--propensity-column",
        )  # fmt: skip
    every = [name for name in ESTIMATORS if name not in NEED_NEGATIVES]
    names = every if method == "all" else [name.strip() for name in method.split(",")]
    for name in names:
        if name not in ESTIMATORS:
            raise click.BadParameter(
                f"must be all or some of {', '.join(ESTIMATORS)}, got {name!r}",
                ctx=click.get_current_context(), param_hint="--method",
            )  # fmt: skip
    with Messages(quiet) as messages:
        task = read_task(messages, table)
        for name in NEED_NEGATIVES:
            if name in names and np.count_nonzero(task.y == -1) < 2:
                raise click.BadParameter(
                    f"{name} needs at least 2 known negatives; name their value in the label column with --negative",
                    ctx=click.get_current_context(), param_hint="--method",
                )  # fmt: skip
        if dry_run:
            put_json({"would": "estimate the prior", "rows": len(task.y), "methods": names})
            return
        estimates: dict[str, dict[str, Any]] = {}
        for name in names:
            with messages.during_fit(), _without_advice("the estimate of the prior", "the estimate"):
                value, interval = _estimated(name, task, scenario, seed)
            estimates[name] = {"prior": value, "interval": list(interval)}
            messages.say(f"{name} is done")
        test = labels_test(
            None, task.X, task.y, task.encoder.get_feature_names_out().tolist(), row_groups=task.groups,
            scenario=scenario,
        )  # fmt: skip
        if test is not None:
            messages.say(str(test))
        notes = _notes(estimates, task, scenario)
        for note in notes:
            messages.say(f"note: {note}")
        if as_json:
            found = None if test is None else as_json_test(test)
            put_json({"scenario": scenario, "estimates": estimates, "labels_at_random": found, "notes": notes})
            return
        click.echo("method,prior,low,high")
        for name, estimate in estimates.items():
            low, high = estimate["interval"]
            click.echo(f"{name},{estimate['prior']:.4f},{low:.4f},{high:.4f}")


def _notes(estimates: dict[str, dict[str, Any]], task: Task, scenario: Scenario) -> list[str]:
    """What a user should know of the estimates: few known positives, and wide intervals of each method."""
    n_p, n_u, n_n = (int(np.count_nonzero(task.y == kind)) for kind in (1, 0, -1))
    few = quantity(n_p, "known positive says", "known positives say")
    notes = [f"{few} little about the share of positives"] if n_p < FEW_POSITIVES else []
    wide = {name: wide_interval(one["interval"], n_p, n_u, scenario, n_n) for name, one in estimates.items()}
    return notes + [f"{name}: {text}" for name, text in wide.items() if text]


@contextlib.contextmanager
def _without_advice(parameter: str, what: str) -> Iterator[None]:
    """Name what the command does in errors, instead of the parameter, and leave out the advice to give a number."""
    try:
        yield
    except ValueError as error:
        if parameter not in str(error):
            raise
        raise ValueError(str(error).replace(parameter, what).partition("; give ")[0]) from None


def _estimated(name: str, task: Task, scenario: Scenario, seed: int) -> tuple[float, tuple[float, float]]:
    """The prior and its interval; the default method gives what a fit with the same seed uses."""
    model = PUSVC(scenario=scenario, random_state=seed)
    if name == DEFAULT:
        table = prepare_table(model, task.X, task.y, None, groups=task.groups)
        value, (low, high) = estimate_prior(table, specification(model, table))
        return value, (float(low), float(high))
    estimator = ESTIMATORS[name](scenario=scenario, random_state=seed_of(seed))
    estimator.fit(task.X, task.y, groups=task.groups)
    return float(estimator.prior_), (float(estimator.interval_[0]), float(estimator.interval_[1]))


def select(
    table: TableOptions, prior: float | str, class_weight: Any, scenario: str, kernel: str | None,
    gammas: tuple[float, ...], folds: int, rule: Rule, seed: int, as_json: bool, quiet: bool, dry_run: bool,
) -> None:  # fmt: skip
    """Choose λ and γ by cross-validation."""
    with Messages(quiet) as messages:
        task = read_task(messages, table)
        if dry_run:
            put_json({"would": "select", "rows": len(task.y), "folds": folds, "gammas": list(gammas)})
            return
        chosen = with_kernel({"kernel": kernel}, task.encoder, len(task.y), messages)["kernel"]
        search = classifier(
            prior=prior, class_weight=class_weight, scenario=scenario, lam="cv", kernel=chosen, gamma="scale",
            approximation="none", seed=seed, verbose=0,
        )  # fmt: skip
        if chosen != "auto":
            search = PUSVCCV(search, random_state=seed)
        search.set_params(gammas=gammas or None, folds=folds, rule=rule)
        with messages.during_fit(), _without_advice("lam='cv'", "the choice of lambda"):
            search.fit(task.X, task.y, propensity=task.propensity, groups=task.groups)
        results: dict[str, list[Any]] = {name: values.tolist() for name, values in search.cv_results_.items()}
        messages.say(
            f"chosen: kernel {search.best_kernel_}, lambda {search.best_lam_:.3g}, gamma {search.best_gamma_:.3g}"
        )
        if as_json:
            put_json(
                {
                    "kernel": search.best_kernel_,
                    "lam": search.best_lam_,
                    "gamma": search.best_gamma_,
                    "prior": search.prior_,
                    "results": results,
                }
            )
            return
        click.echo("lam,gamma,risk,standard_error,chosen")
        for lam, gamma, risk, error in zip(*results.values(), strict=True):
            mark = "yes" if (lam, gamma) == (search.best_lam_, search.best_gamma_) else ""
            click.echo(f"{lam:.3g},{gamma:.3g},{risk:.5f},{error:.5f},{mark}")
