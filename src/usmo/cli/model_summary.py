"""What a model file says about itself in words: made when and from what, prior, λ, kernel, columns and quality."""

from __future__ import annotations

import datetime
from typing import Any

from usmo.cli.answers import gap_sentence, marked_sentence, prior_origin
from usmo.columns import TableEncoder
from usmo.estimators.counts import Counts
from usmo.report.doubts import Quality
from usmo.system.words import quantity


def summary_of(
    encoder: TableEncoder, counts: Counts | None, quality: Quality | None, command: str
) -> dict[str, Any]:
    """The summary that a model file stores, as JSON values."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "made": now.isoformat(sep=" ", timespec="seconds"),
        "command": command,
        "known_positives": None if counts is None else counts.positives,
        "marked": None if counts is None else marked_sentence(counts),
        "quality": None if quality is None else quality._asdict(),
        "columns": encoder.summary(),
    }


def lines_of(path: str, description: dict[str, Any]) -> list[str]:
    """A model file in some lines, from :func:`usmo.files.describe`."""
    extra = description.get("extra") or {}
    summary, fitted = extra.get("summary") or {}, description.get("fitted") or {}
    roles, training = extra.get("columns") or {}, extra.get("training") or {}
    lines = [f"{path}: {fitted.get('class') or description['class']}"]
    made = f" on {summary['made']}" if summary.get("made") else ""
    lines.append(f"made{made} with usmo {description['usmo']}, scikit-learn {description['scikit-learn']}")
    if extra.get("source"):
        rows = f", {quantity(training['rows'], 'row')}" if training.get("rows") else ""
        known = summary.get("known_positives")
        lines.append(f"from {extra['source']}{rows}" + (f", {quantity(known, 'known positive')}" if known else ""))
    if summary.get("command"):
        lines.append(f"command: {summary['command']}")
    asked = (extra.get("options") or {}).get("lam", fitted.get("lam"))  # --kernel auto fits with a number
    lines += _numbers(fitted, asked, assumed=bool(summary.get("prior_assumed")), implied=_is_implied(extra))
    quality = summary.get("quality")
    if quality:
        lines.append(
            f"quality on held-out rows, estimated: recall {quality['recall']:.2f}, "
            f"precision {quality['precision']:.2f}, AUC {quality['auc']:.2f}"
        )
    if summary.get("marked"):
        lines.append(summary["marked"])
    certificate = description.get("certificate") or {}
    if isinstance(certificate.get("relative_gap"), float):
        lines.append(gap_sentence(certificate["relative_gap"]))
    lines += [f"{name}: {value}" for name, value in roles.items() if value]
    lines += [f"{name}: {value}" for name, value in (extra.get("options") or {}).items()]
    if summary.get("columns"):
        lines += ["columns:", *(f"  {line}" for line in summary["columns"])]
    return [*lines, f"{quantity(description['bytes'], 'byte')}; --json shows arrays, checksums and all parameters"]


def _is_implied(extra: dict[str, Any]) -> bool:
    """Whether the prior follows from a column of propensities."""
    column, prior = (extra.get("columns") or {}).get("propensity"), (extra.get("options") or {}).get("prior")
    return column is not None and prior == "estimate"


def _numbers(fitted: dict[str, Any], asked: Any, *, assumed: bool, implied: bool) -> list[str]:
    """Prior, λ and kernel; ``asked`` is the λ that was asked for, a number or a word."""
    lines = []
    prior, interval, lam = (fitted.get(name) for name in ("prior_", "prior_interval_", "lam_"))
    if isinstance(prior, float):
        ends = interval if isinstance(interval, list | tuple) else None
        origin = prior_origin(ends, assumed=assumed, implied=implied)
        lines.append(f"prior {prior:.4f} ({origin})")
    if isinstance(lam, float):
        origins = {"cv": "chosen by cross-validation", "auto": "the default of the kernel"}
        lines.append(f"lambda {lam:.3g} ({origins.get(str(asked), 'given')})")
    kernel = fitted.get("kernel")
    lines.append(f"kernel {kernel}" if isinstance(kernel, str) else "kernel linear")
    return lines
