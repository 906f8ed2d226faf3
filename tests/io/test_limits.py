"""A small file that describes a large table is refused before the memory is allocated, unless max_bytes allows it."""

import gzip
import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import polars as pl
import pytest
import zstandard

from tests.tables import put
from usmo.cli import main
from usmo.io import TableError, read

TEXT = b"a,b\n" + b"1,2\n" * (1 << 18)
"""A megabyte that is compressed to a kilobyte."""


def npz(save=np.savez_compressed, **arrays):
    stream = io.BytesIO()
    save(stream, **arrays)
    return stream.getvalue()


def csr(*shape):
    return npz(X_data=np.ones(3), X_indices=np.arange(3), X_indptr=np.arange(4), X_shape=shape)


def frame(save):
    stream = io.BytesIO()
    getattr(pl.DataFrame({"a": pl.zeros(3_000_000, eager=True)}), save)(stream, compression="zstd")
    return stream.getvalue()


def claimed():
    """An array without values, of which the header claims 24 TB."""
    header, stream = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (3, 2**40)})
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("X.npy", header.getvalue())
    return stream.getvalue()


HOSTILE = {
    "csr.npz": csr(3, 2**40),
    "t.svm": b"1 1:2\n-1 2000000000:1\n1 2:1\n",
    "t.csv.gz": gzip.compress(TEXT) * 1200,
    "t.csv.zst": zstandard.compress(TEXT) * 1200,
}
"""Files of at most 1.3 MB. Their tables take 23 GB, 8 GB and more than 5 GB."""


def test_hostile_files_are_refused_within_300_megabytes(tmp_path):
    for name, data in HOSTILE.items():
        put(tmp_path, data, name)
    code = """
import resource, sys
import polars, sklearn.datasets, zstandard
from usmo.io import read
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000, resource.RLIM_INFINITY))
for name in sys.argv[1:]:
    try:
        read(name)
    except ValueError as error:
        print(f"{type(error).__name__}: {error}")
"""
    paths = [tmp_path / name for name in HOSTILE]
    run = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-300:]
    for path, line in zip(paths, run.stdout.splitlines(), strict=True):
        assert line.startswith(f"TableError: {path}: ")
        assert line.endswith("raise max_bytes (--max-bytes on the command line)")


@pytest.mark.parametrize(
    ("name", "data", "needs"),
    [
        ("t.csv.gz", gzip.compress(TEXT), r"the decompressed bytes need 1.0 MB"),
        ("t.csv.zst", zstandard.compress(TEXT), "the decompressed bytes need"),
        (
            "two.csv.gz",
            gzip.compress(TEXT[:400_004]) + gzip.compress(TEXT[4:600_004]),
            "the decompressed bytes need",
        ),
        ("t.csv", TEXT[:500_000], "124,999 rows of 2 columns need"),
        ("blank.csv", TEXT[:24_000] + b"\n" + TEXT[4:24_000], "11,999 rows with blank lines, .* fields need"),
        ("wide.csv", b"," * 999 + b"\n" + b"1," * 999 + b"1\n", "1 rows of 1,000 columns need"),
        ("t.jsonl", "".join(f'{{"k{i}": 1}}\n' for i in range(800)).encode(), "800 rows of 800 columns need"),
        ("t.svm", b"1 1:2\n-1 9000:1\n1 2:1\n", r"9,000 columns \(the largest index is in row 2\) need"),
        ("dense.npz", npz(X=np.zeros((30, 4000)), y=np.ones(30)), "30 rows of 4,000 columns|decompressed arrays"),
        ("bytes.npz", npz(X=np.zeros((300, 600), np.int8)), "300 rows of 600 columns need"),
        ("sparse.npz", csr(3, 9000), "3 rows of 9,000 columns need"),
        ("t.parquet", frame("write_parquet"), "3,000,000 rows of 1 columns need 24.0 MB"),
        ("t.feather", frame("write_ipc"), "the decompressed columns need 24.0 MB"),
    ],
)
def test_max_bytes_is_the_limit_of_every_format(tmp_path, name, data, needs):
    path = put(tmp_path, data, name)
    assert read(path, max_bytes=2e9).n_rows
    message = rf"{name}: .*{needs}.* or more, the limit is 1\.0 MB: correct the file, or .* raise max_bytes"
    with pytest.raises(TableError, match=message):
        read(path, max_bytes=1e6)


def test_an_array_smaller_than_its_header_claims_is_refused(tmp_path):
    with pytest.raises(TableError, match=r"claimed\.npz is damaged or not a \.npz file"):
        read(put(tmp_path, claimed(), "claimed.npz"))


def test_zero_bytes_after_a_compressed_file_are_ignored_and_other_bytes_are_not(tmp_path):
    for name, compress in (("t.csv.gz", gzip.compress), ("t.csv.zst", zstandard.compress)):
        data, second = compress(b"a\n1\n"), compress(b"2\n")
        padded = data + b"\0" * 5000
        assert read(put(tmp_path, padded, name)).frame.rows() == [(1,)]
        assert read(put(tmp_path, data + second + b"\0\0", name)).frame.rows() == [(1,), (2,)]
        with pytest.raises(TableError, match="is damaged or cut off"):
            read(put(tmp_path, data + b"junk", name))


@pytest.mark.parametrize("value", [0, -1, "8e9", float("nan")])
def test_max_bytes_must_be_positive(tmp_path, value):
    with pytest.raises(ValueError, match="max_bytes must be a positive number or None, got"):
        read(put(tmp_path, TEXT[:100]), max_bytes=value)


def test_the_commands_have_an_option_for_it(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    table = "known,x\n" + "".join(f"{'yes' if i < 9 else ''},{i % 7}\n" for i in range(4000))
    put(tmp_path, gzip.compress(table.encode()), "t.csv.gz")
    rank = ["rank", "t.csv.gz", "--label-column", "known", "--positive", "yes", "--dry-run"]
    assert main([*rank, "--max-bytes", "1e4"]) == 1
    assert "t.csv.gz: the decompressed bytes need" in capfd.readouterr().err
    assert main([*rank, "--max-bytes", "1e9"]) == 0
    assert json.loads(capfd.readouterr().out)["rows"] == 4000
