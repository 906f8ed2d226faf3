"""Signals at any moment: exit code 128 plus the signal, one line, files whole or not there, nothing else left."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.cli.command_line import FIXED, contents, table
from usmo.cli import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

FILES = ("new.csv", "new.html", "new.usmo")
RANK = ["rank", "bank.csv", *FIXED, "--quiet", "--output", FILES[0], "--report", FILES[1], "--model", FILES[2]]
STARTED = "import os, sys; from usmo.cli import main; os.write(int(sys.argv.pop(1)), b'.'); sys.exit(main())"
"""The program, which tells when the interpreter, whose own start is not ours, has come to it."""

NOTHING, ALL = b"usmo: interrupted; nothing was written\n", b"usmo: interrupted; the files are written\n"

SIGNALS = {
    "SIGINT": (130, b"interrupted"),
    "SIGTERM": (143, b"terminated"),
    "SIGHUP": (129, b"the terminal is closed"),
}
each_signal = pytest.mark.parametrize("name", list(SIGNALS))


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """A folder with a table and a model."""
    folder = tmp_path_factory.mktemp("bank")
    (folder / "bank.csv").write_bytes(table(300))
    command = ["fit", str(folder / "bank.csv"), *FIXED, "--quiet", "--model", str(folder / "bank.usmo")]
    assert main(command) == 0
    return folder


@pytest.fixture
def folder(bank, tmp_path):
    for name in ("bank.csv", "bank.usmo"):
        (tmp_path / name).write_bytes((bank / name).read_bytes())
    return tmp_path


def started(code, arguments, folder, handler=signal.SIG_DFL, **options):
    # a shell's background job ignores interrupts, and its children would too
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: [signal.signal(getattr(signal, name), handler) for name in SIGNALS], **options,
    )  # fmt: skip


def timed_run(folder, delay):
    """Run the ranking and interrupt it after this many seconds, or not at all; what it says, and its time."""
    reader, writer = os.pipe()
    process = started(STARTED, [str(writer), *RANK], folder, pass_fds=[writer])
    os.close(writer)
    assert os.read(reader, 1) == b"."
    os.close(reader)
    began = time.perf_counter()
    if delay is not None:
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err, time.perf_counter() - began


def interrupted_itself(folder, prepare, arguments, name="SIGINT", **options):
    """Run a command in a program that ``prepare`` makes send itself a signal at a chosen moment."""
    code = (
        "import os, signal, sys\n"
        f"def interrupt(): os.kill(os.getpid(), signal.{name})\n"
        f"{prepare}\n"
        "from usmo.cli import main\n"
        "sys.exit(main())"
    )
    process = started(code, arguments, folder, **options)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def at_import(module):
    return (
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: interrupt()\n"
        "sys.meta_path.insert(0, Finder())"
    )


def test_ten_moments_of_a_run(folder):
    before = contents(folder)
    timed_run(folder, None)  # fills Numba's cache, which would make the first run longer than the others
    code, out, err, seconds = timed_run(folder, None)
    assert (code, out, err) == (0, b"", b"")
    whole = contents(folder)
    assert set(whole) == {*before, *FILES}
    moments = (np.arange(10) + np.random.default_rng(0).random(10)) / 10
    ends = []
    for delay in moments * seconds:
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
        code, out, err, _ = timed_run(folder, delay)
        ends.append(code)
        assert out == b""
        if code == 0:  # done before the signal came
            assert err == b""
            assert set(contents(folder)) == set(whole)
        else:
            assert (code, err) in ((130, NOTHING), (130, ALL))
            assert set(contents(folder)) == set(before if err == NOTHING else whole)
    print(f"a run of {seconds:.1f} s, interrupted ten times: exit codes {ends}")
    assert 130 in ends


@pytest.mark.parametrize("module", ["click", "numpy", "numba", "usmo.report.page"])
def test_during_an_import(folder, module):
    before = contents(folder)
    assert interrupted_itself(folder, at_import(module), RANK) == (130, b"", NOTHING)
    assert contents(folder) == before


PREDICT = ["predict", "bank.usmo", "bank.csv", "--quiet", "--output", "new.csv"]


@each_signal
def test_while_a_file_is_written(folder, name):
    before = contents(folder)
    prepare = "def fsync(handle): interrupt()\nos.fsync = fsync"
    code, word = SIGNALS[name]
    assert interrupted_itself(folder, prepare, PREDICT, name) == (
        code, b"", b"usmo: " + word + b"; nothing was written\n",
    )  # fmt: skip
    assert contents(folder) == before


@each_signal
def test_while_files_are_put_in_their_places(folder, name):
    prepare = (
        "replace = os.replace\n"
        "def interrupting(place, target):\n"
        f"    if os.path.basename(target) in {FILES}: interrupt()\n"
        "    replace(place, target)\n"
        "os.replace = interrupting"
    )
    before = contents(folder)
    code, word = SIGNALS[name]
    assert interrupted_itself(folder, prepare, RANK, name) == (
        code, b"", b"usmo: " + word + b"; the files are written\n",
    )  # fmt: skip
    assert set(contents(folder)) == {*before, *FILES}


def test_a_library_that_swallows_interrupts_does_not_stop_them(folder):
    prepare = (
        "import usmo.io\n"
        "def read(*_, **__):\n"
        "    try: interrupt()\n"
        "    except BaseException: pass\n"
        "    raise SystemExit(7)\n"
        "usmo.io.read = read"
    )
    assert interrupted_itself(folder, prepare, PREDICT) == (130, b"", NOTHING)


@each_signal
def test_after_the_end_it_is_too_late(folder, name):
    code, out, err = interrupted_itself(folder, "import atexit; atexit.register(interrupt)", ["--version"], name)
    assert (code, err) == (0, b"")
    assert out.startswith(b"usmo ")


@each_signal
def test_a_program_started_with_a_signal_ignored_goes_on(folder, name):
    """As ``nohup`` does."""
    code, _, err = interrupted_itself(folder, at_import("click"), ["--help"], name, handler=signal.SIG_IGN)
    assert (code, err) == (0, b"")


@each_signal
def test_a_command_with_worker_processes_ends_them_in_order(folder, name):
    prepare = (
        "import usmo.reproduce.figures\n"
        "def run(*_, **__):\n"
        "    try: interrupt()\n"
        "    finally: print('workers ended')\n"
        "usmo.reproduce.figures.run = run"
    )
    code, word = SIGNALS[name]
    arguments = ["reproduce", "figures", "--out", "out", "--quick"]
    got, out, err = interrupted_itself(folder, prepare, arguments, name)
    assert (got, out) == (code, b"workers ended\n")
    assert err.endswith(b"usmo: " + word + b"; finished results are kept, the same command continues from there\n")


@each_signal
def test_a_forked_worker_dies_alone(folder, name):
    """The files on the stage belong to the parent, which goes on."""
    prepare = (
        "fsync = os.fsync\n"
        "def forking(handle):\n"
        "    child = os.fork()\n"
        "    if child == 0: interrupt(); os._exit(0)\n"
        f"    assert os.waitpid(child, 0)[1] == signal.{name}\n"
        "    fsync(handle)\n"
        "os.fsync = forking"
    )
    assert interrupted_itself(folder, prepare, PREDICT, name) == (0, b"", b"")
    assert (folder / "new.csv").exists()


def test_inside_another_program_it_stays_an_exception(folder, monkeypatch, capfd):
    """``main`` with arguments leaves the signals alone, and cleans up when the exception comes by."""
    handler = signal.getsignal(signal.SIGINT)
    before = contents(folder)
    monkeypatch.chdir(folder)

    def interrupt(*_a, **_k):
        assert signal.getsignal(signal.SIGINT) is handler
        raise KeyboardInterrupt

    monkeypatch.setattr("usmo.cli.fitting.save", interrupt)
    assert main(RANK) == 130
    assert capfd.readouterr().err.encode() == NOTHING
    assert contents(folder) == before
