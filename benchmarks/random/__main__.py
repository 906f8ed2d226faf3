"""Labels at random and not at random, and another mixture: python -m benchmarks.random PART [--draws 10] [--tables ...]

PART is test, prior, classifier, shift or probabilities: a module of this package whose ``main(draws, tables, results)``
prints its tables; ``mechanisms`` says how labels arise. ``--tables other`` takes the tables of benchmarks.keel.
Measurements are kept in out/random, and those that are there are not made again: delete the folder after a change of
the code. USMO_DATA must be set.
"""

from __future__ import annotations

import argparse
import warnings
from importlib import import_module
from pathlib import Path

from benchmarks.priors import add_tables, chosen_tables
from benchmarks.results import Results

PARTS = ("test", "prior", "classifier", "shift", "probabilities")

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="first draw")
    add_tables(parser)
    parser.add_argument("--results", type=Path, default=Path("out/random"), help="folder of measurements")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    draws = range(given.first, given.first + given.draws)
    results = Results(given.results / f"{given.part}.jsonl")
    import_module(f"benchmarks.random.{given.part}").main(draws, chosen_tables(given.tables), results)
