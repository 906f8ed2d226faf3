"""Locks between processes: one holder, named to the others, and none left by a process that dies."""

import os
import signal
import socket
import threading

import pytest

from usmo.system import locks
from usmo.system.locks import FileLock, LockHeld

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes of POSIX")


def in_child(work):
    """Fork a process that calls ``work`` and then waits to be killed; its number, once ``work`` is done."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        kept = work()
        os.write(writer, b"." if kept is not None else b"-")
        signal.pause()
    os.close(writer)
    assert os.read(reader, 1) == b"."
    os.close(reader)
    return child


def killed(child):
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def test_holder_is_named_and_a_killed_one_blocks_nobody(tmp_path):
    path = tmp_path / "lock"
    child = in_child(lambda: FileLock(path))
    with pytest.raises(LockHeld, match=rf"^process {child} on {socket.gethostname()}$"):
        FileLock(path)
    killed(child)
    assert path.exists()  # left behind
    lock = FileLock(path)
    assert path.read_text() == f"process {os.getpid()} on {socket.gethostname()}\n"
    lock.release()
    assert not path.exists()


def test_threads_of_one_process_exclude_each_other(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "lock")
    locks_held, refusals, barrier = [], [], threading.Barrier(8)

    def take(name):
        barrier.wait()
        try:
            locks_held.append(FileLock(tmp_path / name))
        except LockHeld as error:
            refusals.append(str(error))

    threads = [threading.Thread(target=take, args=(name,)) for name in ["lock", "link"] * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(locks_held) == 1
    assert refusals == [f"process {os.getpid()} on {socket.gethostname()} (this process)"] * 7


def test_lock_is_released_once_and_when_it_is_forgotten(tmp_path):
    lock = FileLock(tmp_path / "lock")
    lock.release()
    other = FileLock(tmp_path / "lock")
    lock.release()
    with pytest.raises(LockHeld):
        FileLock(tmp_path / "lock")
    del other
    FileLock(tmp_path / "lock")


def test_forks_of_the_holder_neither_hold_nor_remove_the_lock(tmp_path):
    path = tmp_path / "lock"
    lock = FileLock(path)
    child = os.fork()
    if child == 0:
        lock.release()
        try:
            FileLock(path)
        except LockHeld:
            os._exit(7)
        os._exit(0)
    assert os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 7
    assert path.exists()
    child = in_child(lambda: True)  # lives longer than the holder
    lock.release()
    FileLock(path).release()
    killed(child)


def test_file_removed_by_its_holder_at_the_same_moment_is_made_again(tmp_path, monkeypatch):
    path, real = tmp_path / "lock", locks._lock
    calls = []

    def removed_first(place, handle):
        if not calls:
            place.unlink()
        calls.append(handle)
        real(place, handle)

    monkeypatch.setattr(locks, "_lock", removed_first)
    lock = FileLock(path)
    assert len(calls) == 2
    assert path.exists()
    lock.release()


def test_disk_without_locks_is_used_without(tmp_path, monkeypatch):
    def unsupported(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(locks.fcntl, "lockf", unsupported)
    FileLock(tmp_path / "lock").release()
    assert list(tmp_path.iterdir()) == []
