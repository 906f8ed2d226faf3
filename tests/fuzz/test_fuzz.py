"""The first files of each fuzz target; ``make fuzz`` tries other ones for longer."""

import pytest

from tests.fuzz.__main__ import NAMES, run


@pytest.mark.parametrize("name", NAMES)
def test_no_file_breaks_a_reader(name, tmp_path):
    faults, text = run(name, tmp_path, 0, files=200)
    assert faults == 0, text
