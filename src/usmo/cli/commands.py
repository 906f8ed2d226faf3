"""The commands by name, and how their errors end."""

from __future__ import annotations

import difflib
import os

import click

from usmo.cli import failed

_COMMANDS = {
    "rank": ("usmo.cli.fitting", "Fit, and rank the unlabelled rows: the likeliest positives first."),
    "fit": ("usmo.cli.fitting", "Fit a classifier and save it."),
    "predict": ("usmo.cli.saved_model", "Score the rows of a table with a saved model."),
    "prior": ("usmo.cli.tune", "Estimate how many of the unlabelled rows are positive."),
    "select": ("usmo.cli.tune", "Choose λ and γ without negatives."),
    "inspect": ("usmo.cli.saved_model", "Show what is in a model file."),
    "report": ("usmo.cli.saved_model", "Write the report page of a saved model on its table."),
    "demo": ("usmo.cli.demo", "Try it on data that ships with scikit-learn."),
    "reproduce": ("usmo.cli.demo", "The paper's tables and figures again, next to the published numbers."),
    "bench": ("usmo.cli.demo", "How fast this machine fits, next to scikit-learn's SVC."),
}


class _Lazy(click.Group):
    """Commands by name; their modules are imported when one is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        import importlib

        found: click.Command = getattr(importlib.import_module(_COMMANDS[name][0]), name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _COMMANDS and not args[0].startswith("-"):
            close = difflib.get_close_matches(args[0], _COMMANDS, n=1)
            advice = f"did you mean {close[0]!r}?" if close else f"commands are {', '.join(_COMMANDS)}"
            ctx.fail(f"no command {args[0]!r}: {advice}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from usmo import __version__

        click.echo(f"usmo {__version__}")
        ctx.exit()


@click.command(
    cls=_Lazy,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExample: usmo rank bank.csv --label-column known --positive yes --id-column id --report out.html",
)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="The version.")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Find positives among unlabelled rows, from a table in which some rows are known to be positive."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def call(arguments: list[str]) -> int:
    """Run a command; the exit code of what click itself ends, other errors are raised."""
    if "_USMO_COMPLETE" in os.environ:  # the shell asks how a word goes on
        cli.main(args=arguments, prog_name="usmo")
    try:
        # not cli.main, which takes interrupts and closed pipes for itself
        with cli.make_context("usmo", arguments) as ctx:
            cli.invoke(ctx)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.UsageError as error:
        command = f"usmo {error.ctx.info_name}" if error.ctx is not None and error.ctx.parent else "usmo"
        return failed(f"{error.format_message().rstrip('.')} ({command} --help)", 2)
    except click.ClickException as error:
        return failed(error.format_message(), 1)
    return 0
