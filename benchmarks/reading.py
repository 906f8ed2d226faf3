"""Reading a CSV file with Polars and with pandas: python -m benchmarks.reading

1,000,000 rows of ten columns: id, numbers, text, dates, booleans; 5 % of one column missing. Every reader runs in its
own process, the readers take turns, and the table shows the best time of each and its peak of resident memory (Linux).
``usmo.io`` uses Polars and checks the fields of every line, markers of missing values, and text among numbers.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

READERS = {
    "polars": ("polars", "polars.read_csv(path, null_values=['NA'], try_parse_dates=True)"),
    "pandas": ("pandas", "pandas.read_csv(path, parse_dates=['since'])"),
    "pandas, pyarrow engine": ("pandas", "pandas.read_csv(path, engine='pyarrow', parse_dates=['since'])"),
    "usmo.io": ("usmo.io", "usmo.io.read(path, text=['id'])"),
}


def make(path: str, n: int) -> None:
    """Write the table; polars is imported here because ``measure`` times the imports of its process."""
    import polars

    rng = np.random.default_rng(0)
    income = np.round(rng.lognormal(10, 1, n), 2)
    table = polars.DataFrame(
        {
            "id": [f"c{i:07d}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "income": polars.Series(income).set(polars.Series(rng.random(n) < 0.05), None),
            "x1": rng.normal(size=n),
            "x2": rng.normal(size=n),
            "x3": np.round(rng.normal(size=n), 3),
            "job": rng.choice(["admin", "blue-collar", "retired", "services", "student"], n),
            "city": rng.choice([f"city {i}" for i in range(500)], n),
            "since": np.datetime64("2015-01-01") + rng.integers(0, 3000, n).astype("timedelta64[D]"),
            "active": rng.random(n) < 0.3,
        }
    )
    table.write_csv(path, null_value="NA")


def measure(reader: str, path: str) -> None:
    """Print the seconds of the imports and of the reading, the peak memory in MB, and the rows read."""
    module, code = READERS[reader]
    began = time.perf_counter()
    names = {module.split(".")[0]: importlib.import_module(module.split(".")[0]), "path": path}
    importlib.import_module("polars" if module == "usmo.io" else module)
    importlib.import_module(module)
    imported = time.perf_counter()
    table = eval(code, names)
    read = time.perf_counter()
    # ru_maxrss would start from the peak of the parent process
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(imported - began, read - imported, int(peak.split()[1]) / 1024, len(table))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--one", nargs=2, metavar=("READER", "PATH"))
    arguments = parser.parse_args()
    if arguments.one:
        measure(*arguments.one)
        sys.exit()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/table.csv"
        make(path, arguments.rows)
        print(f"{arguments.rows:,} rows, {Path(path).stat().st_size / 1e6:.0f} MB")
        runs: dict[str, list[list[float]]] = {reader: [] for reader in READERS}
        for _ in range(arguments.turns):
            for reader in READERS:
                command = [sys.executable, "-m", "benchmarks.reading", "--one", reader, path]
                numbers = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
                runs[reader].append([float(number) for number in numbers])
    best = {reader: np.min(each, axis=0) for reader, each in runs.items()}
    for reader, (imports, seconds, peak, rows) in best.items():
        assert rows == arguments.rows, f"{reader} read {rows} rows"
        print(
            f"{reader:24s} import {imports:5.2f} s   read {seconds:5.2f} s   {seconds / best['polars'][1]:5.2f} × "
            f"polars   peak {peak:4.0f} MB"
        )
