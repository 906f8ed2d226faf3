"""Memory that a file may take, whatever it claims: a multiple of its size, and what its class declares."""

import json
import random
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from tests.files.models import MODELS, X, fitted, npy, opened, refused, rows_for, saved, signed, written, zipped
from usmo import PUSVC
from usmo.files import ModelFileError, archive, describe, load, save
from usmo.files.codec import Decoder, plain
from usmo.files.manifest import memory_of, parsed_json

N = 6000


def listed(value):
    return b"[" + b",".join(value(k) for k in range(N)) + b"]"


TEXTS = {
    "lists": listed(lambda k: b"[]"),
    "nested lists": listed(lambda k: b"[[[]]]"),
    "integers": listed(lambda k: b"%d" % (k + 300)),
    "strings": listed(lambda k: b'"ab"'),
    "escapes": b'["' + b'\\"\\\\' * N + b'"]',
    "other alphabets": listed(lambda k: b'"\\u1234\\u0041"'),
    "tuples": listed(lambda k: b'{"tuple":[1]}'),
    "dictionaries": listed(lambda k: b'{"dict":{"a":1}}'),
    "keys": b'{"dict":{' + b",".join(b'"%x":%d' % (k, k + 300) for k in range(N)) + b"}}",
    "objects": listed(lambda k: b'{"object":"Calibration","state":{"above":1.0,"below":2.0}}'),
    "text array": b'{"strings":[[%d],' % N + listed(lambda k: b'"a%d"' % k) + b"]}",
}


def peak(function, *arguments):
    """The most memory in use while a function runs, and what it returns or the ModelFileError that it raises."""
    tracemalloc.start()
    try:
        result = function(*arguments)
    except ModelFileError as error:
        result = error
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return used, result


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_estimate_covers_parsing_and_decoding(text):
    def decoded(read):
        return read(parsed_json(text, 2**30))

    saved_memory = memory_of(text)
    for read in (Decoder({}, {}.__getitem__).decode, lambda tree: plain(tree, {})):
        used, result = peak(decoded, read)
        assert not isinstance(result, ModelFileError)
        assert used <= 1.1 * saved_memory
    with pytest.raises(
        ModelFileError, match=f"takes {saved_memory} bytes, more than max_bytes={saved_memory - 1}"
    ):
        parsed_json(text, saved_memory - 1)


def noisy(array):
    """Zeros that deflate about 90 times: fewer times than is refused outright."""
    view, step = array.view(np.uint8), 350
    view[::step] = np.frombuffer(random.Random(0).randbytes(len(view[::step])), np.uint8)
    return array


def with_array(manifest, entries, name, array):
    state = {**manifest["model"]["state"], name: {"array": f"{name}.npy"}}
    listing = {"dtype": array.dtype.str, "shape": list(array.shape), "order": "C"}
    manifest = {**manifest, "model": {**manifest["model"], "state": state}}
    return {**manifest, "arrays": {**manifest["arrays"], f"{name}.npy": listing}}, {
        **entries,
        f"{name}.npy": npy(array),
    }


@pytest.mark.parametrize("reader", [load, describe])
def test_what_a_file_expands_to_is_limited_by_its_size(reader, parts, tmp_path):
    manifest, entries = parts
    values = (
        b"[" + b",".join([b"[]"] * 4_000_000) + b',"' + random.Random(0).randbytes(200_000).hex().encode() + b'"]'
    )
    text = (
        json.dumps({**manifest, "extra": {}}).encode().replace(b'"extra": {}', b'"extra": {"a": ' + values + b"}")
    )
    deflated, stored, expanding = (tmp_path / name for name in ("deflated", "stored", "expanding"))
    deflated.write_bytes(zipped([("manifest.json", text), *entries.items()], zipfile.ZIP_DEFLATED))
    stored.write_bytes(zipped([("manifest.json", text), *entries.items()]))
    many = noisy(np.zeros(20_000_000))
    written(expanding, *with_array(manifest, entries, "coef_", many), zipfile.ZIP_DEFLATED)
    for path in (deflated, stored, expanding):
        size = path.stat().st_size
        used, error = peak(reader, path)
        assert used < size + 5 * len(text)
        assert isinstance(error, ModelFileError)
        assert f"more than max_bytes={archive.allowance(size)}; raise max_bytes if you trust" in str(error)


