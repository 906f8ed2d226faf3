"""Files of a command: all or none, with the permissions of the files that they replace, refused before any work."""

import errno
import os
import stat
from pathlib import Path

import click
import pytest

from tests.cli.command_line import FIXED, contents
from usmo.cli import main, outputs
from usmo.cli.outputs import Outputs


def stage(files, *targets):
    for target in targets:
        with files.file(str(target)) as stream:
            stream.write(f"new {Path(target).name}".encode())


def broken_replace(monkeypatch, broken):
    """Let renames to the files of these names fail, as in a sticky folder with files of others."""
    replace = os.replace

    def failing(place, target):
        if Path(target).name in broken:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM), str(target))
        replace(place, target)

    monkeypatch.setattr(os, "replace", failing)


@pytest.mark.parametrize("failing", ["a", "b", "c"])
@pytest.mark.parametrize("existing", ["", "a", "ab", "abc"])
def test_if_one_file_cannot_be_replaced_all_stay_as_they_were(tmp_path, monkeypatch, failing, existing):
    for name in existing:
        (tmp_path / name).write_text(f"old {name}")
    before = contents(tmp_path)
    broken_replace(monkeypatch, failing)
    with Outputs() as files:
        stage(files, *(tmp_path / name for name in "abc"))
        with pytest.raises(
            click.ClickException, match=rf"/{failing} cannot be written \(Operation not permitted\)$"
        ):
            files.put()
    assert contents(tmp_path) == before


def test_target_that_became_a_folder_leaves_the_others_alone(tmp_path):
    (tmp_path / "b").write_text("old b")
    with Outputs() as files:
        stage(files, tmp_path / "b", tmp_path / "a")
        (tmp_path / "a").mkdir()
        with pytest.raises(click.ClickException, match="/a cannot be written"):
            files.put()
    assert (tmp_path / "b").read_text() == "old b"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_pipe_that_nobody_reads_any_more_takes_the_files_back(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("old a")
    os.mkfifo(tmp_path / "pipe")

    def broken(self, data):
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr(Path, "write_bytes", broken)
    with Outputs() as files:
        stage(files, tmp_path / "pipe", tmp_path / "a")
        with pytest.raises(click.ClickException, match=r"/pipe cannot be written \(Broken pipe\)"):
            files.put()
    assert (tmp_path / "a").read_text() == "old a"


def test_disk_without_links_keeps_copies(tmp_path, monkeypatch):
    def no_links(*_):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    (tmp_path / "a").write_text("old a")
    monkeypatch.setattr(os, "link", no_links)
    broken_replace(monkeypatch, "b")
    with Outputs() as files:
        stage(files, tmp_path / "a", tmp_path / "b")
        with pytest.raises(click.ClickException, match="/b cannot be written"):
            files.put()
    assert (tmp_path / "a").read_text() == "old a"


def test_file_that_cannot_be_put_back_is_named_and_its_old_contents_kept(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("old a")
    with Outputs() as files:
        stage(files, tmp_path / "a", tmp_path / "b")
        broken_replace(monkeypatch, "b")
        replace = os.replace

        def once(place, target):
            replace(place, target)
            broken_replace(monkeypatch, "ab")

        monkeypatch.setattr(os, "replace", once)
        with pytest.raises(
            click.ClickException, match=r"/a is replaced .* its old contents are .*/a.before$"
        ) as error:
            files.put()
    assert Path(str(error.value).rsplit(" ", 1)[1]).read_text() == "old a"
    assert (tmp_path / "a").read_text() == "new a"


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o755])
def test_permissions_of_an_existing_file_are_kept(tmp_path, mode):
    target = tmp_path / "a"
    target.write_text("old a")
    target.chmod(mode)
    with Outputs() as files:
        stage(files, target, tmp_path / "new")
        files.put()
    assert target.read_text() == "new a"
    assert stat.S_IMODE(target.stat().st_mode) == mode
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~umask


def test_nobody_else_can_read_the_stage(tmp_path):
    with Outputs() as files, files.file(str(tmp_path / "a")):
        (folder,) = tmp_path.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_root_keeps_the_owner(tmp_path):
    target = tmp_path / "a"
    target.write_text("old a")
    os.chown(target, 1234, 4321)
    with Outputs() as files:
        stage(files, target)
        files.put()
    assert (target.stat().st_uid, target.stat().st_gid) == (1234, 4321)


def refused(capfd, folder, target):
    """The message for a command that would write the target; its table does not exist, so that no work can begin."""
    before = contents(folder)
    assert main(["fit", str(folder / "table.csv"), *FIXED, "--model", str(target)]) == 2
    assert contents(folder) == before
    return capfd.readouterr().err


def test_read_only_file_is_refused_before_any_work(tmp_path, capfd):
    target = tmp_path / "model"
    target.write_text("precious")
    target.chmod(0o444)
    expected = f"--model: {target} is read-only: make it writable (chmod u+w) or give another file"
    assert expected in refused(capfd, tmp_path, target)
    (tmp_path / "link").symlink_to(target)
    assert "link is read-only" in refused(capfd, tmp_path, tmp_path / "link")


def test_file_of_another_user_in_a_sticky_folder_is_refused_before_any_work(tmp_path, capfd, monkeypatch):
    target = tmp_path / "model"
    target.write_text("theirs")
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(outputs.os, "geteuid", lambda: target.stat().st_uid + 1)
    assert f"--model: {target} belongs to another user" in refused(capfd, tmp_path, target)


@pytest.mark.parametrize(
    ("source", "file"),
    [
        ("two.xlsx?table=Sheet2", "two.xlsx"),
        ("t.zip?table=a.csv", "t.zip"),
        ("sqlite:///t.db?table=a", "t.db"),
        ("part-*.csv", "part-2.csv"),
        (".", "part-1.csv"),
    ],
)
def test_every_file_of_a_source_is_an_input(tmp_path, monkeypatch, capfd, source, file):
    monkeypatch.chdir(tmp_path)
    for name in ("two.xlsx", "t.zip", "t.db", "part-1.csv", "part-2.csv"):
        (tmp_path / name).write_text("a,known\n1,yes\n")
    before = contents(tmp_path)
    assert main(["rank", source, "--label-column", "known", "--model", f"./{file}"]) == 2
    assert f"./{file} is the input already" in capfd.readouterr().err
    assert contents(tmp_path) == before


def test_vectors_beside_a_table_are_an_input(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for name in ("t.csv", "v.npy", "m.usmo"):
        (tmp_path / name).write_text("")
    for command in ("rank t.csv --label-column known --report v.npy", "predict m.usmo t.csv --output v.npy"):
        assert main([*command.split(), "--embeddings", "v.npy"]) == 2
        assert "v.npy is the input already" in capfd.readouterr().err
