"""Commands that look for what a fit needs: the class prior, and λ and γ."""

from __future__ import annotations

from typing import Any

import click

from usmo.cli.options import KERNEL, LEARNING, SCENARIO, SEED, SPEECH, TABLE, Speech, put_json


@click.command(epilog="\b\nExample: usmo prior bank.csv --label-column known --positive yes --method all")
@TABLE
@SCENARIO
@click.option(
    "--method", default="consensus", show_default=True, help="An estimator, several with commas, or all."
)
@SEED
@SPEECH
def prior(
    data: str, label_column: str, positive: str, id_column: str | None, ignore: tuple[str, ...], kind: str | None,
    scenario: str, method: str, seed: int, as_json: bool, quiet: bool, dry_run: bool,
) -> None:  # fmt: skip
    """Estimate the share of positives among the unlabelled rows of DATA (among all rows if censored)."""
    from usmo.cli.task import read_task
    from usmo.priors import ESTIMATORS

    names = list(ESTIMATORS) if method == "all" else [name.strip() for name in method.split(",")]
    for name in names:
        if name not in ESTIMATORS:
            raise click.BadParameter(
                f"must be all or some of {', '.join(ESTIMATORS)}, got {name!r}",
                ctx=click.get_current_context(), param_hint="--method",
            )  # fmt: skip
    with Speech(quiet) as speech:
        task = read_task(speech, data, label_column, positive, id_column, ignore, kind)
        if dry_run:
            put_json({"would": "estimate the prior", "rows": len(task.known), "methods": names})
            return
        found: dict[str, dict[str, Any]] = {}
        for name in names:
            with speech.over_a_fit():
                model = ESTIMATORS[name](scenario=scenario, random_state=seed).fit(task.X, task.y)
            found[name] = {"prior": float(model.prior_), "interval": [float(end) for end in model.interval_]}
            speech.say(f"{name} is done")
        if as_json:
            put_json({"scenario": scenario, "estimates": found})
            return
        click.echo("method,prior,low,high")
        for name, value in found.items():
            low, high = value["interval"]
            click.echo(f"{name},{value['prior']:.4f},{low:.4f},{high:.4f}")


@click.command(
    epilog="\b\nExample: usmo select bank.csv --label-column known --positive yes --gammas 0.3 --gammas 1"
)
@TABLE
@LEARNING
@KERNEL
@click.option("--gammas", type=click.FloatRange(0, min_open=True), multiple=True, help="Factors of the usual γ.")
@click.option("--folds", type=click.IntRange(2), default=3, show_default=True, help="Parts of the rows.")
@click.option(
    "--rule",
    type=click.Choice(["one-se", "min"]),
    default="one-se",
    show_default=True,
    help="The smoothest model within one standard error of the smallest risk, or the smallest.",
)
@SEED
@SPEECH
def select(
    data: str, label_column: str, positive: str, id_column: str | None, ignore: tuple[str, ...], kind: str | None,
    prior: float | str, scenario: str, kernel: str, gammas: tuple[float, ...], folds: int, rule: str, seed: int,
    as_json: bool, quiet: bool, dry_run: bool,
) -> None:  # fmt: skip
    """Choose λ and γ for DATA by the PU risk of rows left out."""
    from usmo.cli.task import classifier, read_task
    from usmo.fitting.select import PUSVCCV

    with Speech(quiet) as speech:
        task = read_task(speech, data, label_column, positive, id_column, ignore, kind)
        if dry_run:
            put_json({"would": "select", "rows": len(task.known), "folds": folds, "gammas": list(gammas)})
            return
        base = classifier(prior, scenario, 1e-2, kernel, "scale", "none", seed, 0)
        search = PUSVCCV(base, gammas=gammas or None, folds=folds, rule=rule, random_state=seed)
        with speech.over_a_fit():
            search.fit(task.X, task.y)
        results: dict[str, list[Any]] = {name: values.tolist() for name, values in search.cv_results_.items()}
        speech.say(f"chosen: lambda {search.best_lam_:.3g}, gamma {search.best_gamma_:.3g}")
        if as_json:
            put_json(
                {"lam": search.best_lam_, "gamma": search.best_gamma_, "prior": search.prior_, "results": results}
            )
            return
        click.echo("lam,gamma,risk,standard_error,chosen")
        for lam, gamma, risk, error in zip(*results.values(), strict=True):
            chosen = "yes" if (lam, gamma) == (search.best_lam_, search.best_gamma_) else ""
            click.echo(f"{lam:.3g},{gamma:.3g},{risk:.5f},{error:.5f},{chosen}")
