"""Checkpoints: kills at any moment lose nothing, other data is refused, nothing is left behind."""

import os
import random
import signal
import time

import numpy as np
import pytest

from tests.fits import train
from tests.oracles import random_problem, random_table
from usmo import PUSVC
from usmo.fitting import kernel as training
from usmo.fitting.checkpoint import Checkpoint, fingerprint


@pytest.fixture
def fit():
    return random_problem(0, n=4000, p=40, d=8, prior=0.3, lam=1e-5)


def test_twenty_kills_lose_nothing(tmp_path, fit):
    """SIGKILL at random moments; every next run goes on from the file, and the last reaches the same optimum."""
    problem, matrix = fit
    _, proof = train(problem, matrix, tol=1e-7)
    file, chance = tmp_path / "state", random.Random(0)
    kills, ends = 0, 0
    began = time.perf_counter()
    train(problem, matrix, tol=1e-7)
    seconds = time.perf_counter() - began
    while kills < 20:
        child = os.fork()
        if child == 0:
            train(problem, matrix, tol=1e-7, checkpoint=(file, 0.0))
            os._exit(0)
        time.sleep(chance.uniform(0.05, 0.6) * seconds)
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0
            ends += 1
            assert not file.exists()
            continue
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kills += 1
        if file.exists():
            assert Checkpoint(file, 0.0, fingerprint(problem, matrix), problem.n).load() is not None
    resumed, again = train(problem, matrix, tol=1e-7, checkpoint=(file, 0.0))
    assert resumed.status == "optimal"
    assert again.primal == pytest.approx(proof.primal, rel=1e-9)
    assert again.kkt_violation <= 1e-7 + 1e-9 * np.abs(resumed.G).max()
    assert list(tmp_path.iterdir()) == []


def test_fit_goes_on_where_it_was(tmp_path, fit):
    problem, matrix = fit
    file = tmp_path / "state"

    def stop(record, sigma):
        if record.kind == "block":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(problem, matrix, tol=1e-4, checkpoint=(file, 0.0), progress=stop)
    assert file.exists()
    resumed, _ = train(problem, matrix, tol=1e-4, checkpoint=(file, 0.0))
    whole, _ = train(problem, matrix, tol=1e-4)
    assert resumed.kernel_rows < 0.7 * whole.kernel_rows
    assert not file.exists()


def test_other_data_parameters_or_files_are_refused(tmp_path):
    X, y = random_table(0, n=100, p=20)
    file = tmp_path / "state"
    problem, matrix = random_problem(0, n=100, p=20)
    keep = Checkpoint(file, 0.0, fingerprint(problem, matrix), problem.n)
    keep.save(np.zeros(100), lambda: np.zeros(100), np.zeros(100))
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


def test_writing_is_atomic_and_rare(tmp_path, monkeypatch):
    problem, matrix = random_problem(0, n=50, p=5)
    file = tmp_path / "state"
    keep = Checkpoint(file, 3600.0, fingerprint(problem, matrix), problem.n)
    keep.save(np.zeros(50), lambda: pytest.fail("G is fetched for nothing"), np.zeros(50))
    assert not file.exists()  # too soon
    keep.file.seconds = 0.0
    keep.save(np.ones(50), lambda: np.zeros(50), np.zeros(50))
    before = file.read_bytes()

    def broken(*args, **options):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", broken)
    with pytest.raises(OSError, match="disk full"):
        keep.save(np.zeros(50), lambda: np.zeros(50), np.zeros(50))
    assert file.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


def test_model_is_the_same_with_and_without(tmp_path):
    X, y = random_table(1, n=200, p=20)
    training.compile_once()
    one, two = PUSVC(0.4).fit(X, y), PUSVC(0.4, checkpoint=tmp_path / "c", checkpoint_seconds=0.0).fit(X, y)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert list(tmp_path.iterdir()) == []
