"""Commands that show what the software does: demo, reproduce, bench."""

from __future__ import annotations

import time
from pathlib import Path

import click

from usmo.cli import interrupts
from usmo.cli.options import Speech, put_json
from usmo.cli.outputs import Outputs, check_targets


@click.command(epilog="\b\nExample: usmo demo --report demo.html")
@click.option("--report", help="Also write the report page to this file.")
@click.option("--json", "as_json", is_flag=True, help="The result as JSON on stdout.")
def demo(report: str | None, as_json: bool) -> None:
    """Hide most labels of scikit-learn's digits, find the hidden 3s again, and compare with the truth."""
    check_targets([], {"--report": report})
    from sklearn.datasets import load_digits
    from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

    from usmo import PUSVC
    from usmo.datasets import make_pu

    X, digit = load_digits(return_X_y=True)
    X = X / 16.0
    known, true = make_pu(digit == 3, n_positives=40, random_state=0)
    with Speech(quiet=False):
        model = PUSVC().fit(X, known)
    hidden, truth = X[known == 0], digit[known == 0] == 3
    found = model.predict(hidden) == 1
    result = {
        "known_positives": 40,
        "unlabelled": len(truth),
        "prior": model.prior_,
        "true_prior": float(true),
        "relative_gap": model.certificate_.relative_gap,
        "f1": float(f1_score(truth, found)),
        "precision": float(precision_score(truth, found)),
        "recall": float(recall_score(truth, found)),
        "auc": float(roc_auc_score(truth, model.decision_function(hidden))),
    }
    if report is not None:
        from usmo import report as page

        with Outputs() as outputs:
            with outputs.file(report) as place:
                page.write(
                    place, model=model, X=X, known=known == 1, source="scikit-learn's digits", title="Find the 3s"
                )
            outputs.put()
    if as_json:
        put_json(result)
        return
    for name, value in result.items():
        click.echo(f"{name}: {value:.4g}" if isinstance(value, float) else f"{name}: {value}")


@click.command(epilog="\b\nExample: usmo reproduce tables --draws 10 --out out/reproduction")
@click.argument("what", type=click.Choice(["tables", "figures"]))
@click.option("--draws", type=click.IntRange(1), default=10, show_default=True, help="tables: draws of the labels")
@click.option(
    "--out", type=Path, default=Path("out/reproduction"), show_default=True, help="folder for CSV and HTML"
)
@click.option("--jobs", type=click.IntRange(1), help="tables: processes; as many as cores by default")
@click.option("--quick", is_flag=True, help="a small part, in half a minute")
def reproduce(what: str, draws: int, out: Path, jobs: int | None, quick: bool) -> None:
    """The paper's TABLES of F-measures, or its FIGURES of time and F-measure against the number of rows."""
    interrupts.raise_instead()
    interrupts.would_mean("what was computed is kept, the same command goes on from there")
    with Speech(quiet=False):
        click.echo(_figures(out, quick) if what == "figures" else _tables(out, draws, jobs, quick))


def _tables(out: Path, draws: int, jobs: int | None, quick: bool) -> Path:
    from usmo.reproduce import report, stopping, tables
    from usmo.system.atomic import write_whole

    rows = tables.run(out, min(2, draws) if quick else draws, quick=quick, jobs=jobs)
    found = stopping.run(out, names=tables.QUICK) if quick else stopping.run(out)
    write_whole(out / "averages.md", report.markdown(rows).encode())
    return report.write(out, rows, found)


def _figures(out: Path, quick: bool) -> Path:
    from usmo.reproduce import figure_report, figures

    rows = figures.run(out, quick=quick)
    course = figures.passes((500, 1000)) if quick else figures.passes()
    return figure_report.write(out, rows, course)


@click.command(epilog="\b\nExample: usmo bench --sizes 1000 --sizes 4000")
@click.option(
    "--sizes", type=click.IntRange(100, 200_000), multiple=True, default=(1000, 2000, 4000), show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="The result as JSON on stdout.")
def bench(sizes: tuple[int, ...], as_json: bool) -> None:
    """Fit poker hands of growing number with PUSVC and with SVC (unlabelled = negative), best of three."""
    import numpy as np
    from sklearn.svm import SVC

    from usmo import PUSVC
    from usmo.datasets import make_poker_hands, make_pu

    rows: list[dict[str, float]] = []
    for n in sizes:
        X, hand = make_poker_hands(n, random_state=0)
        X = X / 13.0
        known, prior = make_pu(hand == 0, n_positives=min(100, n // 10), random_state=0)
        if not rows:
            PUSVC(prior).fit(X[:100], np.arange(100) < 10)  # compiles
        ours, theirs, model = [], [], None
        for _ in range(3):
            began = time.perf_counter()
            model = PUSVC(prior).fit(X, known)
            ours.append(time.perf_counter() - began)
            began = time.perf_counter()
            SVC().fit(X, known)
            theirs.append(time.perf_counter() - began)
        assert model is not None
        rows.append(
            {
                "rows": n,
                "seconds": round(min(ours), 4),
                "svc_seconds_over_ours": round(min(theirs) / min(ours), 3),
                "kernel_rows": round(model.kernel_rows_, 1),
                "relative_gap": model.certificate_.relative_gap,
            }
        )
    if as_json:
        put_json({"bench": rows})
        return
    click.echo(",".join(rows[0]))
    for row in rows:
        click.echo(",".join(f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()))
