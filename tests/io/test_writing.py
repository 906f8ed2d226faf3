"""A file is written whole or not at all."""

import os

import pytest

from tests.tables import SMALL, put
from usmo.io import TableError, write


def test_standard_output_gets_the_same_text_as_a_file(tmp_path, capfdbinary):
    write(SMALL, tmp_path / "t.csv")
    write(SMALL, "-")
    assert capfdbinary.readouterr().out == (tmp_path / "t.csv").read_bytes()


def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    put(tmp_path, "old\n")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TableError, match=r"cannot be written \(No space left on device\)"):
        write(SMALL, tmp_path / "data.csv")
    assert os.listdir(tmp_path) == ["data.csv"]
    assert (tmp_path / "data.csv").read_text() == "old\n"
    with pytest.raises(TableError, match="cannot be written"):
        write(SMALL, tmp_path / "nowhere" / "t.csv")
    with pytest.raises(TableError, match="npz files cannot be written: accepted are csv, tsv, parquet, jsonl"):
        write(SMALL, tmp_path / "t.npz")


def test_writing_follows_links_and_does_not_replace_devices(tmp_path):
    path = put(tmp_path, "old\n")
    (tmp_path / "link.csv").symlink_to(path)
    write({"a": [1, 2]}, tmp_path / "link.csv")
    assert path.read_text() == "a\n1\n2\n"
    assert (tmp_path / "link.csv").is_symlink()
    write([{"a": 1}], "/dev/null", format="csv")
    assert not os.path.isfile("/dev/null")
