"""All commands: names, options and help."""

from __future__ import annotations

import difflib
import functools
import importlib
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from usmo.cli import failed
from usmo.cli.options import (
    COLUMNS,
    EMBEDDINGS_OF_MODEL,
    JSON,
    KERNEL,
    LEARNING,
    MODEL,
    PRINTING,
    READING,
    SCENARIO,
    SEED,
    TABLE,
    TableOptions,
)
from usmo.system.version import __version__


class _Commands(click.Group):
    """The commands in the order of their declaration, each with the first line of its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], self.commands, n=1)
            advice = f"did you mean {close[0]!r}?" if close else f"commands are {', '.join(self.commands)}"
            ctx.fail(f"no command {args[0]!r}: {advice}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, str(command.help).partition("\n")[0]) for name, command in self.commands.items()]
            )


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"usmo {__version__}")
        ctx.exit()


_RANK_EXAMPLE = "bank.csv --label-column plan --positive yes --report out.html"


@click.command(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"\b\nExample: usmo rank {_RANK_EXAMPLE}",
)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="The version.")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Find positives among unlabelled rows, from a table in which some rows are known to be positive."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _command(module: str, example: str) -> Callable[[Callable[[], None]], click.Command]:
    """Declare a command whose work is done by the function of the same name in a module of this package.

    The module is imported when the command is called. The options of ``TABLE`` are passed on as one ``table``.
    """

    def declare(declaration: Callable[[], None]) -> click.Command:
        @functools.wraps(declaration)
        def run(**options: Any) -> None:
            if "label_column" in options:
                options["table"] = TableOptions(*(options.pop(name, None) for name in TableOptions._fields))
            getattr(importlib.import_module(f"usmo.cli.{module}"), declaration.__name__)(**options)

        return cli.command(epilog=f"\b\nExample: usmo {declaration.__name__} {example}")(run)

    return declare


_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_METHODS = (
    "consensus", "best-bin", "saturation", "dedpul", "elkan-noto", "blanchard-scott", "penalised-l1", "km2", "tice",
    "grouped", "class-structure", "known-negatives", "negatives-only",
)  # fmt: skip
"""The names of ``usmo.priors.ESTIMATORS``, which help does not load."""

_RULES = click.Choice(["audit", "tail", "buscar", "qbcb", "irrelevant", "estimate"])
_STRATEGY = click.option(
    "--strategy",
    type=click.Choice(["likely", "mixed", "uncertain", "diverse"]),
    default="likely",
    show_default=True,
    help="Which rows come next: the likeliest positives; the same with random rows between them (mixed); those nearest "
    "to the boundary (uncertain); the likeliest that are not nearly alike (diverse).",
)
_RECALL = click.option(
    "--recall", type=_SHARE, default=0.95, show_default=True, help="The recall that rules are to promise."
)
_CONFIDENCE = click.option(
    "--confidence", type=_SHARE, default=0.95, show_default=True, help="The confidence of their promise."
)
_REPORT = click.option("--report", help="Write a page with ranking, explanations and certificate to this file.")


@_command("fitting", _RANK_EXAMPLE)
@TABLE
@LEARNING
@MODEL
@click.option(
    "--top",
    type=click.IntRange(1),
    help="Only so many rows of the ranking, by default all; in the report by default 100, at most 300.",
)
@click.option(
    "--columns",
    metavar="A,B,C",
    help="Columns of DATA to show in the ranking, or all or none; by default all but label and id, at most 100.",
)
@click.option(
    "--output", default="-", show_default=True, help="File for the ranking: CSV, TSV, .xlsx, Parquet, JSON lines."
)
@_REPORT
@click.option("--model", "model_file", help="Also save the model to this file.")
@PRINTING
def rank() -> None:
    """Fit a classifier and rank the unlabelled rows of DATA: the likeliest positives first."""


@_command("fitting", "bank.csv --label-column plan --positive yes --model bank.usmo")
@TABLE
@LEARNING
@MODEL
@click.option("--model", "model_file", required=True, help="File for the model, by convention something.usmo.")
@_REPORT
@click.option(
    "--scheduler",
    help="Address of a Dask scheduler, tcp://…: DATA is then a folder of Parquet files that its workers can read.",
)
@PRINTING
def fit() -> None:
    """Fit a classifier to DATA and save it with its preprocessing."""


@_command("saved_model", "bank.usmo new.csv --output scores.csv")
@click.argument("model_file", metavar="MODEL")
@click.argument("data")
@click.option("--id-column", help="A column that names the rows; the training table's by default.")
@click.option(
    "--columns", metavar="A,B,C", default="none", show_default=True, help="Columns of DATA to show beside, or all."
)
@EMBEDDINGS_OF_MODEL
@READING
@click.option(
    "--output", default="-", show_default=True, help="File for the scores: CSV, TSV, .xlsx, Parquet, JSON lines."
)
@click.option(
    "--unknown",
    type=click.Choice(["error", "ignore"]),
    default="error",
    show_default=True,
    help="For a category that the training table does not have: stop, or treat it as no category.",
)
@click.option(
    "--adapt",
    is_flag=True,
    help="Estimate the share of positives in DATA, and move threshold and probabilities: the classes are those of "
    "training, in another mixture.",
)
@PRINTING
def predict() -> None:
    """Score the rows of DATA with a saved MODEL, in the order of the table."""


@_command("tune", "bank.csv --label-column plan --positive yes --method all")
@TABLE
@SCENARIO
@click.option(
    "--method",
    default="consensus",
    show_default=True,
    help=f"{', '.join(_METHODS)}; several with commas, or all that need no known negatives. Those with negatives in "
    "their name need --negative.",
)
@SEED
@PRINTING
def prior() -> None:
    """Estimate the share of positives among the unlabelled rows of DATA (among all rows if censored)."""


@_command("tune", "bank.csv --label-column plan --positive yes --gammas 0.3 --gammas 1")
@TABLE
@LEARNING
@KERNEL
@click.option(
    "--gammas",
    type=click.FloatRange(0, min_open=True),
    multiple=True,
    help="A factor of the usual γ to try; may be given again. By default 1.",
)
@click.option(
    "--folds", type=click.IntRange(2), default=3, show_default=True, help="Folds of the cross-validation."
)
@click.option(
    "--rule",
    type=click.Choice(["one-se", "min"]),
    default="one-se",
    show_default=True,
    help="one-se: the largest λ whose risk is within one standard error of the smallest. min: the λ of the smallest.",
)
@SEED
@PRINTING
def select() -> None:
    """Choose λ and γ for DATA by the PU risk of held-out rows, without negatives."""


@_command("saved_model", "bank.usmo --json")
@click.argument("model_file", metavar="MODEL")
@JSON
def inspect() -> None:
    """Show what is in a MODEL file: parameters, certificate, training data, without building the model."""


@_command("saved_model", "bank.usmo bank.csv --output out.html")
@click.argument("model_file", metavar="MODEL")
@click.argument("data")
@click.option("--output", required=True, help="File for the page.")
@EMBEDDINGS_OF_MODEL
@READING
@click.option(
    "--top", type=click.IntRange(1), default=100, show_default=True, help="Rows of the ranking shown, at most 300."
)
@PRINTING
def report() -> None:
    """Write the report page of a saved MODEL and the table DATA that it was trained on."""


@_command("review", "docs.csv --label-column known --positive yes --id-column id --store my.review")
@click.argument("data")
@click.option("--label-column", required=True, help="The column that says which rows are known positives.")
@click.option("--positive", default="1", show_default=True, help="Its value for a known positive.")
@click.option("--negative", help="Its value for a known negative; rows with any other value are reviewed.")
@COLUMNS
@click.option(
    "--store", metavar="FILE", help="File of the decisions; one that exists is continued. By default DATA.review."
)
@_STRATEGY
@click.option(
    "--random-share",
    type=_SHARE,
    default=0.1,
    show_default=True,
    help="The share of random rows of --strategy mixed.",
)
@click.option(
    "--rule",
    type=_RULES,
    default="audit",
    show_default=True,
    help="The rule that says when the review may end; irrelevant and estimate promise nothing.",
)
@_RECALL
@_CONFIDENCE
@click.option("--host", default="127.0.0.1", show_default=True, help="Where the server listens.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="Its port; 0 is a free one."
)
@click.option("--allow-remote", is_flag=True, help="Allow a --host that other machines can reach.")
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser.")
@SEED
@PRINTING
def review() -> None:
    """Review the rows of DATA on a local page, the likeliest positives first, and learn when to stop."""


@_command("simulate", "docs.csv.gz --truth-column relevant --positive yes --seeds 6 --output runs.html")
@click.argument("data")
@click.option("--truth-column", "label_column", required=True, help="The column with the true label of every row.")
@click.option("--positive", default="1", show_default=True, help="Its value for a positive.")
@COLUMNS
@click.option(
    "--seeds", type=click.IntRange(1), default=6, show_default=True, help="How many reviews, from seed 0 on."
)
@click.option(
    "--start", type=click.IntRange(1), default=1, show_default=True, help="Positives known at the start."
)
@_STRATEGY
@click.option(
    "--rule",
    "rules",
    multiple=True,
    type=_RULES,
    help="A stopping rule to try; may be given again. By default all.",
)
@_RECALL
@_CONFIDENCE
@click.option("--jobs", type=click.IntRange(1), help="Processes; as many as cores by default.")
@click.option(
    "--store", metavar="FILE", help="Keep finished reviews in this file and do not repeat those it holds."
)
@click.option("--output", metavar="FILE.html", help="Write a page with recall curves and all rules to this file.")
@PRINTING
def simulate() -> None:
    """Review DATA against its known labels: how soon are the positives found, and where do rules stop?"""


@_command("demo", "--report demo.html")
@click.option("--report", help="Also write the report page to this file.")
@click.option(
    "--write-table",
    metavar="FILE",
    help="Instead, write a table to try the other commands on: 1,500 made-up customers of a bank, of whom 300 would "
    "open a savings plan; the column plan says yes for 80 of these. It comes under the licence of usmo.",
)
@JSON
def demo() -> None:
    """Hide most labels of scikit-learn's digits, find the hidden 3s again, and compare with the truth."""


