"""Checkpoints: no work is lost to kills, other data are refused, no file is left."""

import os
import random
import signal
import time

import numpy as np
import pytest

from tests.fits import train
from tests.oracles import random_problem, random_table
from usmo import PUSVC
from usmo.fitting.checkpoint import Checkpoint, problem_digest
from usmo.fitting.warm_up import compile_kernel_solvers


@pytest.fixture
def slow():
    """A problem, whose fit takes some seconds, and its kernel matrix."""
    return random_problem(0, n=4000, p=40, d=8, prior=0.3, lam=1e-5)


def test_fit_killed_twenty_times_reaches_the_same_optimum(tmp_path, slow):
    """SIGKILL at random moments: each run continues from the file, and the last one reaches the same optimum."""
    problem, matrix = slow
    certificate = train(problem, matrix, tol=1e-7)[1]
    file, chance = tmp_path / "state", random.Random(0)
    kills = 0
    began = time.perf_counter()
    train(problem, matrix, tol=1e-7)
    seconds = time.perf_counter() - began
    while kills < 20:
        child = os.fork()
        if child == 0:
            train(problem, matrix, tol=1e-7, checkpoint=file, checkpoint_seconds=0.0)
            os._exit(0)
        time.sleep(chance.uniform(0.05, 0.6) * seconds)
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0
            assert not file.exists()
            continue
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kills += 1
        if file.exists():
            assert Checkpoint(file, 0.0, problem_digest(problem, matrix), problem.n).load() is not None
    resumed, again = train(problem, matrix, tol=1e-7, checkpoint=file, checkpoint_seconds=0.0)
    assert resumed.status == "optimal"
    assert again.primal == pytest.approx(certificate.primal, rel=1e-9)
    assert again.kkt_violation <= 1e-7 + 1e-9 * np.abs(resumed.G).max()
    assert list(tmp_path.iterdir()) == []


def test_interrupted_fit_continues_from_the_file(tmp_path, slow):
    problem, matrix = slow
    file = tmp_path / "state"

    def stop(record, sigma):
        if record.kind == "block":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(problem, matrix, tol=1e-4, checkpoint=file, checkpoint_seconds=0.0, progress=stop)
    assert file.exists()
    resumed = train(problem, matrix, tol=1e-4, checkpoint=file, checkpoint_seconds=0.0)[0]
    whole = train(problem, matrix, tol=1e-4)[0]
    assert resumed.kernel_rows < 0.7 * whole.kernel_rows
    assert not file.exists()


def test_checkpoints_of_other_data_and_other_files_are_refused(tmp_path):
    X, y = random_table(0, n=100, p=20)
    file = tmp_path / "state"
    problem, matrix = random_problem(0, n=100, p=20)
    checkpoint = Checkpoint(file, 0.0, problem_digest(problem, matrix), problem.n)
    checkpoint.save(np.zeros(100), lambda: np.zeros(100), np.zeros(100))
    del checkpoint
    with pytest.raises(ValueError, match="belongs to other data or parameters"):
        PUSVC(0.4, checkpoint=file).fit(X, y)
    assert file.exists()
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ValueError, match="is not a checkpoint of usmo"):
        PUSVC(0.4, checkpoint=str(file)).fit(X, y)
    with pytest.raises(ValueError, match="checkpoint works with solver='blocks' only, got solver='usmo'"):
        PUSVC(0.4, checkpoint=file, solver="usmo").fit(X, y)
    with pytest.raises(ValueError, match="checkpoint must lie in an existing folder"):
        PUSVC(0.4, checkpoint=tmp_path / "nowhere" / "state").fit(X, y)


def test_files_are_replaced_whole_and_not_too_often(tmp_path, monkeypatch):
    problem, matrix = random_problem(0, n=50, p=5)
    file = tmp_path / "state"
    checkpoint = Checkpoint(file, 3600.0, problem_digest(problem, matrix), problem.n)
    checkpoint.save(np.zeros(50), lambda: pytest.fail("G is computed although nothing is written"), np.zeros(50))
    assert not file.exists()  # the interval has not passed
    checkpoint.file.seconds = 0.0
    checkpoint.save(np.ones(50), lambda: np.zeros(50), np.zeros(50))
    before = file.read_bytes()

    def broken(*args, **options):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", broken)
    with pytest.warns(RuntimeWarning, match="disk full"):
        checkpoint.save(np.zeros(50), lambda: np.zeros(50), np.zeros(50))
    assert file.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state", "state.lock"]


def test_checkpoint_does_not_change_the_model(tmp_path):
    X, y = random_table(1, n=200, p=20)
    compile_kernel_solvers()
    one, two = PUSVC(0.4).fit(X, y), PUSVC(0.4, checkpoint=tmp_path / "c", checkpoint_seconds=0.0).fit(X, y)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert list(tmp_path.iterdir()) == []


def test_fit_stopped_inside_a_product_continues_with_its_next_panel(tmp_path, monkeypatch):
    """G of such a state belongs to no σ: it holds the panels done so far."""
    monkeypatch.setattr("usmo.solvers.block_rows._PANELS_FROM", 512)
    monkeypatch.setattr("usmo.kernels.symmetric._PANEL", 512)
    problem, matrix = random_problem(0, n=4000, p=40, d=8, prior=0.4, lam=1e-3)
    whole, certificate = train(problem, matrix, tol=1e-5)
    file, seen = tmp_path / "state", []
    save = Checkpoint.save

    def stopped(self, sigma, get_G, target, panels=0):
        save(self, sigma, get_G, target, panels)
        seen.append(panels)
        if panels == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", stopped)
        with pytest.raises(KeyboardInterrupt):
            train(problem, matrix, tol=1e-5, checkpoint=file, checkpoint_seconds=0.0)
    assert seen[-3:] == [1, 2, 3]
    resumed, again = train(problem, matrix, tol=1e-5, checkpoint=file, checkpoint_seconds=0.0)
    assert again.primal == pytest.approx(certificate.primal, rel=1e-7)
    assert resumed.kernel_rows < 0.8 * whole.kernel_rows
