"""Wide tables on the command line: the kernel follows from their size, and propensities from a limited number."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from tests.cli.command_line import called, rows_of
from usmo import PropensityModel
from usmo.cli import main
from usmo.fitting.propensity import MOST_COLUMNS

OPTIONS = ["--label-column", "label", "--prior", "0.3", "--lam", "0.01"]
ROWS, WIDE, NARROW = 3_000, 22_400, 300  # 3,000 times 22,400 is just above the 2**26 entries that forests accept
FIRST = (
    "the kernel is linear, the default for a sparse table as large as 3,000 × 22,400; --kernel rbf changes that"
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Sparse tables of two widths; a column of its own tells the class of each row, and every fourth row is known."""
    folder = tmp_path_factory.mktemp("wide")
    for name, width in (("wide.svm", WIDE), ("narrow.svm", NARROW)):
        row = np.arange(ROWS)
        columns = np.concatenate([row % 2, 2 + row % (width - 3), np.full(ROWS, width - 1)])
        X = sparse.csr_matrix((np.ones(3 * ROWS), (np.tile(row, 3), columns)), (ROWS, width))
        dump_svmlight_file(X, (row % 4 == 0).astype(int), str(folder / name), zero_based=False)
    return folder


@pytest.mark.parametrize("kernel", [[], ["--kernel", "auto"]])
def test_the_kernel_of_a_sparse_table_too_large_for_trees_is_linear(tables, capfd, kernel):
    path = tables / "wide.svm"
    assert main(["rank", str(path), *OPTIONS, *kernel, "--output", str(tables / "o.csv")]) == 0
    assert f"usmo:   {FIRST}" in capfd.readouterr().err.splitlines()
    first = rows_of((tables / "o.csv").read_text())[:500]
    assert all(int(row["row"]) % 2 == 1 for row in first)


@pytest.mark.parametrize(
    ("table", "options", "kernel"),
    [
        ("narrow.svm", [], "forest+rbf"),
        ("narrow.svm", ["--kernel", "auto"], "auto"),
        ("narrow.svm", ["--approximation", "nystroem"], "rbf"),
        ("wide.svm", ["--kernel", "rbf"], "rbf"),
        ("wide.svm", ["--kernel", "rbf", "--approximation", "nystroem"], "rbf"),
    ],
)
def test_other_sparse_tables_and_kernels_are_as_before(tables, capfd, table, options, kernel):
    plan = json.loads(called(capfd, "rank", tables / table, *OPTIONS, *options, "--dry-run"))
    assert plan["kernel"] == kernel


def test_an_approximation_is_refused_where_the_width_makes_the_kernel_linear(tables, capfd):
    assert main(["rank", str(tables / "wide.svm"), *OPTIONS, "--approximation", "nystroem"]) == 2
    assert "--approximation: 'nystroem' does not go with the linear kernel" in capfd.readouterr().err


@pytest.fixture(scope="module")
def many():
    """A dense table with a column more than a propensity may depend on."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(100, MOST_COLUMNS + 1)), np.arange(100) < 30


def test_more_propensity_columns_than_the_limit_are_refused_by_number(many):
    X, y = many
    with pytest.raises(ValueError, match=r"^propensity_columns must name at most 500 encoded columns.* got 501"):
        PropensityModel(0.4, columns=range(MOST_COLUMNS + 1)).fit(X, y)


def test_a_command_counts_the_propensity_columns_before_it_fits(many, tmp_path, capfd):
    X, y = many
    path = tmp_path / "t.csv"
    names = [f"x{j}" for j in range(X.shape[1])]
    lines = [
        ",".join([*(f"{value:.3f}" for value in row), str(int(label))]) for row, label in zip(X, y, strict=True)
    ]
    path.write_text("\n".join([",".join([*names, "label"]), *lines]) + "\n")
    options = ["--prior", "0.4", "--label-column", "label", "--scenario", "censored", "--dry-run"]
    assert main(["rank", str(path), *options, "--propensity-columns", ",".join(names)]) == 1
    said = capfd.readouterr().err.splitlines()[-1]
    assert said.startswith("usmo: --propensity-columns must name at most 500 encoded columns")
    assert "got 501" in said
    plan = json.loads(called(capfd, "rank", path, *options, "--propensity-columns", ",".join(names[1:])))
    assert plan["propensity_columns"] == list(range(1, MOST_COLUMNS + 1))
