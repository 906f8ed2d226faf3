"""Files that are replaced whole: a reader, or what is left after an error, never sees half of one."""

import os
import stat

import pytest

from usmo.system.atomic import replacing, write_whole


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path):
    target = tmp_path / "state"
    target.write_bytes(b"old")
    with replacing(target) as stream:
        stream.write(b"first half, ")
        stream.flush()
        assert target.read_bytes() == b"old"
        stream.write(b"second half")
    assert target.read_bytes() == b"first half, second half"
    assert names(tmp_path) == ["state"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, error):
    target = tmp_path / "state"
    write_whole(target, b"old")

    def fail():
        with replacing(target) as stream:
            stream.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["state"]


def test_two_writers_do_not_mix(tmp_path):
    target = tmp_path / "state"
    with replacing(target) as one, replacing(target) as two:
        one.write(b"one" * 1000)
        two.write(b"two")
        assert len(names(tmp_path)) == 2
    assert target.read_bytes() == b"one" * 1000  # the outer block ends last
    assert names(tmp_path) == ["state"]


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_permissions_of_the_old_file_are_kept_from_the_beginning(tmp_path, mode):
    target = tmp_path / "state"
    write_whole(target, b"old")
    target.chmod(mode)
    with replacing(target) as stream:
        assert stat.S_IMODE(os.fstat(stream.fileno()).st_mode) == mode
        stream.write(b"new")
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == mode
