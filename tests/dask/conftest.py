import pytest

from tests.dask.clusters import threads


@pytest.fixture(scope="module")
def client():
    """A cluster of two workers that the tests of a file share."""
    with threads() as client:
        yield client
