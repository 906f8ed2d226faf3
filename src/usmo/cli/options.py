"""Options that several commands share."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _prior(_ctx: click.Context, _param: click.Parameter, value: str) -> float | str:
    return _word_or_number(value, ("estimate",), 1.0, "a number between 0 and 1")


def _lam(_ctx: click.Context, _param: click.Parameter, value: str) -> float | str:
    return _word_or_number(value, ("auto", "cv"), math.inf, "a positive number")


def _class_weight(_ctx: click.Context, _param: click.Parameter, value: str) -> str | float | None:
    if value in ("balanced", "none"):
        return None if value == "none" else value
    with contextlib.suppress(ValueError):
        if 1 <= (number := float(value)) < math.inf:
            return number
    raise click.BadParameter(f"must be 'balanced', 'none' or a number of at least 1, got {value!r}")


def _gamma(_ctx: click.Context, _param: click.Parameter, value: str) -> float | str:
    return _word_or_number(value, ("scale", "auto"), math.inf, "a positive number")


def _kinds(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = [value.rpartition("=") for value in values]
    for (name, _, kind), value in zip(pairs, values, strict=True):
        if not name or not kind:
            raise click.BadParameter(f"must be COLUMN=KIND, such as price=number, got {value!r}")
    return tuple((name, kind) for name, _, kind in pairs)


def _word_or_number(value: str, words: tuple[str, ...], below: float, accepted: str) -> float | str:
    """One of the words, or a number above 0 and below a limit."""
    if value in words:
        return value
    with contextlib.suppress(ValueError):
        if 0 < (number := float(value)) < below:
            return number
    raise click.BadParameter(f"must be {', '.join(map(repr, words))} or {accepted}, got {value!r}")


def together(*options: Decorator) -> Decorator:
    """Several options as one decorator."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class TableOptions(NamedTuple):
    """A table and the roles of its columns."""

    data: str
    label_column: str
    positive: str
    negative: str | None
    propensity_column: str | None
    group_column: str | None
    id_column: str | None
    ignore: tuple[str, ...]
    text_column: tuple[str, ...]
    no_text: bool
    embedding_column: tuple[str, ...]
    embeddings: str | None
    kind: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    format: str | None
    encoding: str | None
    max_bytes: float | None

    @property
    def source(self) -> str:
        """The table's name for messages."""
        return "standard input" if self.data == "-" else self.data

    @property
    def files(self) -> list[str | None]:
        """The inputs: the table, and the vectors beside it."""
        return [self.data, self.embeddings]

    @property
    def roles(self) -> dict[str, Any]:
        """The columns by role, as a model file stores them."""
        ignored = list(self.ignore)
        return {
            "label": self.label_column, "positive": self.positive, "negative": self.negative,
            "propensity": self.propensity_column, "group": self.group_column, "id": self.id_column, "ignore": ignored,
            "missing": list(self.missing),
        }  # fmt: skip


