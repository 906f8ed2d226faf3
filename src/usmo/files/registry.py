"""The classes that model files may hold, and what must be true of their objects.

A file names classes by a word that is looked up here; nothing is imported by a name from a file. Objects are made
without calling their constructor. Their attributes must be parameters of the constructor or names declared
here (for a class registered without such names: anything that hides no method), and the class's check has the
last word, before a model is written as well as after it is read.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from typing import Any

from usmo.files.errors import ModelFileError, need

Check = Callable[[Any], None]

NOT_STORED = frozenset(
    {"_skl_callbacks", "_callback_fit_ctx", "_parent_callback_ctx", "_skl_callbacks_to_teardown"}
)
"""Attributes of scikit-learn's callbacks: they watch a fit and are no part of its result."""

_SIMPLE: dict[Any, type] = {float: Real, int: Integral, bool: bool, str: str}
_EMPTY = inspect.Parameter.empty


@dataclass(frozen=True)
class Kind:
    """A class as files know it."""

    name: str
    cls: type
    attributes: frozenset[str] | None
    check: Check | None

    @property
    def is_record(self) -> bool:
        """Whether it is a dataclass or a named tuple: all its fields and nothing else."""
        return dataclasses.is_dataclass(self.cls) or hasattr(self.cls, "_fields")

    def state(self, value: Any) -> dict[str, Any]:
        """The attributes to store."""
        if hasattr(self.cls, "_fields"):
            return dict(zip(self.cls._fields, value, strict=True))
        if dataclasses.is_dataclass(self.cls):
            return {field.name: getattr(value, field.name) for field in dataclasses.fields(self.cls)}
        return {name: part for name, part in vars(value).items() if name not in NOT_STORED}

    def build(self, state: dict[str, Any]) -> Any:
        """The object with these attributes; a parameter that the file does not know has its default."""
        missing = {name: value for name, value in _defaults(self.cls).items() if name not in state}
        state = {**missing, **state} if missing else state
        cls: Any = self.cls
        if not self.is_record:
            value = cls.__new__(cls)
            value.__dict__.update(state)
            return value
        names = getattr(cls, "_fields", None) or [field.name for field in dataclasses.fields(cls)]
        odd = sorted(set(state) ^ set(names))
        need(not odd, f"{self.name} has the fields {', '.join(names)}, not {', '.join(odd)[:80]}")
        if hasattr(cls, "_fields"):
            return tuple.__new__(cls, [state[name] for name in names])
        value = cls.__new__(cls)
        for name in names:
            object.__setattr__(value, name, state[name])
        return value

    def checked(self, value: Any) -> None:
        """Refuse an object that is not one its class makes."""
        if self.is_record:
            for name, part in self.state(value).items():
                expected = _field_types(self.cls).get(name)
                good = expected is None or (
                    isinstance(part, expected) and isinstance(part, bool) == (expected is bool)
                )
                need(good, f"{self.name}.{name} has the type {type(part).__name__}")
        else:
            for name in self.state(value):
                need(
                    self._accepts(name), f"{self.name} has the attribute {name[:80]!r}, which is not one to store"
                )
            if hasattr(self.cls, "_parameter_constraints"):
                try:
                    value._validate_params()
                except (ValueError, TypeError, AttributeError) as error:
                    raise ModelFileError(str(error)) from error
        if self.check is not None:
            self.check(value)

    def _accepts(self, name: str) -> bool:
        if name in _parameters(self.cls):
            return True
        if self.attributes is not None:
            return name in self.attributes
        return name.isidentifier() and not name.startswith("__") and not hasattr(self.cls, name)


@cache
def _parameters(cls: Any) -> frozenset[str]:
    """The parameters of an estimator; of another class none."""
    return frozenset(cls._get_param_names()) if hasattr(cls, "_get_param_names") else frozenset()


@cache
def _defaults(cls: Any) -> dict[str, Any]:
    """Of the fields of a record or the parameters of an estimator, those that have one."""
    if hasattr(cls, "_field_defaults"):
        return dict(cls._field_defaults)
    if dataclasses.is_dataclass(cls):
        fields = dataclasses.fields(cls)
        return {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    found = inspect.signature(cls.__init__).parameters if _parameters(cls) else {}
    return {
        name: found[name].default
        for name in found
        if name in _parameters(cls) and found[name].default is not _EMPTY
    }


@cache
def _field_types(cls: Any) -> dict[str, type]:
    """The fields of a record that are plain numbers, truth values or text."""
    hints = typing.get_type_hints(cls)
    return {name: _SIMPLE[hint] for name, hint in hints.items() if hint in tuple(_SIMPLE)}


_BY_CLASS: dict[type, Kind] = {}
_BY_NAME: dict[str, Kind] = {}


def register(
    cls: type, *, name: str | None = None, attributes: Iterable[str] | None = None, check: Check | None = None
) -> type:
    """Let model files hold objects of a class.

    Parameters
    ----------
    cls : type
        A dataclass, a named tuple, or a class whose whole state is in ``vars(object)``.
    name : str, optional
        What files call it, by default the name of the class. It must never change.
    attributes : iterable of str, optional
        The attributes there may be besides the parameters of an estimator; by default all that hide nothing
        of the class.
    check : callable, optional
        Gets an object about to be written or just read, and raises ValueError if it is not sound.
    """
    kind = Kind(name or cls.__name__, cls, None if attributes is None else frozenset(attributes), check)
    taken = _BY_NAME.get(kind.name)
    if taken is not None and taken.cls is not cls:
        raise ValueError(f"name must be new, got {kind.name!r}, which is {taken.cls.__module__}.{taken.name}")
    _BY_CLASS[cls] = _BY_NAME[kind.name] = kind
    return cls


def kind_of(value: Any) -> Kind | None:
    """What files know about the class of an object, None if it is not registered."""
    _package()
    return _BY_CLASS.get(type(value))


def kind_named(name: Any) -> Kind:
    """What a name in a file stands for."""
    _package()
    kind = _BY_NAME.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ModelFileError(
            f"it holds an object of the class {str(name)[:80]!r}, which is not registered here; "
            "if it is yours, call usmo.files.register first"
        )
    return kind


@cache
def _package() -> None:
    """Register the classes of the package and of scikit-learn; late, for importing them takes time."""
    from usmo.files import builtin_types as known

    known.register_all(register)
