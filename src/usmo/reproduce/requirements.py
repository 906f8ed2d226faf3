"""What the experiments need in addition to the package: the libraries of an extra, and data sets."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from usmo.datasets.loading import folders, missing_tables, table_file

_MODULES = ("clarabel", "matplotlib", "jinja2")
"""Modules of the extra ``reproduce``."""


def check_requirements(names: Iterable[str]) -> None:
    """Raise one error that names every missing library and data set; download those that OpenML holds."""
    names = list(dict.fromkeys(names))
    modules = [module for module in _MODULES if find_spec(module) is None]
    tables = missing_tables(names)
    needs = []
    if modules:
        needs.append(f'{", ".join(modules)}: pip install "usmo-learn[reproduce]"')
    if tables:
        files = ", ".join(f"{name}.npz" for name in tables)
        where = " or ".join(str(folder) for folder in folders())
        what = "it" if len(tables) == 1 else "them"
        needs.append(f"{files}: set USMO_DATA to the folder that holds {what} (looked in {where})")
    if needs:
        raise RuntimeError(f"usmo reproduce needs {'; and '.join(needs)}")
    for name in names:
        table_file(name)
