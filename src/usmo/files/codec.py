"""Objects as a tree of JSON values beside a set of arrays, and back.

None, bool, int, finite float, str, list        themselves
{"tuple": [...]}  {"dict": {...}}               tuples, dictionaries with text keys
{"float": "nan"}  {"numpy": ["float32", 0.5]}   floats that JSON has not, NumPy's scalars
{"array": "name.npy"}                           an entry of the file
{"strings": [[shape], [...]]}                   an object array of text
{"csr": [kind, [rows, columns], data, indices, indptr]}
{"random_state": [keys, pos, has_gauss, cached_gaussian]}
{"object": "PUSVC", "state": {...}}             an object of a registered class
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from scipy import sparse

from usmo.files.archive import is_entry_name, storable
from usmo.files.errors import ModelFileError, need
from usmo.files.registry import kind_named, kind_of

_DEEPEST = 20
_SPARSE = {"csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}
_SCALARS = {
    np.dtype(kind).name: np.dtype(kind).type
    for kind in ("bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}
_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class Encoder:
    """Turns objects into trees; ``arrays`` are the entries that these refer to."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def encode(self, value: Any, where: tuple[str, ...] = ()) -> Any:
        need(
            len(where) <= _DEEPEST, f"{'.'.join(where[:4])}… is nested more than {_DEEPEST} deep, or holds itself"
        )
        if value is None or type(value) in (bool, str):
            return value
        if type(value) is int:
            need(-(2**63) <= value < 2**64, f"{_at(where)} is an integer of more than 64 bits")
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, os.PathLike):
            return str(os.fspath(value))
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if type(value) in (list, tuple):
            parts = [self.encode(part, (*where, str(k))) for k, part in enumerate(value)]
            return parts if type(value) is list else {"tuple": parts}
        if type(value) is dict:
            need(
                all(type(key) is str for key in value), f"{_at(where)} is a dictionary with keys that are not text"
            )
            parts_of = enumerate(value.items())
            return {"dict": {key: self.encode(part, (*where, str(k))) for k, (key, part) in parts_of}}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if sparse.issparse(value):
            return self._csr(value, where)
        if isinstance(value, np.random.RandomState):
            return self._random_state(value, where)
        return self._object(value, where)

    def _scalar(self, value: np.generic, where: tuple[str, ...]) -> Any:
        if isinstance(value, np.str_):
            return {"numpy": ["str", str(value)]}
        need(
            value.dtype.name in _SCALARS, f"{_at(where)} has the type {value.dtype.name}, which files do not hold"
        )
        return {"numpy": [value.dtype.name, self.encode(value.item(), where)]}

    def _array(self, value: np.ndarray, where: tuple[str, ...]) -> Any:
        if value.dtype.kind == "O":
            texts = value.ravel().tolist()
            need(all(type(text) is str for text in texts), f"{_at(where)} is an array of objects other than text")
            return {"strings": [list(value.shape), texts]}
        masked = isinstance(value, np.ma.MaskedArray)
        need(storable(value) and not masked, f"{_at(where)} is an array of {value.dtype}, which files do not hold")
        name = f"{'.'.join(where)}.npy"
        count = len(self.arrays)
        while not is_entry_name(name) or name in self.arrays:
            name, count = f"array{count}.npy", count + 1
        self.arrays[name] = np.asarray(value)
        return {"array": name}

    def _csr(self, value: Any, where: tuple[str, ...]) -> Any:
        kind = type(value).__name__
        need(kind in _SPARSE and value.ndim == 2, f"{_at(where)} is a {kind}; only CSR tables are stored")
        parts = [self._array(getattr(value, part), (*where, part)) for part in ("data", "indices", "indptr")]
        return {"csr": [kind, [int(side) for side in value.shape], *parts]}

    def _random_state(self, value: np.random.RandomState, where: tuple[str, ...]) -> Any:
        state = value.get_state(legacy=False)
        default = state["bit_generator"] == "MT19937"
        need(default, f"{_at(where)} is a random state other than NumPy's default, which files do not hold")
        keys, pos = state["state"]["key"], int(state["state"]["pos"])
        return {"random_state": [self._array(keys, where), pos, int(state["has_gauss"]), float(state["gauss"])]}

    def _object(self, value: Any, where: tuple[str, ...]) -> Any:
        kind = kind_of(value)
        if kind is None:
            code = "code, and a file holds none: use a named kernel, or kernel='precomputed'"
            what = code if callable(value) else "not registered with usmo.files.register"
            raise ModelFileError(
                f"{_at(where)} has the type {type(value).__module__}.{type(value).__qualname__}, which is {what}"
            )
        state = {name: self.encode(part, (*where, name)) for name, part in kind.state(value).items()}
        kind.checked(value)
        return {"object": kind.name, "state": state}


