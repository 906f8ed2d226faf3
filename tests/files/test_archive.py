"""Containers that usmo did not write or that were damaged: zip, checksums, manifest and array headers."""

import json
import os
import pickle
import random
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.files.models import X, fitted, listing, npy, outcome, refused, saved, signed, written, zipped
from usmo.files import ModelFileError, load


def test_files_of_other_kinds_are_refused(tmp_path):
    path = tmp_path / "x"
    for content in (b"", b"PK", b"PK\x03\x04", b"\x80\x04K\x01.", b"usmo" * 1000, pickle.dumps(fitted("rbf"))):
        path.write_bytes(content)
        refused(path, "not a file that usmo.files.save wrote")
    np.savez(tmp_path / "other.npz", a=X)
    refused(tmp_path / "other.npz", "its end is missing or it is not a file that usmo")
    refused(tmp_path, "it is a folder or a device, not a file")
    refused("/dev/zero", "it is a folder or a device, not a file")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "it is a folder or a device, not a file")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing")


def test_every_damaged_byte_is_detected(tmp_path, monkeypatch):
    path = saved(fitted("linear"), tmp_path)
    sound = path.read_bytes()
    for at in range(len(sound)):
        assert outcome(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :], monkeypatch)[1] is None
    for length in range(0, len(sound), 7):
        assert outcome(sound[:length], monkeypatch)[1] is None
    monkeypatch.undo()
    path.write_bytes(sound[:1000] + b"\x00" + sound[1001:])
    refused(path, "the SHA-256 of its bytes is not the one it ends with; the file is damaged: copy it again")
    path.write_bytes(sound + b"\n")
    refused(path, "its end is missing")


def test_sizes_are_limited_before_memory_is_used(parts, tmp_path):
    manifest, entries = parts
    path = written(tmp_path / "x", manifest, entries)
    size = path.stat().st_size
    refused(path, f"it has {size} bytes, more than max_bytes={size - 1}; raise max_bytes", max_bytes=size - 1)
    load(path, max_bytes=size)
    packed = written(tmp_path / "y", manifest, entries, zipfile.ZIP_DEFLATED)
    refused(packed, "it expands to .* bytes, more than max_bytes", max_bytes=packed.stat().st_size)
    bomb = {**entries, "zeros.npy": bytes(50_000_000)}
    refused(written(tmp_path / "z", manifest, bomb, zipfile.ZIP_DEFLATED), "zeros.npy claims to expand from")
    many = {**entries, **{f"a{k}.npy": b"" for k in range(10_001)}}
    refused(written(tmp_path / "m", manifest, many), "more than 10000 entries")


def test_an_entry_that_lies_about_its_size_is_refused(parts, tmp_path):
    manifest, entries = parts
    data = zipped([("manifest.json", json.dumps(manifest).encode()), *entries.items()], zipfile.ZIP_DEFLATED)
    directory = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 4)  # of the first array
    for offset, value in ((24, 2**31), (24, 17), (20, 2**31), (20, 3), (10, 12), (8, 1), (42, 5), (42, 2**31)):
        forged = bytearray(data)
        form = "<H" if offset in (8, 10) else "<I"
        struct.pack_into(form, forged, directory + offset, value)
        (tmp_path / "x").write_bytes(signed(bytes(forged)))
        refused(tmp_path / "x", "cannot be")


