"""Options that several commands share, and how they speak."""

from __future__ import annotations

import contextlib
import json
import math
import sys
import warnings
from collections.abc import Callable
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _prior(_ctx: click.Context, _param: click.Parameter, value: str) -> float | str:
    return _word_or_number(value, ("estimate",), 1.0, "a number between 0 and 1")


def _lam(_ctx: click.Context, _param: click.Parameter, value: str) -> float | str:
    return _word_or_number(value, ("cv",), math.inf, "a positive number")


def _gamma(_ctx: click.Context, _param: click.Parameter, value: str) -> float | str:
    return _word_or_number(value, ("scale", "auto"), math.inf, "a positive number")


def _word_or_number(value: str, words: tuple[str, ...], below: float, accepted: str) -> float | str:
    """One of the words as it is, else a number above 0 and below a limit."""
    if value in words:
        return value
    with contextlib.suppress(ValueError):
        if 0 < (number := float(value)) < below:
            return number
    raise click.BadParameter(f"must be {', '.join(map(repr, words))} or {accepted}, got {value!r}")


def together(*options: Decorator) -> Decorator:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


TABLE = together(
    click.argument("data"),
    click.option("--label-column", required=True, help="The column that says which rows are known positives."),
    click.option("--positive", default="1", show_default=True, help="Its value for a known positive."),
    click.option("--id-column", help="A column that names the rows; not learnt from."),
    click.option("--ignore", multiple=True, help="A column not to learn from; may be given again."),
    click.option(
        "--format", "kind", help="csv, tsv, parquet, feather, jsonl, npz or svmlight; else by file name."
    ),
)
SCENARIO = click.option(
    "--scenario",
    type=click.Choice(["case-control", "censored"]),
    default="case-control",
    show_default=True,
    help="Were positives and unlabelled rows drawn separately, or positives labelled inside one sample?",
)
LEARNING = together(
    click.option("--prior", default="estimate", show_default=True, callback=_prior, help="Share of positives."),
    SCENARIO,
)
KERNEL = click.option(
    "--kernel", type=click.Choice(["rbf", "linear", "poly"]), default="rbf", show_default=True, help="Shape of f."
)
SEED = click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of folds and samples.")
MODEL = together(
    click.option("--lam", default="cv", show_default=True, callback=_lam, help="Regularisation."),
    KERNEL,
    click.option("--gamma", default="scale", show_default=True, callback=_gamma, help="Kernel coefficient."),
    click.option(
        "--approximation",
        type=click.Choice(["none", "nystroem", "rff"]),
        default="none",
        show_default=True,
        help="A low-rank kernel, for hundreds of thousands of rows.",
    ),
    SEED,
)
SPEECH = together(
    click.option("--json", "as_json", is_flag=True, help="The result as JSON on stdout."),
    click.option("--quiet", is_flag=True, help="Errors only on stderr."),
    click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing."),
)


class Speech:
    """Says things on stderr, one line each; warnings of the library as well, each once."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.live = not quiet and sys.stderr.isatty()
        self._noted: set[str] = set()

    def say(self, text: str) -> None:
        if not self.quiet:
            with contextlib.suppress(OSError):
                print(f"usmo: {text}", file=sys.stderr, flush=True)

    def over_a_fit(self) -> contextlib.AbstractContextManager[None]:
        """A quiet fit does not announce that it compiles either."""
        if not self.quiet:
            return contextlib.nullcontext()
        from usmo.system.compilation import silent

        return silent()

    def _note(self, message: Warning | str, *_place: Any, **_more: Any) -> None:
        text = " ".join(str(message).split())
        if text not in self._noted:
            self._noted.add(text)
            self.say(f"note: {text}")

    def __enter__(self) -> Speech:
        self._caught = warnings.catch_warnings()
        self._caught.__enter__()
        warnings.simplefilter("always")
        for addressed_to_developers in (
            DeprecationWarning,
            PendingDeprecationWarning,
            FutureWarning,
            ResourceWarning,
        ):
            warnings.simplefilter("ignore", addressed_to_developers)
        warnings.showwarning = self._note
        return self

    def __exit__(self, *error: Any) -> None:
        self._caught.__exit__(*error)


def put_json(value: dict[str, Any]) -> None:
    """One JSON object on stdout; numbers that JSON has no form for as text."""
    click.echo(json.dumps(_plain(value), ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def as_rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Columns as a list of rows, for JSON."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
