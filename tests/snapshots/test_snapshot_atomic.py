"""A file is replaced as a whole: kills, errors, links, modes, and two writers at once."""

from __future__ import annotations

import errno
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from ecsgen_runtime.errors import SnapshotError
from ecsgen_runtime.snapshots import atomic
from ecsgen_runtime.snapshots.atomic import replacing

from tests.kill_save import kill_many


def save(path: Path | str, content: bytes, sync: bool = True) -> None:
    with replacing(path, sync=sync) as file:
        file.write(content)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An old file, alone in its folder."""
    path = tmp_path / "town.snap"
    path.write_bytes(b"old")
    return path


@pytest.mark.parametrize("sync", [True, False])
def test_a_file_is_made_and_replaced(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "town.snap"
    for content in (b"first", b"second", b""):
        save(path, content, sync)
        assert path.read_bytes() == content
        assert names(tmp_path) == ["town.snap"]
    save(str(path), b"by its name", sync)
    assert path.read_bytes() == b"by its name"


def test_the_new_file_lies_in_the_same_folder_until_it_is_whole(path: Path) -> None:
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
        (new,) = set(names(path.parent)) - {"town.snap"}
        assert re.fullmatch(r"\.town\.snap\.[0-9a-f]{8}\.new", new)
    assert path.read_bytes() == b"new"


def test_whatever_raises_leaves_the_old_file_and_no_other(path: Path) -> None:
    def interrupted(error: BaseException) -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise error

    for error in (ValueError("wrong"), KeyboardInterrupt(), SystemExit(1)):
        with pytest.raises(type(error)):
            interrupted(error)
        assert path.read_bytes() == b"old"
        assert names(path.parent) == ["town.snap"]


@pytest.mark.parametrize("name", ["fsync", "replace", "chmod"])
def test_so_does_the_system_if_it_raises(
    path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, name, fail)
    with pytest.raises(OSError, match="No space left"):
        save(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(path.parent) == ["town.snap"]


def test_both_syncs_come_in_order_or_not_at_all(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    replace = os.replace

    def fsync(handle: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        done.append("folder" if is_folder else "file")

    def renamed(source: str, target: str) -> None:
        done.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", renamed)
    save(path, b"new")
    assert done == ["file", "rename", "folder"]
    done.clear()
    save(path, b"newer", sync=False)
    assert done == ["rename"]


def test_a_folder_that_cannot_be_synced_is_no_error_once_the_file_is_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(handle: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", fsync)
    save(path, b"new")
    assert path.read_bytes() == b"new"


def test_modes_stay_and_new_ones_follow_the_umask(path: Path) -> None:
    for mode in (0o600, 0o444, 0o750, 0o666):
        path.chmod(mode)
        save(path, b"new")
        assert stat.S_IMODE(path.stat().st_mode) == mode
    before = os.umask(0o027)
    try:
        save(path.with_name("other"), b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.with_name("other").stat().st_mode) == 0o640


def test_links_stay_and_what_they_lead_to_is_replaced(tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    link = tmp_path / "link"
    link.symlink_to("far/town.snap")
    for content in (b"new", b"newer"):  # the first time, it leads nowhere
        save(link, content)
        assert link.is_symlink()
        assert (far / "town.snap").read_bytes() == content
    assert names(far) == ["town.snap"]
    assert names(tmp_path) == ["far", "link"]


def test_what_is_no_file_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        save(tmp_path, b"new")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(SnapshotError, match=r"^pipe: is no regular file$"):
        save(pipe, b"new")
    with pytest.raises(FileNotFoundError):
        save(tmp_path / "nowhere" / "town.snap", b"new")
    assert names(tmp_path) == ["pipe"]


def test_left_overs_go_and_other_files_stay(path: Path) -> None:
    for name in (".town.snap.0123abcd.new", ".town.snap.ffffffff.new"):
        path.with_name(name).write_bytes(b"half")
    others = [".town.snap.0123ABCD.new", ".town.snap.0123abc.new", ".town.new", ".x.01234567.new"]
    for name in others:
        path.with_name(name).write_bytes(b"other")
    path.with_name(".town.snap.00000000.new").mkdir()
    path.with_name(".town.snap.11111111.new").symlink_to(path)
    save(path, b"new")
    kept = [*others, ".town.snap.00000000.new", ".town.snap.11111111.new", "town.snap"]
    assert names(path.parent) == sorted(kept)


def test_the_last_of_two_writers_wins_and_neither_takes_the_others_file(path: Path) -> None:
    with replacing(path) as outer:
        outer.write(b"outer")
        with replacing(path) as inner:
            inner.write(b"inner")
            assert len(names(path.parent)) == 3
        assert path.read_bytes() == b"inner"
    assert path.read_bytes() == b"outer"
    assert names(path.parent) == ["town.snap"]


def test_many_writers_at_once_leave_one_whole_file(path: Path) -> None:
    def write(number: int) -> None:
        for _ in range(30):
            save(path, bytes([number]) * 100_000, sync=False)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    content = path.read_bytes()
    assert len(content) == 100_000
    assert len(set(content)) == 1
    assert names(path.parent) == ["town.snap"]


def test_a_file_taken_for_a_left_over_before_its_lock_is_made_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = atomic._lock

    def late(handle: int) -> None:
        for left in path.parent.glob(".town.snap.*.new"):
            if not taken:
                taken.append(left)
                left.unlink()
        lock(handle)

    taken: list[Path] = []
    monkeypatch.setattr(atomic, "_lock", late)
    save(path, b"new")
    assert taken
    assert path.read_bytes() == b"new"
    assert names(path.parent) == ["town.snap"]


def test_a_killed_writers_file_goes_with_the_next_save(path: Path) -> None:
    script = (
        "import sys, time\n"
        "from ecsgen_runtime.snapshots.atomic import replacing\n"
        "with replacing(sys.argv[1]) as file:\n"
        "    file.write(b'half'); print(flush=True); time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        save(path, b"another's")
        assert len(names(path.parent)) == 2  # its writer lives
        writer.send_signal(signal.SIGKILL)
    assert path.read_bytes() == b"another's"
    save(path, b"new")
    assert names(path.parent) == ["town.snap"]


def test_kills_leave_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    outcome = kill_many(tmp_path / "town.snap", 12, seed=1)
    assert outcome.kills == 12
    assert outcome.damaged == 0