@pytest.mark.parametrize(
    "name", ["../a.npy", "/etc/a.npy", "a/b.npy", "a\\b.npy", "a.py", "a.npy/", "ä.npy", ".npy"]
)
def test_entries_with_other_names_are_refused(name, parts, tmp_path):
    manifest, entries = parts
    listed = {**manifest["arrays"], name: listing(npy(X), {"dtype": "<f8", "shape": [38, 3], "order": "C"})}
    path = written(tmp_path / "x", {**manifest, "arrays": listed}, {**entries, name: npy(X)})
    refused(path, "the entry name .* is not accepted|packed unusually")
    assert not list(tmp_path.glob("*.npy"))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_entries_missing_added_or_doubled_are_refused(parts, tmp_path):
    manifest, entries = parts
    path = tmp_path / "x"
    fewer = {name: data for name, data in entries.items() if name != "dual_coef_.npy"}
    refused(written(path, manifest, fewer), "the array 'dual_coef_.npy' is listed but missing")
    refused(written(path, manifest, {**entries, "more.npy": npy(X)}), "the entry 'more.npy' is not listed")
    text = json.dumps(manifest).encode()
    path.write_bytes(zipped([("manifest.json", text), *entries.items(), ("dual_coef_.npy", b"")]))
    refused(path, "an entry occurs twice in it")
    path.write_bytes(zipped([*entries.items()]))
    refused(path, "manifest.json is missing")
    listed = {**manifest["arrays"], "more.npy": listing(npy(X), {"dtype": "<f8", "shape": [38, 3], "order": "C"})}
    unused = written(path, {**manifest, "arrays": listed}, {**entries, "more.npy": npy(X)})
    with pytest.raises(ModelFileError, match=r"nothing refers to the array 'more\.npy'"):
        load(unused)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[" * 100_000, "nested more than 100 deep"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested more than 100 deep"),
        (b'{"format": "usmo-model", "version": ' + b"9" * 5000 + b"}", "an integer of 5000 digits"),
        (b'{"format": "usmo-model", "version": 1e999}', "is no float64"),
        (b'{"format": "usmo-model", "version": NaN}', "the number NaN is no float64"),
        (b'{"format": "usmo-model", "format": "usmo-model"}', "a key occurs twice"),
        (
            b'{"format": "usmo-model", "version": 2}',
            "format version 2, and this usmo reads up to 1: install a newer",
        ),
        (b'{"format": "usmo-model", "version": true}', "its format version is True"),
        (b'{"format": "usmo-model", "version": 0}', "its format version is 0"),
        (b'{"format": "usmo-model", "version": 1}', "its list of arrays is missing"),
        (b'{"format": "other"}', "its format is not 'usmo-model'"),
        (b"[]", "its format is not 'usmo-model'"),
        (b'{"format": "\xff"}', "the manifest is not JSON"),
        (b"", "the manifest is not JSON"),
        (b'"\\', "the manifest is not JSON"),
        (b'"' + b'\\"' * 100_000, "the manifest is not JSON"),
    ],
)
def test_manifests_of_other_kinds_are_refused(text, words, tmp_path):
    (tmp_path / "x").write_bytes(zipped([("manifest.json", text)]))
    refused(tmp_path / "x", words)


