"""Objects as a tree of JSON values with references to arrays, and back.

None, bool, int, finite float, str, list        themselves
{"tuple": [...]}  {"dict": {...}}               tuples, dictionaries with text keys
{"numbered": [[0, ...], [1, ...]]}              dictionaries with integer keys
{"float": "nan"}  {"numpy": ["float32", 0.5]}   floats that JSON cannot express, NumPy's scalars
{"array": "name.npy"}                           an entry of the file
{"strings": [[shape], [...]]}                   an object array of text
{"csr": [class, [rows, columns], data, indices, indptr]}
{"random_state": [keys, pos, has_gauss, cached_gaussian]}
{"object": "PUSVC", "state": {...}}             an object of a registered class
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from usmo.files.archive import is_entry_name, is_shape, storable
from usmo.files.errors import ModelFileError, need
from usmo.files.registry import class_named, class_of, transformer_names

_MAX_DEPTH = 20
"""Levels of objects and containers; a pipeline in a pipeline has ten. Deeper ones are cycles or attacks."""

_MAX_ESTIMATORS = 1000
"""Estimators of a model; a nested pipeline has some dozens. Checking the parameters of one takes 0.1 ms."""

_SPARSE = {"csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}
_CODES = ("bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
_SCALARS: dict[str, Any] = {"str": np.str_} | {np.dtype(code).name: np.dtype(code).type for code in _CODES}
_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class Encoder:
    """Turns objects into trees; ``arrays`` collects the arrays that the trees refer to."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def encode(self, value: Any, where: tuple[str, ...] = ()) -> Any:
        """The tree of a value; ``where`` are the attributes that lead to it."""
        if len(where) > _MAX_DEPTH:
            raise ModelFileError(f"{_at(where[:4])}… is nested more than {_MAX_DEPTH} deep, or contains itself")
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
            name = "str" if isinstance(value, np.str_) else value.dtype.name
            need(name in _SCALARS, f"{_at(where)} has the type {name}, which files do not hold")
            return {"numpy": [name, self.encode(value.item(), where)]}
        if type(value) in (list, tuple):
            parts = [self.encode(part, (*where, str(k))) for k, part in enumerate(value)]
            return parts if type(value) is list else {"tuple": parts}
        if type(value) is dict:
            if value and all(type(key) is int for key in value):
                return {"numbered": [[key, self.encode(part, (*where, str(key)))] for key, part in value.items()]}
            text = all(type(key) is str for key in value)
            need(text, f"{_at(where)} is a dictionary with keys that are neither text nor integers")
            items = enumerate(value.items())
            return {"dict": {key: self.encode(part, (*where, str(k))) for k, (key, part) in items}}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if sparse.issparse(value):
            return self._csr(value, where)
        if isinstance(value, np.random.RandomState):
            return self._random_state(value, where)
        return self._object(value, where)

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
        cls = type(value).__name__
        need(cls in _SPARSE and value.ndim == 2, f"{_at(where)} is a {cls}; only CSR tables are stored")
        arrays = [self._array(getattr(value, name), (*where, name)) for name in ("data", "indices", "indptr")]
        return {"csr": [cls, [int(side) for side in value.shape], *arrays]}

    def _random_state(self, value: np.random.RandomState, where: tuple[str, ...]) -> Any:
        state = value.get_state(legacy=False)
        default = state["bit_generator"] == "MT19937"
        need(default, f"{_at(where)} is a random state other than NumPy's default, which files do not hold")
        keys, pos = state["state"]["key"], int(state["state"]["pos"])
        return {"random_state": [self._array(keys, where), pos, int(state["has_gauss"]), float(state["gauss"])]}

    def _object(self, value: Any, where: tuple[str, ...]) -> Any:
        stored = class_of(value)
        if stored is None:
            code = "code, and a file holds none: use a named kernel, or kernel='precomputed'"
            why = code if callable(value) else "not registered with usmo.files.register"
            if hasattr(value, "transform"):
                why += f"; steps that files hold are {', '.join(transformer_names())}"
            cls = f"{type(value).__module__}.{type(value).__qualname__}"
            raise ModelFileError(f"{_at(where)} has the type {cls}, which is {why}")
        state = {name: self.encode(part, (*where, name)) for name, part in stored.state(value).items()}
        stored.verify(value)
        return {"object": stored.name, "state": state}


