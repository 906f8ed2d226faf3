"""The files of checkpoints: one fit at a time, failures of the disk, forged files, states that a fit can go on from."""

import errno
import os
import re
import signal
import socket
import warnings

import numpy as np
import pytest

from tests.fits import solve_blocks, train
from tests.oracles import random_problem, random_table
from usmo import PUSVC
from usmo.fitting.checkpoint import Checkpoint, StateFile, check_checkpoint, problem_digest
from usmo.fitting.warm_up import compile_kernel_solvers

resource = pytest.importorskip("resource")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes of POSIX")


@pytest.fixture
def problem():
    compile_kernel_solvers()
    return random_problem(0, n=2500, p=40, d=8, prior=0.3, lam=1e-4)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_second_process_is_told_who_uses_the_file_and_the_first_one_ends_well(tmp_path, problem):
    file, (reader, writer), (go_on, tell) = tmp_path / "state", os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        calls = []

        def wait(record, sigma):
            if not calls:
                os.write(writer, b".")
                os.read(go_on, 1)
            calls.append(record)

        solution = train(*problem, checkpoint=file, checkpoint_seconds=0.0, progress=wait)[0]
        os._exit(0 if solution.status == "optimal" else 1)
    assert os.read(reader, 1) == b"."
    holder = f"process {child} on {socket.gethostname()}"
    with pytest.raises(RuntimeError, match=re.escape(f"checkpoint '{file}' is in use by {holder}: wait until")):
        train(*problem, checkpoint=file)
    os.write(tell, b".")
    assert os.waitpid(child, 0)[1] == 0
    assert names(tmp_path) == []


def test_what_a_killed_process_leaves_does_not_block_and_goes_away(tmp_path, problem):
    file, (reader, writer) = tmp_path / "state", os.pipe()
    child = os.fork()
    if child == 0:
        checkpoint = Checkpoint(file, 0.0, problem_digest(*problem), problem[0].n)

        def halt(*_):
            os.write(writer, b".")
            signal.pause()

        os.fsync = halt
        checkpoint.save(np.zeros(2500), lambda: np.zeros(2500), np.zeros(2500))
    assert os.read(reader, 1) == b"."
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert [name for name in names(tmp_path) if name.endswith(".tmp")]
    assert train(*problem, checkpoint=file, checkpoint_seconds=0.0)[0].status == "optimal"
    assert names(tmp_path) == []


@pytest.mark.parametrize("begin", ["fit", "load"])
def test_fit_ended_by_an_exception_does_not_keep_the_file(tmp_path, problem, begin):
    """Also while its traceback is kept, as notebooks do."""
    file = tmp_path / "state"
    if begin == "load":
        file.write_bytes(b"something else")

    def stop(record, sigma):
        raise KeyboardInterrupt

    with pytest.raises((KeyboardInterrupt, ValueError)) as kept:
        train(*problem, checkpoint=file, checkpoint_seconds=0.0, progress=stop)
    assert names(tmp_path) == ["state"]
    file.unlink()
    assert train(*problem, checkpoint=file)[0].status == "optimal"
    assert kept.value.__traceback__ is not None


@pytest.fixture
def no_room(monkeypatch):
    """Let the disk fail when a lock is made."""
    real = os.open

    def failing(path, *options, **more):
        if str(path).endswith(".lock"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(path, *options, **more)

    monkeypatch.setattr(os, "open", failing)


def test_folder_that_cannot_be_written_is_noticed_before_the_fit(tmp_path, no_room, monkeypatch):
    X, y = random_table(0)
    monkeypatch.setattr(
        "usmo.estimators.pusvc.prepare_choices", lambda *_: pytest.fail("the prior is estimated before")
    )
    with pytest.raises(ValueError, match=r"folder that can be written, got '.*state' \(Read-only file system\)"):
        PUSVC(checkpoint=tmp_path / "state").fit(X, y)


def test_names_that_are_no_files_are_refused(tmp_path, no_room):
    with pytest.raises(ValueError, match="must be the name of a file, got the folder"):
        check_checkpoint(tmp_path)
    with pytest.raises(ValueError, match=r"must lie in an existing folder, got '.*no/state'"):
        check_checkpoint(tmp_path / "no" / "state")
    check_checkpoint(None)


def test_full_disk_is_warned_about_once_and_the_fit_goes_on(tmp_path, problem):
    """The limit on the size of files makes writes fail as a full disk does: inside zipfile."""
    file = tmp_path / "state"
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    expected = train(*problem, tol=1e-5)[1].primal
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limit[1]))
    try:
        with pytest.warns(RuntimeWarning) as warned:
            solution, certificate = train(*problem, tol=1e-5, checkpoint=file, checkpoint_seconds=0.0)[:2]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    message = f"checkpoint '{file}' cannot be written (File too large); the fit goes on"
    assert [str(each.message)[: len(message)] for each in warned] == [message]
    assert warned[0].filename.endswith("fits.py")
    assert solution.status == "optimal"
    assert certificate.primal == pytest.approx(expected, rel=1e-6)
    assert names(tmp_path) == []


