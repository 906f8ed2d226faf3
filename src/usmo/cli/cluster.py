"""``usmo fit --scheduler``: a folder of Parquet files, read, encoded and learnt from on a cluster's workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np

from usmo.cli.options import Speech, put_json
from usmo.cli.outputs import Outputs
from usmo.cli.task import classifier, how_found, introduce, need_columns, pipeline, set_aside
from usmo.columns import TableEncoder
from usmo.io import Sheet, TableError, read
from usmo.io.libraries import polars
from usmo.io.sheet import marked
from usmo.system.extras import load_extra

_SAMPLED = 200_000
"""Rows, about, from which the columns are recognised."""

_PATIENCE = 20
"""Seconds in which a scheduler must answer."""


def fit_on_cluster(
    scheduler: str, data: str, columns: dict[str, Any], kind: str | None, model_file: str, as_json: bool,
    quiet: bool, dry_run: bool, options: dict[str, Any],
) -> None:  # fmt: skip
    """Fit to the parts of a table on a cluster and save the model with its preprocessing."""
    paths = _parts(data, kind)
    aside = set_aside(columns)
    with Speech(quiet) as speech, Outputs() as outputs, _connected(scheduler) as client:
        most = -(-_SAMPLED // len(paths))
        looks = client.gather(
            [client.submit(_looked, path, columns, aside, most, k, pure=False) for k, path in enumerate(paths)]
        )
        rows, known = [look[0] for look in looks], sum(look[1] for look in looks)
        if known == 0 or known == sum(rows):
            raise TableError(
                f"{known:,} of {sum(rows):,} rows have {columns['positive']!r} in column {columns['label']!r} of "
                f"{data}: some must, and some must not"
            )
        frames = [look[2] for look in looks]
        for path, frame in zip(paths, frames, strict=True):
            missing = [name for name in frames[0].columns if name not in frame.columns]
            if missing:
                raise TableError(f"{path} has no column {missing[0]!r}, which {paths[0]} has: mend the parts")
        frames = [frame.select(frames[0].columns) for frame in frames]
        some = Sheet(polars().concat(frames, how="vertical_relaxed"), source=data)
        encoder = TableEncoder(unknown="ignore").fit(some)
        width = len(encoder.get_feature_names_out())
        introduce(speech, f"{data}: {len(paths)} parts, {sum(rows)} rows", known, encoder)
        plan = {"rows": sum(rows), "known_positives": known, "parts": len(paths), "features": width}
        if dry_run:
            put_json({"would": "fit", **plan, **options, "scheduler": scheduler, "write": {"model": model_file}})
            return
        import usmo.dask
        from usmo.files import save

        X, y = _tables(paths, rows, columns, aside, encoder, width)
        model = classifier(**options, verbose=1 if speech.live else 0, home=usmo.dask)
        speech.say(f"fitting on {len(client.nthreads())} workers")
        with speech.over_a_fit():
            model.fit(X, y)
        extra = {"columns": columns, "source": data, "options": options}
        with outputs.file(model_file) as place:
            save(pipeline(encoder, model.local()), place, extra=extra)
        for line in how_found(model):
            speech.say(line)
        outputs.put()
        found = {
            **plan,
            "prior": model.prior_,
            "lam": model.lam_,
            "certificate": asdict(model.certificate_),
            "model": model_file,
        }
        put_json(found) if as_json else click.echo(model_file)


def _parts(data: str, kind: str | None) -> list[str]:
    if kind not in (None, "parquet"):
        raise click.BadParameter(f"must be parquet with --scheduler, got {kind!r}", param_hint="--format")
    if not Path(data).is_dir():
        raise TableError(f"{data} is no folder: with --scheduler, give a folder of Parquet files")
    found = sorted(str(path.resolve()) for path in Path(data).glob("*.parquet"))
    if not found:
        raise TableError(f"no .parquet files in {data}")
    return found


@contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    distributed = load_extra("distributed", "--scheduler needs Dask", "dask")
    try:
        client = distributed.Client(scheduler, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"no scheduler at {scheduler} ({error})", param_hint="--scheduler") from None
    with client:
        if not client.nthreads():
            raise click.BadParameter(f"{scheduler} has no workers: start dask worker", param_hint="--scheduler")
        yield client


def _looked(path: str, columns: dict[str, Any], aside: list[str], most: int, seed: int) -> tuple[int, int, Any]:
    """Rows of a part, how many of them are known positives, and some of them without the columns set aside."""
    sheet = read(path, text=aside)
    need_columns(sheet, columns)
    known = int(marked(sheet, columns["label"], columns["positive"]).sum())
    n = sheet.n_rows
    rows = np.sort(np.random.default_rng(seed).choice(n, min(n, most), replace=False))
    return n, known, sheet.drop(dict.fromkeys(aside)).take(rows).frame


def _encoded(
    path: str, columns: dict[str, Any], aside: list[str], encoder: TableEncoder
) -> tuple[Any, np.ndarray]:
    sheet = read(path, text=aside)
    known = marked(sheet, columns["label"], columns["positive"])
    return encoder.transform(sheet.drop(dict.fromkeys(aside))), known.astype(int)


def _tables(
    paths: list[str], rows: list[int], columns: dict[str, Any], aside: list[str], encoder: TableEncoder, width: int
) -> tuple[Any, Any]:
    """The encoded table and its labels, a block for each part."""
    import dask
    import dask.array as da
    from scipy import sparse

    meta = sparse.csr_matrix((0, width)) if encoder.sparse_output_ else None
    X, y = [], []
    for path, n in zip(paths, rows, strict=True):
        part = dask.delayed(_encoded, nout=2, pure=True)(path, columns, aside, encoder)
        X.append(da.from_delayed(part[0], (n, width), np.float64, meta=meta))
        y.append(da.from_delayed(part[1], (n,), int))
    return da.concatenate(X), da.concatenate(y)
