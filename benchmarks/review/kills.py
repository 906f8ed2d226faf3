"""A process that writes decisions is killed at random moments: what it confirmed must be in the store, each once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from usmo.review import Store

WRITER = """
import sys
from usmo.review import Store
store = Store(sys.argv[1])
print("ready", flush=True)
k = 0
while True:
    request = f"{sys.argv[2]}-{k}"
    entries = store.record([k % 997, 1000 + k % 997], [1, -1], by=sys.argv[2], how="likely", request=request)
    print(request, flush=True)  # confirmed
    if k % 5 == 4:
        store.undo(by=sys.argv[2], request=request + "-undo")
        print(request + "-undo", flush=True)
    k += 1
"""


def run(kills: int, writers: int = 2) -> None:
    """Kill ``writers`` processes that share a store, start others, and compare store and confirmations."""
    lost = doubled = half = confirmed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kills.review"
        Store(path).close()
        done: list[str] = []
        for k in range(0, kills, writers):
            done += kill_once(path, k, writers)
        confirmed = len(done)
        with Store(path) as store:
            counts = Counter(entry.request for entry in store.history())
            intact = store._connection.execute("PRAGMA integrity_check").fetchone()[0]
            lost = sum(counts[request] == 0 for request in done)
            doubled = sum(number > 2 for number in counts.values())
            half = sum(number != 2 for number in counts.values())
    print(f"{kills} kills of {writers} writers at once: {confirmed:,} requests of two decisions confirmed, "
          f"{sum(counts.values()) // 2:,} in the store")  # fmt: skip
    print(f"lost {lost}, doubled {doubled}, half-written {half}, integrity check: {intact}")


def kill_once(path: Path, seed: int, writers: int) -> list[str]:
    """Start writers, kill them after a random time, and return the requests that they confirmed."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), f"w{seed + i}"], stdout=subprocess.PIPE, text=True
        )
        for i in range(writers)
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()  # ready
    time.sleep(random.Random(seed).uniform(0.0, 0.15))
    confirmed: list[str] = []
    for process in processes:
        os.kill(process.pid, signal.SIGKILL)
    for process in processes:
        assert process.stdout is not None
        lines = process.stdout.read().splitlines(keepends=True)
        confirmed += [line.strip() for line in lines if line.endswith("\n")]
        process.wait()
    return confirmed
