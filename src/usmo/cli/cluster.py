"""``usmo fit --scheduler``: read, encode and fit a folder of Parquet files on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from scipy import sparse

import usmo.dask
from usmo.cli.answers import fit_sentences
from usmo.cli.features import encoder_of, with_kernel
from usmo.cli.messages import Messages, command, put_json
from usmo.cli.model_summary import summary_of
from usmo.cli.options import TableOptions
from usmo.cli.outputs import Outputs
from usmo.cli.task import classifier, describe_table, excluded_columns, need_columns, pipeline
from usmo.columns import TableEncoder
from usmo.files import save
from usmo.io import Sheet, TableError, read
from usmo.io.labels import label_kinds
from usmo.io.libraries import polars
from usmo.system.extras import load_extra

_SAMPLED = 200_000
"""Rows, about, from which the encoding of the columns is learnt."""

_TIMEOUT = 20
"""Seconds in which a scheduler must answer."""


class _FileSample(NamedTuple):
    """Rows of a file, how many of them are known positives and negatives, and a sample of its feature columns."""

    rows: int
    known: int
    negatives: int
    frame: Any


def fit(
    scheduler: str, table: TableOptions, model_file: str, as_json: bool, quiet: bool, dry_run: bool,
    options: dict[str, Any],
) -> None:  # fmt: skip
    """Fit to the files of a folder and save the model with its preprocessing."""
    paths = _parquet_files(table)
    refused = {name: getattr(table, name) for name in ("propensity_column", "group_column", "embeddings")}
    refused |= {name: options[name] for name in ("propensity", "propensity_columns")}
    for name, value in refused.items():
        if value is not None:
            raise click.BadParameter("does not go with --scheduler", param_hint=f"--{name.replace('_', '-')}")
    with Messages(quiet) as messages, Outputs() as outputs, _connected(scheduler) as client:
        samples = _samples(client, paths, table)
        counts = {
            "rows": sum(sample.rows for sample in samples),
            "known_positives": sum(sample.known for sample in samples),
            "known_negatives": sum(sample.negatives for sample in samples),
        }
        if table.negative is None:
            del counts["known_negatives"]
        encoder = _encoder(paths, samples, table)
        options = with_kernel(options, encoder, counts["rows"], messages, cluster=True)
        describe_table(messages, f"{table.data}: {len(paths)} parts", counts, encoder)
        width = len(encoder.get_feature_names_out())
        plan = {**counts, "parts": len(paths), "features": width}
        if dry_run:
            put_json({"would": "fit", **plan, **options, "scheduler": scheduler, "write": {"model": model_file}})
            return
        X, y = _distributed_table(paths, [sample.rows for sample in samples], table, encoder, width)
        model = classifier(**options, verbose=1 if messages.live else 0, package=usmo.dask)
        messages.say(f"fitting on {len(client.nthreads())} workers")
        with messages.during_fit():
            model.fit(X, y)
        with outputs.file(model_file) as stream:
            summary = summary_of(encoder, None, None, command())
            extra = {"columns": table.roles, "source": table.data, "options": options, "summary": summary}
            save(pipeline(encoder, model.local()), stream, extra=extra)
        for line in fit_sentences(model, assumed=False):
            messages.say(line)
        outputs.put()
        result = {"prior": model.prior_, "lam": model.lam_, "certificate": asdict(model.certificate_)}
        put_json({**plan, **result, "model": model_file}) if as_json else click.echo(model_file)


def _parquet_files(table: TableOptions) -> list[str]:
    if table.format not in (None, "parquet"):
        raise click.BadParameter(f"must be parquet with --scheduler, got {table.format!r}", param_hint="--format")
    if not Path(table.data).is_dir():
        raise TableError(f"{table.data} is no folder: with --scheduler, give a folder of Parquet files")
    paths = sorted(str(path.resolve()) for path in Path(table.data).glob("*.parquet"))
    if not paths:
        raise TableError(f"no .parquet files in {table.data}")
    return paths


@contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    distributed = load_extra("distributed", "--scheduler needs Dask", "dask")
    try:
        client = distributed.Client(scheduler, timeout=_TIMEOUT)
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"no scheduler at {scheduler} ({error})", param_hint="--scheduler") from None
    with client:
        if not client.nthreads():
            raise click.BadParameter(f"{scheduler} has no workers: start dask worker", param_hint="--scheduler")
        yield client


def _samples(client: Any, paths: list[str], table: TableOptions) -> list[_FileSample]:
    """A sample of each file, taken by the workers; an error if no row or every row is a known positive."""
    most = -(-_SAMPLED // len(paths))
    samples = client.gather(
        [
            client.submit(_file_sample, path, table.roles, table.max_bytes, most, k, pure=False)
            for k, path in enumerate(paths)
        ]
    )
    rows, known = sum(sample.rows for sample in samples), sum(sample.known for sample in samples)
    if known in (0, rows):
        raise TableError(
            f"{known:,} of {rows:,} rows have {table.positive!r} in column {table.label_column!r} of {table.data}: "
            "some must, and some must not"
        )
    return list(samples)


def _file_sample(path: str, roles: dict[str, Any], max_bytes: float | None, most: int, seed: int) -> _FileSample:
    excluded = excluded_columns(roles)
    sheet = read(path, text=excluded, max_bytes=max_bytes).with_missing(roles["missing"], excluded)
    need_columns(sheet, roles)
    kinds = label_kinds(sheet, roles["label"], roles["positive"], roles["negative"])
    known, negatives = (int(np.count_nonzero(kinds == kind)) for kind in (1, -1))
    n = sheet.n_rows
    rows = np.sort(np.random.default_rng(seed).choice(n, min(n, most), replace=False))
    return _FileSample(n, known, negatives, sheet.drop(excluded).take(rows).frame)


def _encoder(paths: list[str], samples: list[_FileSample], table: TableOptions) -> TableEncoder:
    """The encoder of all files, fitted to the samples. Text is learnt from if an option names it: it is wide."""
    names = samples[0].frame.columns
    for path, sample in zip(paths, samples, strict=True):
        missing = [name for name in names if name not in sample.frame.columns]
        if missing:
            raise TableError(f"{path} has no column {missing[0]!r}, which {paths[0]} has: correct the files")
    frames = [sample.frame.select(names) for sample in samples]
    encoder = encoder_of(table._replace(no_text=True), unknown="ignore")
    return encoder.fit(Sheet(polars().concat(frames, how="vertical_relaxed"), source=table.data))


def _encoded(
    path: str, roles: dict[str, Any], max_bytes: float | None, encoder: TableEncoder
) -> tuple[Any, np.ndarray]:
    """The encoded rows of a file and their labels."""
    excluded = excluded_columns(roles)
    sheet = read(path, text=excluded, max_bytes=max_bytes).with_missing(roles["missing"], excluded)
    kinds = label_kinds(sheet, roles["label"], roles["positive"], roles["negative"])
    return encoder.transform(sheet.drop(excluded)), kinds.astype(int)


def _distributed_table(
    paths: list[str], rows: list[int], table: TableOptions, encoder: TableEncoder, width: int
) -> tuple[Any, Any]:
    """The encoded table and its labels as Dask arrays, one block per file."""
    dask, arrays = (load_extra(name, "--scheduler needs Dask", "dask") for name in ("dask", "dask.array"))
    meta = sparse.csr_matrix((0, width)) if encoder.sparse_output_ else None
    X, y = [], []
    for path, n in zip(paths, rows, strict=True):
        block = dask.delayed(_encoded, nout=2, pure=True)(path, table.roles, table.max_bytes, encoder)
        X.append(arrays.from_delayed(block[0], (n, width), np.float64, meta=meta))
        y.append(arrays.from_delayed(block[1], (n,), int))
    return arrays.concatenate(X), arrays.concatenate(y)