@pytest.mark.parametrize(
    ("name", "words"), [("mood_", "the attribute 'mood_'"), ("intercept_", r"of shape \(1,\)")]
)
def test_arrays_that_the_class_does_not_declare_are_not_read(name, words, parts, tmp_path):
    path = written(tmp_path / "x", *with_array(*parts, name, noisy(np.zeros(10_000_000))), zipfile.ZIP_DEFLATED)
    used, error = peak(load, path)
    assert used < 2 * path.stat().st_size + 2**22
    with pytest.raises(ModelFileError, match=words):
        raise error


def test_the_option_gets_past_the_limit(parts, tmp_path):
    manifest, entries = parts
    path = written(tmp_path / "x", {**manifest, "extra": {"a": [[]] * 800_000}}, entries)
    refused(path, "its manifest takes .* bytes, more than max_bytes=134217728; raise max_bytes")
    assert len(describe(path, max_bytes=2**30)["extra"]["a"]) == 800_000


@pytest.mark.parametrize("name", MODELS)
def test_every_saved_file_keeps_to_the_limit(name, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_FREE", 1000)  # as if the models were larger than what any file may take
    model, rows = fitted(name), rows_for(name, fitted(name))
    again = load(saved(model, tmp_path, compress=True))
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))


def test_deflated_entries_of_large_files_keep_to_the_limit(tmp_path, monkeypatch):
    table = np.zeros((300, 3))
    table[:30, 0] = 1
    model = PUSVC(0.4, kernel="linear").fit(table + X[0], np.arange(300) < 20)
    small, flat = (saved(model, tmp_path, compress=compress).stat().st_size for compress in (True, False))
    monkeypatch.setattr(archive, "_FREE", 1000)
    monkeypatch.setattr(archive, "_MULTIPLE", 16)
    large = saved(model, tmp_path, compress=True)
    assert small < large.stat().st_size < flat
    load(large)


def test_values_that_take_too_much_memory_are_not_saved(tmp_path):
    with pytest.raises(ModelFileError, match=r"its manifest takes .* bytes, more than max_bytes"):
        save(fitted("linear"), tmp_path / "x", extra={"a": [[]] * 800_000})
    assert not list(tmp_path.iterdir())


def test_a_directory_of_many_entries_is_refused_before_it_is_read(parts, tmp_path):
    manifest, entries = parts
    data = zipped([("manifest.json", json.dumps(manifest).encode()), *entries.items()])
    at = data.rindex(b"PK\x05\x06")
    end = list(struct.unpack("<4s4H2LH", data[at : at + 22]))
    record = data[end[6] : at][:46] + b"manifest.json"
    end[5] += 100_000 * len(record)
    forged = data[:at] + 100_000 * record + struct.pack("<4s4H2LH", *end) + data[at + 22 :]
    (tmp_path / "x").write_bytes(signed(forged))
    used, error = peak(load, tmp_path / "x")
    assert "more than 10000 entries" in str(error)
    assert used < 2**22


def test_messages_show_no_terminal_escapes(parts, tmp_path):
    manifest, entries = parts
    manifest["model"]["state"]["certificate_"]["state"]["\x1b[31mred"] = 1
    with pytest.raises(ModelFileError) as caught:
        load(written(tmp_path / "x", manifest, entries))
    assert "\\x1b[31mred" in str(caught.value)
    assert str(caught.value).isprintable()


def test_arrays_of_another_byte_order_are_those_of_this_machine(tmp_path):
    model = fitted("linear")
    manifest, entries = opened(saved(model, tmp_path))
    swapped = npy(model.coef_.astype(">f8"))
    manifest["arrays"]["coef_.npy"]["dtype"] = ">f8"
    again = load(written(tmp_path / "x", manifest, {**entries, "coef_.npy": swapped}))
    assert again.coef_.dtype.isnative
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
