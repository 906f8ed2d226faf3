"""``usmo demo``: the classifier on data that ships with scikit-learn, or a table to try the other commands on."""

from __future__ import annotations

from typing import Any

import click
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

import usmo.report
from usmo import PUSVC
from usmo.cli.messages import Messages, put_json
from usmo.cli.outputs import Outputs, check_targets
from usmo.datasets import make_pu
from usmo.io import write

_KNOWN_DIGITS, _KNOWN_TUMOURS = 40, 60


def demo(report: str | None, write_table: str | None, as_json: bool) -> None:
    """Find hidden 3s among digits, or write the table."""
    check_targets([], {"--report": report}, {"--write-table": write_table})
    if write_table is None:
        _find_digits(report, as_json)
    elif report is not None:
        raise click.BadParameter("does not go with --write-table", param_hint="--report")
    else:
        _write_cancer_table(write_table, as_json)


def _find_digits(report: str | None, as_json: bool) -> None:
    X, digit = load_digits(return_X_y=True)
    X = X / 16.0
    known, true_prior = make_pu(digit == 3, n_positives=_KNOWN_DIGITS, random_state=0)
    with Messages(quiet=False), Outputs() as outputs:
        model = PUSVC().fit(X, known)
        f = model.decision_function(X)
        if report is not None:
            with outputs.file(report) as stream:
                usmo.report.write(
                    stream, model=model, X=X, known=known == 1, f=f, source="scikit-learn's digits",
                    title="Find the 3s",
                )  # fmt: skip
        outputs.put()
    hidden, marked = digit[known == 0] == 3, f[known == 0] > 0
    result = {
        "known_positives": _KNOWN_DIGITS,
        "unlabelled": len(hidden),
        "prior": model.prior_,
        "true_prior": float(true_prior),
        "relative_gap": model.certificate_.relative_gap,
        "f1": float(f1_score(hidden, marked)),
        "precision": float(precision_score(hidden, marked)),
        "recall": float(recall_score(hidden, marked)),
        "auc": float(roc_auc_score(hidden, f[known == 0])),
    }
    if as_json:
        put_json(result)
        return
    for name, value in result.items():
        click.echo(f"{name}: {value:.4g}" if isinstance(value, float) else f"{name}: {value}")


def cancer_table() -> dict[str, list[Any]]:
    """Breast Cancer Wisconsin (Diagnostic), UCI, CC BY 4.0, with most labels hidden.

    The columns are ``id``, the 30 measurements, and ``known``: "yes" for 60 of the 212 malignant rows, else empty.
    """
    data = load_breast_cancer()
    malignant = data.target == list(data.target_names).index("malignant")
    known, _ = make_pu(malignant, n_positives=_KNOWN_TUMOURS, random_state=0)
    names = [str(name).replace(" ", "_") for name in data.feature_names]
    columns = {name: values.tolist() for name, values in zip(names, data.data.T, strict=True)}
    ids = [f"tumour-{k:03d}" for k in range(1, len(known) + 1)]
    return {"id": ids, **columns, "known": ["yes" if each else None for each in known]}


def _write_cancer_table(target: str, as_json: bool) -> None:
    table = cancer_table()
    if target == "-":
        write(table, "-")
        return
    with Messages(quiet=False), Outputs() as outputs:
        with outputs.file(target) as stream:
            write(table, stream)
        outputs.put()
    rows = {"table": target, "rows": len(table["id"]), "known_positives": _KNOWN_TUMOURS}
    put_json(rows) if as_json else click.echo(target)
