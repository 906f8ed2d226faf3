"""The classes that model files may hold, and the rules for their objects.

A file refers to a class by a name that is looked up here; a name in a file never imports anything. Objects are
made without calling their constructor. Their attributes must be parameters of the constructor or declared names
(for a class registered without such names: anything that hides no method). Rules and checks apply before a model
is written as well as after it is read.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from usmo.files.errors import ModelFileError, need
from usmo.files.rules import Rule, check_attribute, conform

Check = Callable[[Any], None]

_DECLARATIONS = ("usmo.files.sklearn_types", "usmo.estimators.storable", "usmo.columns.storable")
"""Modules that register their classes when imported. They are named, not imported: a file format lies below the
estimators, which save themselves with it, and cannot import the classes above it."""

NOT_STORED = frozenset(
    {"_skl_callbacks", "_callback_fit_ctx", "_parent_callback_ctx", "_skl_callbacks_to_teardown"}
)
"""Attributes of scikit-learn's callbacks: they observe a fit and do not belong to its result."""


@dataclass(frozen=True)
class StoredClass:
    """A registered class: its name in files, the attributes accepted, rules and check."""

    name: str
    cls: Any
    attributes: frozenset[str] | None
    rules: Mapping[str, Rule]
    check: Check | None
    outputs: Callable[[Any], int] | None

    def state(self, value: Any) -> dict[str, Any]:
        """The attributes to store."""
        if fields := _fields(self.cls):
            return {name: getattr(value, name) for name in fields}
        return {name: part for name, part in vars(value).items() if name not in NOT_STORED}

    @property
    def is_estimator(self) -> bool:
        """Whether objects of the class have parameters."""
        return bool(_parameters(self.cls))

    def expect(self, preview: dict[str, Any]) -> None:
        """Refuse attributes that the class does not have, and arrays of other types or shapes than it declares.

        Called before arrays are read: a preview holds numbers, texts, and arrays without their numbers.
        """
        self._check_names(preview)
        sizes: dict[str, int] = {}
        for name, rule in self.rules.items():
            if preview.get(name) is not None:
                check_attribute(self.name, name, preview[name], rule, sizes, values=False)

    def build(self, state: dict[str, Any]) -> Any:
        """The object with these attributes; a parameter missing from the file has its default."""
        state = state | {name: value for name, value in _defaults(self.cls).items() if name not in state}
        fields = _fields(self.cls)
        odd = sorted(set(state) ^ set(fields)) if fields else []
        need(not odd, f"{self.name} has the fields {', '.join(fields)}, not {', '.join(odd)[:80]}")
        if issubclass(self.cls, tuple):
            return tuple.__new__(self.cls, [state[name] for name in fields])
        value = self.cls.__new__(self.cls)
        for name in fields:
            object.__setattr__(value, name, state[name])  # also where the dataclass is frozen or has slots
        if not fields:
            vars(value).update(state)
        return value

    def verify(self, value: Any) -> None:
        """Raise ModelFileError for an object that breaks a rule of its class."""
        names = self.state(value)
        self._check_names(names)
        if hasattr(self.cls, "_parameter_constraints"):
            try:
                value._validate_params()
            except (ValueError, TypeError, AttributeError) as error:
                raise ModelFileError(str(error)) from error
        if self.rules and self.is_estimator and _parameters(self.cls).issuperset(names):
            return  # an estimator that is not fitted, as a parameter of another one
        conform(value, self.rules)
        if self.check is not None:
            self.check(value)

    def _check_names(self, names: Iterable[str]) -> None:
        fields = _fields(self.cls)
        for name in names:
            good = name in fields if fields else self._accepts(name)
            need(good, f"{self.name} has the attribute {name[:80]!r}, which is not one to store")

    def _accepts(self, name: str) -> bool:
        if name in self.rules or name in _parameters(self.cls):
            return True
        if self.attributes is not None:
            return name in self.attributes
        return name.isidentifier() and not name.startswith("__") and not hasattr(self.cls, name)


@cache
def _fields(cls: Any) -> tuple[str, ...]:
    """The fields of a named tuple or dataclass; of another class none."""
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    return getattr(cls, "_fields", tuple(field.name for field in fields))


@cache
def _parameters(cls: Any) -> frozenset[str]:
    """The parameters of an estimator; of another class none."""
    return frozenset(cls._get_param_names()) if hasattr(cls, "_get_param_names") else frozenset()


@cache
def _defaults(cls: Any) -> dict[str, Any]:
    """Default values of the fields of a record or the parameters of an estimator, where they have one."""
    if dataclasses.is_dataclass(cls):
        fields = dataclasses.fields(cls)
        return {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    signature = inspect.signature(cls.__init__).parameters if _parameters(cls) else {}
    defaults = {name: signature[name].default for name in signature if name in _parameters(cls)}
    defaults = {name: default for name, default in defaults.items() if default is not inspect.Parameter.empty}
    return getattr(cls, "_field_defaults", defaults)


_BY_CLASS: dict[type, StoredClass] = {}
_BY_NAME: dict[str, StoredClass] = {}


def register(
    cls: type,
    *,
    name: str | None = None,
    attributes: Iterable[str] | None = None,
    rules: Mapping[str, Rule] | None = None,
    check: Check | None = None,
    outputs: Callable[[Any], int] | None = None,
) -> type:
    """Let model files hold objects of a class.

    Parameters
    ----------
    cls : type
        A dataclass, a named tuple, or a class whose whole state is in ``vars(object)``.
    name : str, optional
        The name in files, by default the name of the class. It must never change.
    attributes : iterable of str, optional
        The attributes accepted besides the parameters of an estimator and those with a rule; by default all that
        hide nothing of the class.
    rules : mapping of str to Rule, optional
        What attributes must be (:mod:`usmo.files.rules`).
    check : callable, optional
        Gets an object about to be written or just read, and raises ValueError if it is not valid.
    outputs : callable, optional
        The number of columns that a fitted transformer makes; the next step of a pipeline must accept as many.
    """
    names = None if attributes is None else frozenset(attributes)
    stored = StoredClass(name or cls.__name__, cls, names, rules or {}, check, outputs)
    earlier = _BY_NAME.get(stored.name)
    if earlier is not None and earlier.cls is not cls:
        raise ValueError(
            f"name must be new, got {stored.name!r}, which is {earlier.cls.__module__}.{earlier.name}"
        )
    _BY_CLASS[cls] = _BY_NAME[stored.name] = stored
    return cls


def class_of(value: Any) -> StoredClass | None:
    """The registered class of an object, None if it is not registered."""
    _import_declarations()
    return _BY_CLASS.get(type(value))


def transformer_names() -> list[str]:
    """The registered classes that transform rows, which a pipeline in a file may hold."""
    _import_declarations()
    return sorted(
        name for name, stored in _BY_NAME.items() if stored.is_estimator and hasattr(stored.cls, "transform")
    )


def class_named(name: Any) -> StoredClass:
    """The registered class that a file refers to by this name."""
    _import_declarations()
    stored = _BY_NAME.get(name) if isinstance(name, str) else None
    if stored is None:
        raise ModelFileError(
            f"it holds an object of the class {str(name)[:80]!r}, which is not registered here; "
            "if it is yours, call usmo.files.register first"
        )
    return stored


@cache
def _import_declarations() -> None:
    """Register the classes of the package and of scikit-learn, at the first save or load."""
    for module in _DECLARATIONS:
        importlib.import_module(module)
