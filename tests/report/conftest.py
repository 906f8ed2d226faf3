"""The model, rows and page that most tests of the report use."""

import pytest

from tests.report.pages import table
from usmo import PUSVC
from usmo.report import build


@pytest.fixture(scope="module")
def rows():
    return table()


@pytest.fixture(scope="module")
def model(rows):
    return PUSVC(lam=0.01).fit(*rows)


@pytest.fixture(scope="module")
def text(model, rows):
    return build(model=model, X=rows[0], known=rows[1], source="table.csv")