def test_last_state_stays_when_the_disk_fills_up_and_is_replaced_when_there_is_room(tmp_path):
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    file = StateFile(tmp_path / "state", 0.0, "digest")
    file.save(lambda: {"w": np.zeros(3)})
    for value in (1.0, 2.0):
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, limit[1]))
        try:
            with pytest.warns(RuntimeWarning, match="cannot be written"):
                file.save(lambda value=value: {"w": np.full(3, value)})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        np.testing.assert_array_equal(file.load(w=(3,))["w"], np.full(3, value - 1.0))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            file.save(lambda value=value: {"w": np.full(3, value)})
        np.testing.assert_array_equal(file.load(w=(3,))["w"], np.full(3, value))


def test_file_that_cannot_be_removed_at_the_end_is_warned_about(tmp_path, monkeypatch):
    file = StateFile(tmp_path / "state", 0.0, "digest")
    file.save(lambda: {"w": np.zeros(3)})

    def broken(self, missing_ok=False):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("pathlib.Path.unlink", broken)
    with pytest.warns(RuntimeWarning, match=r"cannot be removed \(Input/output error\); remove it before"), file:
        pass
    check_checkpoint(tmp_path / "state")


def test_every_state_saved_leads_to_a_point_of_the_whole_problem(problem):
    """The start solves a subsample, whose bounds are larger; a state on the way to its σ is of no use."""
    task, matrix = problem
    targets = []
    solution = solve_blocks(task, matrix, save=lambda sigma, get_G, target, panels: targets.append(target.copy()))
    assert len(targets) > solution.iterations  # the way to the start is saved, too
    for target in targets:
        assert target.min() >= 0.0
        assert (target <= task.c * (1 + 1e-12)).all()
        assert target.sum() == pytest.approx(task.total, rel=1e-9)


@pytest.mark.parametrize(
    "arrays",
    [
        {"w": np.zeros(4)},
        {"w": np.zeros(2**20)},
        {"w": np.array([1.0, np.nan, 0.0])},
        {"w": np.array([1.0, np.inf, 0.0])},
        {"v": np.zeros(3)},
        {"w": np.zeros(3), "fingerprint": np.full(10_000, "digest")},
        {"w": np.zeros(3), "format": np.array(["one"])},
    ],
)
def test_files_with_other_arrays_are_refused(tmp_path, arrays):
    np.savez_compressed(tmp_path / "state", **{"format": 2, "fingerprint": "digest", **arrays})
    with (
        StateFile(tmp_path / "state.npz", 0.0, "digest") as file,
        pytest.raises(ValueError, match="is not a checkpoint of usmo"),
    ):
        file.load(w=(3,))


def test_array_that_claims_to_be_huge_takes_no_memory(tmp_path):
    np.savez(tmp_path / "state", format=2, fingerprint="digest", w=np.zeros(3))
    data = (tmp_path / "state.npz").read_bytes()
    (tmp_path / "state.npz").write_bytes(data.replace(b"'shape': (3,), }         ", b"'shape': (%d,), }" % 10**9))
    with (
        StateFile(tmp_path / "state.npz", 0.0, "digest") as file,
        pytest.raises(ValueError, match="is not a checkpoint of usmo"),
    ):
        file.load(w=(3,))


def test_checkpoint_of_a_larger_table_belongs_to_other_data(tmp_path):
    with StateFile(tmp_path / "state", 0.0, "larger") as file:
        file.save(lambda: {"w": np.zeros(10_000)})
        os.link(tmp_path / "state", tmp_path / "kept")
    with (
        StateFile(tmp_path / "kept", 0.0, "smaller") as file,
        pytest.raises(ValueError, match="belongs to other data"),
    ):
        file.load(w=(3,))
