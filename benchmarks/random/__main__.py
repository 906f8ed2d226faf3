"""Labels at random and not at random: python -m benchmarks.random {test,prior,classifier} [--draws 10] [--tables ...]

Each part is a module of this package whose ``main(draws, tables)`` prints its tables; ``mechanisms`` says how labels
arise. USMO_DATA must be set.
"""

from __future__ import annotations

import argparse
import warnings
from importlib import import_module

from benchmarks.random.mechanisms import TABLES

PARTS = ("test", "prior", "classifier")

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES, metavar="TABLE")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    import_module(f"benchmarks.random.{given.part}").main(given.draws, given.tables)
