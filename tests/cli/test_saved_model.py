"""What a saved model says on the command line: of the mixture of another table, and where its λ came from."""

import json
import re

import pytest

from tests.cli.command_line import FIXED, LABELS, called, table
from usmo.cli import main


def fitted(folder, capfd, known, *options):
    """A model file of 60 rows, this many of them known positives, and the table."""
    data, model = folder / "t.csv", folder / "m.usmo"
    data.write_bytes(table(known=known))
    called(capfd, "fit", data, *FIXED, "--model", model, *options)
    return model, data


def said_by(capfd, *arguments):
    capfd.readouterr()
    assert main([str(each) for each in arguments]) == 0
    return capfd.readouterr()


def test_json_of_an_adapted_model_has_the_share_its_interval_and_the_drift(tmp_path, capfd):
    asked = ["predict", *fitted(tmp_path, capfd, 20), "--json"]
    said = said_by(capfd, *asked, "--adapt")
    answer = json.loads(said.out)
    assert set(answer) == {"prior", "prior_interval", "drift", "rows"}
    low, high = answer["prior_interval"]
    assert 0 < low <= answer["prior"] <= high < 1
    assert 0 <= answer["drift"] <= 1
    words = f"is {answer['prior']:.3f}, between {low:.3f} and {high:.3f} (0.200 in training); drift"
    assert f"{words} {answer['drift']:.2f}" in said.err
    assert json.loads(called(capfd, *asked, "--adapt", "--quiet")) == answer
    assert set(json.loads(called(capfd, *asked))) == {"rows"}


@pytest.mark.parametrize(
    ("known", "kernel", "is_unsure"),
    [(19, "forest", True), (19, "forest+rbf", True), (20, "forest+rbf", False), (19, "rbf", False),
     (19, "linear", False)],
)  # fmt: skip
def test_a_share_adapted_by_trees_from_few_known_positives_is_called_unsure(
    tmp_path, capfd, known, kernel, is_unsure
):
    said = said_by(capfd, "predict", *fitted(tmp_path, capfd, known, "--kernel", kernel), "--adapt").err
    note = f"the trees of the kernel {kernel} have seen the labels: with as few as 19 known positives, the share"
    assert (note in said) == is_unsure
    assert is_unsure or "have seen" not in said


@pytest.mark.parametrize("kernel", ["auto", "rbf", "linear"])
@pytest.mark.parametrize(
    ("lam", "origin"),
    [("cv", "chosen by cross-validation"), ("auto", "the default of the kernel"), ("0.01", "given")],
)
def test_inspect_says_where_lambda_came_from(tmp_path, capfd, kernel, lam, origin):
    data, model = tmp_path / "t.csv", tmp_path / "m.usmo"
    data.write_bytes(table())
    called(capfd, "fit", data, *LABELS, "--prior", "0.2", "--lam", lam, "--kernel", kernel, "--model", model)
    assert re.search(rf"^lambda \S+ \({origin}\)$", called(capfd, "inspect", model), re.MULTILINE)
