"""The one error of model files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model that cannot be stored, or a file that is not a valid model file; nothing was written or built."""


def need(condition: object, problem: str) -> None:
    """Raise ModelFileError with a one-line description of the problem unless the condition holds."""
    if not condition:
        raise ModelFileError(problem)
