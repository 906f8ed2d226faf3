"""Damaged and forged files from a random generator: bytes changed at random, and archives packed anew."""

import io
import re
import zipfile

import numpy as np

TOKENS = [
    b"", b"0", b"-1", b"1", b"2147483648", b"9" * 400, b"1e308", b"1e999", b"nan", b"inf", b"1,5", b'"', b"'", b"\\",
    b",", b";", b"\t", b"\n", b"\r", b"\n" * 50, b"," * 500, b":", b"#", b"\x00", b"\x1b[31m", b"\xff\xfe",
    b"\xef\xbb\xbf", b"[" * 300, b'{"a":' * 300, b"null", b"true", b"2020-01-01", b"x" * 3000, "é𝛑".encode(),
    b"PK\x05\x06", b"PK\x01\x02", b"PAR1", b"ARROW1", b"\x1f\x8b", b"\x93NUMPY",
]  # fmt: skip
"""Texts that readers treat in a special way."""

NUMBERS = [0, 1, 2**7, 2**8 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1]
"""Numbers that sizes and offsets overflow at."""

ARRAYS = [
    np.zeros(0), np.zeros((0, 0)), np.zeros((1, 1)), np.zeros(3), np.full(5, np.nan), np.full((2, 2), np.inf),
    np.array(1.0), np.array(7), np.array(-1), np.array([3, 2**40]), np.arange(4), np.arange(4, dtype=">i2"),
    np.arange(6, dtype=np.uint8).reshape(2, 3), np.array([True, False]), np.array(["a", "ü"]), np.array("text"),
    np.zeros(2, dtype="m8[s]"), np.zeros(2, dtype=complex), np.zeros(2, dtype=[("a", "f8")]),
    np.array([1, 2], dtype=np.float16), np.zeros(300_000), np.array(["x" * 50_000]),
    np.arange(40), np.full(40, "a"), np.zeros(40, dtype=bool), np.zeros(40, dtype=complex), np.full(40, 1e308),
]  # fmt: skip
"""Arrays of other types and shapes than a reader expects."""


def _flipped(rng, data, at):
    return _overwritten(data, at, bytes([data[at] ^ rng.randrange(1, 256)]))


def _inserted(rng, data, at):
    return data[:at] + rng.choice([rng.randbytes(rng.randint(1, 8)), rng.choice(TOKENS)]) + data[at:]


def _removed(rng, data, at):
    return data[:at] + data[at + rng.randint(1, 200) :]


def _repeated(rng, data, at):
    return data[:at] + data[at : at + rng.randint(1, 200)] * rng.choice([2, 3, 50]) + data[at:]


def _cut(rng, data, at):
    return data[:at]


def _word_replaced(rng, data, at):
    """Another token in the place of a word or number."""
    word = re.compile(rb"[\w.]+").search(data, at)
    start, end = (at, at) if word is None else word.span()
    return data[:start] + rng.choice(TOKENS) + data[end:]


def _number_overwritten(rng, data, at):
    size = rng.choice([1, 2, 4, 8])
    return _overwritten(data, at, (rng.choice(NUMBERS) % 256**size).to_bytes(size, rng.choice(["little", "big"])))


def _overwritten(data, at, value):
    return data[:at] + value + data[at + len(value) :]


_CHANGES = [_flipped, _inserted, _removed, _repeated, _cut, _word_replaced, _number_overwritten]


def mutated(rng, data):
    """The bytes after one to four changes."""
    for _ in range(rng.randint(1, 4)):
        if data:
            data = rng.choice(_CHANGES)(rng, data, rng.randrange(len(data)))
    return data


def npy(array):
    """An array as the bytes of a ``.npy`` file."""
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def other_array(rng, data):
    """The bytes of another ``.npy`` file: damaged, or of another array."""
    return npy(rng.choice(ARRAYS)) if rng.random() < 0.5 else mutated(rng, data)


def repacked(rng, data):
    """A sound zip with the entries of another, one of which is missing, damaged or another array."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(entries))
    if rng.random() < 0.2:
        del entries[name]
    else:
        entries[name] = other_array(rng, entries[name])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for key, content in entries.items():
            archive.writestr(zipfile.ZipInfo(key), content)
    return stream.getvalue()