class Payload:
    """Unpickling it would leave a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def with_header(array, header):
    """The numbers of an array under another header."""
    data = npy(array)
    begin = 10 + int.from_bytes(data[8:10], "little")
    text = header.encode("latin-1").ljust(117) + b"\n"
    return data[:8] + len(text).to_bytes(2, "little") + text + data[begin:]


def test_arrays_of_other_kinds_are_refused(parts, tmp_path):
    manifest, entries = parts
    name, trap, n = "intercept_.npy", tmp_path / "trap", 2**50
    sound = {"dtype": "<f8", "shape": [1], "order": "C"}
    form = "{'descr': %s, 'fortran_order': False, 'shape': %s, }"
    one = np.array([1.0])
    payload = npy(np.array([Payload(trap)], dtype=object), allow_pickle=True)
    cases = [
        (payload, {"dtype": "|O", "shape": [1]}),
        (b"\x80\x04K\x01.", {}),
        (b"", {}),
        (b"\x93NUMPY\x01\x00", {}),
        (b"\x93NUMPY\x02\x00" + npy(one)[8:], {}),
        (with_header(one, form % ("'|O'", "(1,)")), {"dtype": "|O"}),
        (with_header(one, form % ("'<f8'", f"({n},)")), {"shape": [n]}),
        (with_header(one, form % ("'<f8'", f"({n}, {n})")), {"shape": [n, n]}),
        (with_header(one[:0], form % ("'<f8'", f"(0, {n}, {n})")), {"shape": [0, n, n]}),
        (with_header(one, form % ("'<f8'", "(-1,)")), {"shape": [-1]}),
        (with_header(one, form % ("'<f8'", "(1,)")), {"shape": [2]}),
        (with_header(one, form % ("'<f8'", "(1,)")), {"dtype": "<f4"}),
        (with_header(one, form % ("'<f8'", "(1,)")), {"order": "F"}),
        (with_header(one, form % ("'<f8'", "(2,)")), {"shape": [2]}),
        (with_header(one, form % ("'<f8'", "(" * 5000)), {}),
        (with_header(one, form % ("'<m8[s]'", "(1,)")), {"dtype": "<m8[s]"}),
        (with_header(one, form % ("'<c8'", "(1,)")), {"dtype": "<c8"}),
        (with_header(one, form % ("'<U0'", "(1,)")), {"dtype": "<U0"}),
        (with_header(one, form % ("'<U2'", "(1,)")), {"dtype": "<U2"}),  # 1.0 is no pair of characters
        (with_header(one, form % ("'|b1'", "(8,)")), {"dtype": "|b1", "shape": [8]}),  # nor eight truth values
        (with_header(one, form % ("[('a', '<f8')]", "(1,)")), {"dtype": [["a", "<f8"]]}),
        (with_header(one, f"__import__('pathlib').Path({str(trap)!r}).touch()"), {}),
        (npy(one) + b"\x00", {}),
    ]
    for k, (data, changes) in enumerate(cases):
        listed = {**manifest["arrays"], name: {**sound, **changes}}
        path = written(tmp_path / f"{k}", {**manifest, "arrays": listed}, {**entries, name: data})
        refused(path, r"intercept_(\.npy| must be)")
        assert not trap.exists()
    for listed in (None, {}, {**sound, "sha256": 1}, [], {**manifest["arrays"][name], "more": 1}):
        forged = {**manifest, "arrays": {**manifest["arrays"], name: listed}}
        refused(written(tmp_path / "listed", forged, entries, relist=False), "intercept_.npy")


def mutated(data, rng):
    """The bytes after an accident of one of several kinds."""
    copy, accident = bytearray(data), rng.randrange(8)
    at = rng.randrange(len(copy))
    if accident == 0:
        copy[at] ^= 1 << rng.randrange(8)
    elif accident == 1:
        del copy[at:]
    elif accident == 2:
        copy[at:at] = rng.randbytes(rng.randrange(1, 9))
    elif accident == 3:
        length, to = rng.randrange(1, 200), rng.randrange(len(copy))
        copy[at : at + length], copy[to : to + length] = copy[to : to + length], copy[at : at + length]
    elif accident == 4:
        del copy[at : at + rng.randrange(1, 50)]
    elif accident == 5:
        copy[at : at + 8] = rng.choice([b"\0" * 8, b"\xff" * 8, rng.randbytes(8)])
    else:  # a field of a zip header
        marks = [k for k in range(len(data)) if data[k : k + 4] in (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06")]
        place = rng.choice(marks) + rng.randrange(4, 46)
        value = rng.choice([0, 1, 2**16 - 1, 2**31, 2**32 - 1, rng.randrange(2**32)])
        copy[place : place + 4] = value.to_bytes(4, "little")
    return bytes(copy)


@pytest.mark.parametrize("name", ["rbf", "linear"])
@pytest.mark.parametrize("checksum", ["unchanged", "made right"])
def test_mutated_files_are_refused_or_unchanged(name, checksum, tmp_path, monkeypatch):
    """10,000 accidents; with the last checksum made right, the checks behind it are met as well."""
    path = saved(fitted(name), tmp_path, compress=name == "linear")
    sound, rng, unchanged = path.read_bytes(), random.Random(checksum + name), 0
    expected = fitted(name).decision_function(X)
    for _ in range(4000 if checksum == "unchanged" else 1000):
        data = mutated(sound, rng)
        data = signed(data) if checksum == "made right" and len(data) > 64 else data
        _, model = outcome(data, monkeypatch)
        if model is not None:
            unchanged += 1
            assert checksum == "made right" or data == sound
            np.testing.assert_array_equal(model.decision_function(X), expected)
    assert unchanged < 300
