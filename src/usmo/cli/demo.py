"""``usmo demo``: the classifier on data that ships with scikit-learn, or a made-up table to try other commands on."""

from __future__ import annotations

import click
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

import usmo.report
from usmo import PUSVC
from usmo.cli.messages import Messages, put_json
from usmo.cli.outputs import Outputs, check_targets
from usmo.datasets import make_customers, make_pu
from usmo.estimators.counts import is_marked
from usmo.io import write

_KNOWN_DIGITS = 40


def demo(report: str | None, write_table: str | None, as_json: bool) -> None:
    """Find hidden 3s among digits, or write the table."""
    check_targets([], {"--report": report}, {"--write-table": write_table})
    if write_table is None:
        _find_digits(report, as_json)
    elif report is not None:
        raise click.BadParameter("does not go with --write-table", param_hint="--report")
    else:
        _write_table(write_table, as_json)


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
    hidden, marked = digit[known == 0] == 3, is_marked(f[known == 0])
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


def _write_table(target: str, as_json: bool) -> None:
    table, _ = make_customers()
    if target == "-":
        write(table, "-")
        return
    with Messages(quiet=False), Outputs() as outputs:
        with outputs.file(target) as stream:
            write(table, stream)
        outputs.put()
    known = sum(value is not None for value in table["plan"])
    put_json({"table": target, "rows": len(table["plan"]), "known_positives": known}) if as_json else click.echo(
        target
    )