class Decoder:
    """Turns trees into objects; every array is used exactly once."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays = dict(arrays)

    def decode(self, tree: Any, depth: int = 0) -> Any:
        need(depth <= _DEEPEST, f"its objects are nested more than {_DEEPEST} deep")
        if tree is None or type(tree) in (bool, int, float, str):
            return tree
        if type(tree) is list:
            return [self.decode(part, depth + 1) for part in tree]
        need(type(tree) is dict and len(tree) in (1, 2), "it holds a value of no known form")
        if set(tree) == {"object", "state"}:
            kind = kind_named(tree["object"])
            need(type(tree["state"]) is dict, f"{kind.name} has no attributes")
            value = kind.build({name: self.decode(part, depth + 1) for name, part in tree["state"].items()})
            kind.checked(value)
            return value
        ((form, content),) = tree.items() if len(tree) == 1 else (("", None),)
        builder = getattr(self, f"_{form}", None) if form in FORMS else None
        need(builder is not None, f"it holds a value of the form {form[:40]!r}, which this usmo does not know")
        assert builder is not None
        return builder(content, depth)

    def done(self) -> None:
        """Refuse arrays that nothing refers to."""
        need(not self.arrays, f"the array {next(iter(self.arrays), '')!r} belongs to nothing")

    def _tuple(self, content: Any, depth: int) -> tuple[Any, ...]:
        need(type(content) is list, "a tuple is not a list of values")
        return tuple(self.decode(part, depth + 1) for part in content)

    def _dict(self, content: Any, depth: int) -> dict[str, Any]:
        need(type(content) is dict, "a dictionary is not one of values")
        return {key: self.decode(part, depth + 1) for key, part in content.items()}

    def _float(self, content: Any, depth: int) -> float:
        need(type(content) is str and content in _SPECIAL, "a float is neither a number, nor infinite, nor nan")
        return _SPECIAL[content]

    def _numpy(self, content: Any, depth: int) -> Any:
        need(type(content) is list and len(content) == 2, "a NumPy scalar is not a type and a value")
        name, value = content[0], self.decode(content[1], depth + 1)
        if name == "str":
            need(type(value) is str, "a NumPy text is no text")
            return np.str_(value)
        need(type(name) is str and name in _SCALARS, "a NumPy scalar has no known type")
        dtype = np.dtype(name)
        expected = {"b": bool, "i": int, "u": int, "f": float}[dtype.kind]
        need(type(value) is expected, f"a NumPy scalar of the type {name} has another value")
        if dtype.kind in "iu":
            need(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max, f"{value} is no {name}")
        with np.errstate(over="ignore"):
            found = _SCALARS[name](value)
        need(found == value or found != found, f"{value} is no {name}")
        return found

    def _array(self, content: Any, depth: int) -> np.ndarray:
        known = type(content) is str and content in self.arrays
        need(known, f"the array {str(content)[:80]!r} is missing or used twice")
        return self.arrays.pop(content)

    def _strings(self, content: Any, depth: int) -> np.ndarray:
        pair = type(content) is list and len(content) == 2 and all(type(part) is list for part in content)
        need(pair, "a text array is not a shape and a list")
        shape, texts = content
        sides = len(shape) <= 8 and all(type(side) is int and 0 <= side < 2**40 for side in shape)
        fits = sides and math.prod(shape) == len(texts) and all(type(text) is str for text in texts)
        need(fits, "a text array does not fill its shape with text")
        found = np.empty(len(texts), dtype=object)
        found[:] = texts
        return found.reshape(shape)

    def _csr(self, content: Any, depth: int) -> Any:
        need(
            type(content) is list and len(content) == 5 and content[0] in list(_SPARSE),
            "a sparse table is not CSR",
        )
        kind, shape, *trees = content
        sides = type(shape) is list and len(shape) == 2 and all(type(side) is int and side >= 0 for side in shape)
        data, indices, indptr = (self.decode(part, depth + 1) for part in trees)
        flat = all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr))
        whole = flat and all(part.dtype in (np.int32, np.int64) for part in (indices, indptr))
        need(sides and whole and len(indptr) == shape[0] + 1, "a sparse table has parts of wrong type or length")
        need(data.dtype.kind in "biuf" and len(data) == len(indices), "a sparse table has not a column per number")
        # what is out of bounds here would be read out of bounds by compiled code
        ordered = indptr[0] == 0 and indptr[-1] == len(data) and (np.diff(indptr) >= 0).all()
        need(ordered, "a sparse table has rows that do not follow each other")
        within = len(indices) == 0 or (indices.min() >= 0 and indices.max() < shape[1])
        need(within, "a sparse table has columns beyond its width")
        table = _SPARSE[kind]((data, indices, indptr), shape=tuple(shape))
        table.indices, table.indptr = indices, indptr  # of the integer type they were stored in
        return table

    def _random_state(self, content: Any, depth: int) -> np.random.RandomState:
        need(type(content) is list and len(content) == 4, "a random state has not four parts")
        keys, pos, has_gauss, cached = (self.decode(part, depth + 1) for part in content)
        words = isinstance(keys, np.ndarray) and keys.dtype == np.uint32 and keys.shape == (624,)
        place = type(pos) is int and 0 <= pos <= 624 and type(has_gauss) is int and has_gauss in (0, 1)
        need(words and place and type(cached) is float, "a random state has parts of wrong type or length")
        found = np.random.RandomState(0)
        found.set_state(("MT19937", keys, pos, has_gauss, cached))
        return found


FORMS = frozenset({"tuple", "dict", "float", "numpy", "array", "strings", "csr", "random_state"})


def _at(where: tuple[str, ...]) -> str:
    return ".".join(where) or "the model"