class Decoder:
    """Turns trees into objects; every array is used exactly once.

    ``declared`` has an array of the right type and shape for each name, ``read`` returns the one with the numbers.
    """

    def __init__(self, declared: Mapping[str, np.ndarray], read: Callable[[str], np.ndarray]) -> None:
        self.declared, self.read, self.estimators = dict(declared), read, 0

    def decode(self, tree: Any, depth: int = 0) -> Any:
        """The value of a tree."""
        need(depth <= _MAX_DEPTH, f"its objects are nested more than {_MAX_DEPTH} deep")
        if tree is None or type(tree) in (bool, int, float, str):
            return tree
        if type(tree) is list:
            return [self.decode(part, depth + 1) for part in tree]
        if type(tree) is dict and set(tree) == {"object", "state"}:
            stored = class_named(tree["object"])
            state = tree["state"]
            need(type(state) is dict, f"{stored.name} has no attributes")
            self.estimators += stored.is_estimator
            need(self.estimators <= _MAX_ESTIMATORS, f"it holds more than {_MAX_ESTIMATORS} estimators")
            stored.expect({name: self._preview(part) for name, part in state.items()})
            value = stored.build({name: self.decode(part, depth + 1) for name, part in state.items()})
            stored.verify(value)
            return value
        form, content = next(iter(tree.items())) if type(tree) is dict and len(tree) == 1 else ("", None)
        need(form in _FORMS, f"it holds a value of the form {form[:40]!r}, which this usmo does not read")
        return getattr(self, f"_{form}")(content, depth)

    def done(self) -> None:
        """Refuse arrays that nothing refers to."""
        need(not self.declared, f"nothing refers to the array {next(iter(self.declared), '')!r}")

    def _preview(self, tree: Any) -> Any:
        """A number or text itself, an array as declared, and None for any other value."""
        if type(tree) is dict and set(tree) == {"array"}:
            return self.declared.get(str(tree["array"]))
        return tree if type(tree) in (bool, int, float, str) else None

    def _tuple(self, content: Any, depth: int) -> tuple[Any, ...]:
        need(type(content) is list, "a tuple has no list of values")
        return tuple(self.decode(part, depth + 1) for part in content)

    def _dict(self, content: Any, depth: int) -> dict[str, Any]:
        need(type(content) is dict, "a dictionary has no values by key")
        return {key: self.decode(part, depth + 1) for key, part in content.items()}

    def _numbered(self, content: Any, depth: int) -> dict[int, Any]:
        pairs = type(content) is list and all(type(pair) is list and len(pair) == 2 for pair in content)
        need(pairs and all(type(key) is int for key, _ in content), "a numbered dictionary has no integer keys")
        return {key: self.decode(part, depth + 1) for key, part in content}

    def _float(self, content: Any, depth: int) -> float:
        need(type(content) is str and content in _SPECIAL, "a float is no number, infinity or nan")
        return _SPECIAL[content]

    def _numpy(self, content: Any, depth: int) -> Any:
        pair = type(content) is list and len(content) == 2 and str(content[0]) in _SCALARS
        need(pair, "a NumPy scalar is not a type that files hold and a value")
        name, value = str(content[0]), self.decode(content[1], depth + 1)
        need(type(value) in (bool, int, float, str), f"a NumPy scalar of the type {name} has another value")
        with contextlib.suppress(OverflowError, ValueError), np.errstate(over="ignore"):
            scalar = _SCALARS[name](value)
            if scalar.item() == value or (scalar != scalar and value != value):
                return scalar
        raise ModelFileError(f"{str(value)[:40]} is no {name}")

    def _array(self, content: Any, depth: int) -> np.ndarray:
        unused = type(content) is str and content in self.declared
        need(unused, f"the array {str(content)[:80]!r} is missing or used twice")
        del self.declared[content]
        return self.read(content)

    def _strings(self, content: Any, depth: int) -> np.ndarray:
        pair = type(content) is list and len(content) == 2 and all(type(part) is list for part in content)
        need(pair, "a text array is not a shape and a list")
        shape, texts = content
        sides = all(type(side) is int and side >= 0 for side in shape) and is_shape(shape)
        fits = sides and math.prod(shape) == len(texts) and all(type(text) is str for text in texts)
        need(fits, "a text array does not fill its shape with text")
        array = np.empty(len(texts), dtype=object)
        array[:] = texts
        return array.reshape(shape)

    def _csr(self, content: Any, depth: int) -> Any:
        five = type(content) is list and len(content) == 5 and content[0] in list(_SPARSE)
        need(five, "a sparse table is not CSR")
        cls, shape, *trees = content
        sides = type(shape) is list and len(shape) == 2 and all(type(n) is int and 0 <= n < 2**63 for n in shape)
        data, indices, indptr = (self.decode(part, depth + 1) for part in trees)
        flat = all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr))
        whole = flat and all(part.dtype in (np.int32, np.int64) for part in (indices, indptr))
        need(sides and whole and len(indptr) == shape[0] + 1, "a sparse table has arrays of wrong type or length")
        paired = data.dtype.kind in "biuf" and data.dtype != np.float16 and len(data) == len(indices)
        need(paired, "a sparse table has no column for each number")
        # compiled code would read out of bounds where these are out of bounds
        ordered = indptr[0] == 0 and indptr[-1] == len(data) and (indptr[1:] >= indptr[:-1]).all()
        need(ordered, "a sparse table has row pointers that do not ascend from 0 to the number of entries")
        within = len(indices) == 0 or (indices.min() >= 0 and indices.max() < shape[1])
        need(within, "a sparse table has columns beyond its width")
        table = _SPARSE[cls]((data, indices, indptr), shape=tuple(shape))
        table.indices, table.indptr = indices, indptr  # the constructor may have changed their integer type
        return table

    def _random_state(self, content: Any, depth: int) -> np.random.RandomState:
        need(type(content) is list and len(content) == 4, "a random state has not four values")
        keys, pos, has_gauss, cached = (self.decode(part, depth + 1) for part in content)
        words = isinstance(keys, np.ndarray) and keys.dtype == np.uint32 and keys.shape == (624,)
        place = type(pos) is int and 0 <= pos <= 624 and type(has_gauss) is int and has_gauss in (0, 1)
        good = words and place and type(cached) is float and math.isfinite(cached)
        need(good, "a random state has values of wrong type or length")
        state = np.random.RandomState(0)
        state.set_state(("MT19937", keys, pos, has_gauss, cached))
        return state


def plain(tree: Any, arrays: dict[str, Any]) -> Any:
    """A tree as plain JSON values: of an object its class and attributes, of an array its type and shape."""
    if isinstance(tree, list):
        return [plain(part, arrays) for part in tree]
    if not isinstance(tree, dict):
        return tree
    if "object" in tree:
        return {"class": tree["object"], **{name: plain(part, arrays) for name, part in tree["state"].items()}}
    ((form, content),) = tree.items()
    if form == "array":
        return {key: arrays[content][key] for key in ("dtype", "shape")}
    if form == "dict":
        return {name: plain(part, arrays) for name, part in content.items()}
    if form == "float":
        return _SPECIAL[content]
    return plain(content[1] if form == "numpy" else content, arrays)


_FORMS = frozenset({"tuple", "dict", "numbered", "float", "numpy", "array", "strings", "csr", "random_state"})


def _at(where: tuple[str, ...]) -> str:
    return ".".join(where) or "the model"
