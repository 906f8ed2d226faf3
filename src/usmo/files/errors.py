"""The one error of model files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model that cannot be stored, or a file that is not a sound model file; nothing was written or built."""


def need(condition: object, what: str) -> None:
    """Refuse with one line on what is wrong unless the condition holds."""
    if not condition:
        raise ModelFileError(what)
