"""Rules for the attributes of stored objects: a table of attribute → rule, checked by one function.

    {"n_features_in_": size("columns"), "intercept_": reals(1), **optional(coef_=reals(1, "columns"))}

Each side of a shape is a number or a name; a name stands for the number it has at its first use in the table.
Rules protect compiled code, which would read beyond arrays that do not fit together, and give users a message
they can act on. They do not prove that an object is one that its class would make.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Number
from typing import Any

import numpy as np
from scipy import sparse

from usmo.files.errors import ModelFileError, need

Sizes = dict[str, int]


@dataclass(frozen=True)
class Rule:
    """A condition on one attribute; ``text`` completes "coef_ must be …", with sizes as ``{columns}``."""

    text: str
    holds: Callable[[Any, Sizes], bool]
    required: bool = True


def conform(value: Any, rules: Mapping[str, Rule], **sizes: int) -> None:
    """Raise ModelFileError unless every attribute in the table satisfies its rule."""
    for name, rule in rules.items():
        if not hasattr(value, name):
            need(not rule.required, f"{type(value).__name__} has no attribute {name!r}: it is not fitted")
        elif not rule.holds(attribute := getattr(value, name), sizes):
            text = rule.text.format_map(defaultdict(lambda: "n", sizes))
            raise ModelFileError(f"{type(value).__name__}.{name} must be {text}, got {_shown(attribute)}")


def optional(**rules: Rule) -> dict[str, Rule]:
    """Rules for attributes that may be missing."""
    return {name: replace(rule, required=False) for name, rule in rules.items()}


def or_none(rule: Rule) -> Rule:
    """The rule for an attribute that may be None."""
    return replace(rule, holds=lambda value, sizes: value is None or rule.holds(value, sizes))


def instance(*classes: type) -> Rule:
    """An object of one of these classes."""
    names = " or ".join(cls.__name__ for cls in classes)
    return Rule(f"of type {names}", lambda value, sizes: isinstance(value, classes))


def number(low: float = -math.inf, high: float = math.inf) -> Rule:
    """A finite number in the open interval (low, high)."""

    def holds(value: Any, sizes: Sizes) -> bool:
        real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        return real and bool(low < value < high)

    return Rule(f"a number in ({low:g}, {high:g})", holds)


def size(name: str) -> Rule:
    """A positive integer, the size called ``name`` in the shapes that follow."""

    def holds(value: Any, sizes: Sizes) -> bool:
        positive = isinstance(value, Integral) and not isinstance(value, bool) and int(value) > 0
        return positive and sizes.setdefault(name, int(value)) == value

    return Rule(f"the number of {name}", holds)


def array(
    text: str,
    kinds: str,
    *shape: int | str,
    csr: bool = False,
    values: Callable[[np.ndarray, Sizes], Any] = lambda stored, sizes: True,
) -> Rule:
    """An array, or CSR rows, with a dtype of these kinds (NumPy's letters), whose values pass a test."""

    def holds(value: Any, sizes: Sizes) -> bool:
        stored = value.data if csr and sparse.issparse(value) else value
        if not isinstance(stored, np.ndarray) or stored.dtype.kind not in kinds or value.ndim != len(shape):
            return False
        sides = zip(shape, value.shape, strict=True)
        expected = tuple(sizes.setdefault(side, n) if isinstance(side, str) else side for side, n in sides)
        return expected == value.shape and bool(values(stored, sizes))

    sides = ", ".join(f"{{{side}}}" if isinstance(side, str) else str(side) for side in shape)
    return Rule(f"{text} of shape ({sides}{',' * (len(shape) == 1)})", holds)


def reals(*shape: int | str, csr: bool = False) -> Rule:
    """Finite floats."""
    return array("finite numbers", "f", *shape, csr=csr, values=lambda stored, sizes: np.isfinite(stored).all())


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return f"{value.dtype} of shape {value.shape}"
    return repr(value)[:40] if value is None or isinstance(value, str | Number) else type(value).__name__