@_command("reproduction", "tables --draws 10 --out out/reproduction")
@click.argument("what", type=click.Choice(["tables", "figures"]))
@click.option(
    "--draws", type=click.IntRange(1), default=10, show_default=True, help="For tables: draws of the labels."
)
@click.option(
    "--out", type=Path, default=Path("out/reproduction"), show_default=True, help="Folder for CSV and HTML."
)
@click.option("--jobs", type=click.IntRange(1), help="For tables: processes; as many as cores by default.")
@click.option("--quick", is_flag=True, help="A small part; of the tables in half a minute.")
def reproduce() -> None:
    """Compute the paper's TABLES of F-measures, or its FIGURES of time and F-measure against the number of rows."""


@_command("benchmark", "--sizes 1000 --sizes 4000")
@click.option(
    "--sizes",
    type=click.IntRange(100, 200_000),
    multiple=True,
    default=(1000, 2000, 4000),
    show_default=True,
    help="A number of rows; may be given again.",
)
@JSON
def bench() -> None:
    """Time fits of PUSVC and of SVC (unlabelled = negative) to poker hands of growing number, best of three."""


def call(arguments: list[str]) -> int:
    """Run a command and return the exit code of errors that click handles; other errors are raised."""
    if "_USMO_COMPLETE" in os.environ:  # the shell asks for completions
        cli.main(args=arguments, prog_name="usmo")
    try:
        # not cli.main, which handles interrupts and closed pipes itself
        with cli.make_context("usmo", list(arguments), obj=shlex.join(["usmo", *arguments])) as ctx:
            cli.invoke(ctx)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.UsageError as error:
        command = f"usmo {error.ctx.info_name}" if error.ctx is not None and error.ctx.parent else "usmo"
        return failed(f"{error.format_message().rstrip('.')} ({command} --help)", 2)
    except click.ClickException as error:
        return failed(error.format_message(), 1)
    return 0