READING = together(
    click.option(
        "--format",
        help="Format of DATA: csv, tsv, xlsx (any workbook), parquet, feather, jsonl, npz, svmlight, zip, sqlite, "
        "duckdb; by default from its name.",
    ),
    click.option("--encoding", help="Encoding of DATA, such as cp1252; by default UTF-8, or else it is detected."),
    click.option(
        "--missing",
        multiple=True,
        metavar="TEXT",
        help="A value that means missing, beside the usual ones (NA, n.a., unknown, ...); may be given again.",
    ),
    click.option(
        "--max-bytes",
        type=click.FloatRange(0, min_open=True),
        help="Refuse DATA if it takes more memory, such as 8e9; by default 1 GiB, or 100 times its size if more, but "
        "at most half of the free memory.",
    ),
)
EMBEDDINGS = click.option(
    "--embeddings",
    metavar="FILE.npy",
    help="A matrix of numbers with a row for each row of DATA, to learn from too.",
)
EMBEDDINGS_OF_MODEL = click.option(
    "--embeddings",
    metavar="FILE.npy",
    help="The matrix of numbers with a row for each row of DATA; needed if the model was fitted with --embeddings.",
)
COLUMNS = together(
    click.option("--id-column", help="A column that names the rows; not learnt from."),
    click.option("--ignore", multiple=True, help="A column not to learn from; may be given again."),
    click.option(
        "--text-column", multiple=True,
        help="A column of text to learn from by its words, whatever it looks like; may be given again.",
    ),
    click.option("--no-text", is_flag=True, help="Learn from no text but that of --text-column."),
    click.option(
        "--embedding-column", multiple=True,
        help="A column with a list of numbers in every row (Parquet, JSON lines); may be given again.",
    ),
    EMBEDDINGS,
    click.option(
        "--kind", multiple=True, metavar="COLUMN=KIND", callback=_kinds,
        help="A column is a number, category, date, text, boolean, or ignore; or is written with decimal-comma, "
        "decimal-point, day-first, month-first. May be given again.",
    ),
    READING,
)  # fmt: skip
TABLE = together(
    click.argument("data"),
    click.option("--label-column", required=True, help="The column that says which rows are known positives."),
    click.option("--positive", default="1", show_default=True, help="Its value for a known positive."),
    click.option("--negative", help="Its value for a known negative; rows with any other value are unlabelled."),
    click.option(
        "--propensity-column",
        help="A column with the probability that a positive is known, 0 to 1, for --scenario censored.",
    ),
    click.option(
        "--group-column",
        help="A column with the group of each row, such as a patient; not learnt from. Rows of one group stay together "
        "where rows are held out.",
    ),
    COLUMNS,
)
SCENARIO = click.option(
    "--scenario",
    type=click.Choice(["case-control", "censored"]),
    default="case-control",
    show_default=True,
    help="case-control: known positives and unlabelled rows come from two sources. censored: DATA is one sample, and "
    "some of its positives were labelled.",
)
LEARNING = together(
    click.option(
        "--prior", default="estimate", show_default=True, callback=_prior,
        help="Share of positives among the unlabelled rows (among all rows if censored), between 0 and 1.",
    ),
    click.option(
        "--class-weight", default="balanced", show_default=True, callback=_class_weight,
        help="Cost of a missed positive, 1 or more, where a false alarm costs 1. none: both cost the same. balanced: "
        "both classes have the same total weight, unless most rows are positive.",
    ),
    SCENARIO,
)  # fmt: skip
LEARNED = ("auto", "forest+rbf", "forest")
"""Kernels that are learned from the table, or chosen by it."""

KERNEL = click.option(
    "--kernel", type=click.Choice([*LEARNED, "rbf", "linear", "poly"]),
    help="Kernel of the decision function. By default linear for text and for sparse tables too large for trees; else "
    "forest+rbf, learned trees and rbf, or forest for many rows. auto compares forest+rbf, forest, rbf and linear on "
    "held-out rows.",
)  # fmt: skip
SEED = click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of folds and samples."
)
MODEL = together(
    click.option(
        "--lam", default="auto", show_default=True, callback=_lam,
        help="Regularisation λ; auto is the default of the kernel, cv chooses it by cross-validation.",
    ),
    KERNEL,
    click.option(
        "--gamma", default="scale", show_default=True, callback=_gamma,
        help="γ of the kernels rbf, poly and forest+rbf: a number, or scale or auto as in scikit-learn's SVC.",
    ),
    click.option(
        "--approximation",
        type=click.Choice(["none", "nystroem", "rff"]),
        default="none",
        show_default=True,
        help="A low-rank kernel, for hundreds of thousands of rows.",
    ),
    click.option(
        "--propensity", type=click.Choice(["estimate"]),
        help="Estimate how likely a positive is known, for --scenario censored: it increases with the score, or "
        "depends on --propensity-columns.",
    ),
    click.option(
        "--propensity-columns", metavar="A,B",
        help="Columns that decide how likely a positive is known; implies --propensity estimate.",
    ),
    SEED,
)  # fmt: skip
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
PRINTING = together(
    JSON,
    click.option("--quiet", is_flag=True, help="Print nothing but errors on stderr."),
    click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing."),
)
