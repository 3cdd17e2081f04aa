"""A file that grows by pieces outlives whatever ends its writer."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from warpladder.errors import InputError
from warpladder.formats import growing
from warpladder.formats.growing import GrowingFile

IDENTITY = {"threshold": 2, "measure": "count"}
PIECES = [b"one\n", b"", b"three" * 1000, b"four\n"]


@pytest.fixture(autouse=True)
def _kept_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "SYNC_SECONDS", 0)


def grow(path: Path, *, resume: bool = False, stop: int | None = None) -> list[int]:
    """Write the pieces that are not there; fail before one of them. Return which were written."""
    with GrowingFile(path, IDENTITY, resume=resume) as file:
        done = []
        for number in range(len(file.notes), len(PIECES)):
            if number == stop:
                raise RuntimeError
            file.append(PIECES[number], {"number": number})
            done.append(number)
        assert [note["number"] for note in file.notes] == [0, 1, 2, 3]
        assert file.length == len(b"".join(PIECES))
        file.finish(b"end")
    return done


WHOLE = b"".join(PIECES) + b"end"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("resume", [False, True])
def test_at_a_stretch(tmp_path: Path, resume: bool) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    path.chmod(0o640)
    assert grow(path, resume=resume) == [0, 1, 2, 3]
    assert path.read_bytes() == WHOLE
    assert names(tmp_path) == {"x"}
    assert os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_gone_on_with(tmp_path: Path, stop: int) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(RuntimeError) as told:
        grow(path, stop=stop)
    assert "x.partial; resume=True goes on from there" in told.value.__notes__[0]
    assert names(tmp_path) == {"x", "x.partial", "x.journal"}
    assert path.read_text() == "old"
    assert grow(path, resume=True) == [0, 1, 2, 3][stop:]
    assert path.read_bytes() == WHOLE
    assert names(tmp_path) == {"x"}


def test_nothing_is_kept_where_nothing_was_finished(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError) as told:
        grow(tmp_path / "x", stop=0)
    assert not hasattr(told.value, "__notes__")
    assert names(tmp_path) == set()


def test_what_is_left_is_not_thrown_away(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with pytest.raises(RuntimeError):
        grow(path, stop=2)
    before = (tmp_path / "x.partial").read_bytes(), (tmp_path / "x.journal").read_bytes()
    with pytest.raises(InputError, match=r"x\.partial; resume=True goes on with it, or delete"):
        GrowingFile(path, IDENTITY)
    other = {"threshold": 3, "device": "cpu", **IDENTITY} | {"threshold": 3}
    with pytest.raises(InputError, match="with threshold 2, not 3; device None, not cpu; ask for"):
        GrowingFile(path, other, resume=True)
    with pytest.raises(InputError, match="begun with measure count, not None; ask for the same"):
        GrowingFile(path, {"threshold": 2}, resume=True)
    after = (tmp_path / "x.partial").read_bytes(), (tmp_path / "x.journal").read_bytes()
    assert before == after
    (tmp_path / "x.partial").unlink()
    assert grow(path) == [0, 1, 2, 3]
    assert names(tmp_path) == {"x"}


@pytest.mark.parametrize("name", ["x.partial", "x.journal"])
def test_what_others_have_left_is_not_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("1 {2, 3}\n")
    with pytest.raises(InputError, match=rf"{name} would be written over, which no earlier run"):
        GrowingFile(tmp_path / "x", IDENTITY)
    assert names(tmp_path) == {name}
    assert (tmp_path / name).read_text() == "1 {2, 3}\n"


def test_any_torn_tail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of either file some bytes at the end are missing, or others stand there."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    path, partial, journal = (tmp_path / name for name in ("x", "x.partial", "x.journal"))
    with pytest.raises(RuntimeError):
        grow(path, stop=3)
    data, lines = partial.read_bytes(), journal.read_bytes()
    ends = [at + 1 for at, byte in enumerate(lines) if byte == 10]
    for cut in range(0, len(lines) + 1, 3):
        for tail in (b"", b"00000000 {}\n"):
            partial.write_bytes(data)
            journal.write_bytes(lines[:cut] + tail)
            whole_lines = sum(end <= cut for end in ends)
            assert grow(path, resume=True) == [0, 1, 2, 3][max(whole_lines - 1, 0) :]
            assert path.read_bytes() == WHOLE
    for cut, finished in [(0, 0), (3, 0), (4, 2), (5, 2), (5003, 2), (5004, 3)]:
        for tail in (b"", b"junk" * 3000):
            partial.write_bytes(data[:cut] + tail)
            journal.write_bytes(lines)
            assert grow(path, resume=True) == [0, 1, 2, 3][finished:]
            assert path.read_bytes() == WHOLE
    assert names(tmp_path) == {"x"}


def test_interrupted_again_behind_a_torn_line(tmp_path: Path) -> None:
    path, journal = tmp_path / "x", tmp_path / "x.journal"
    for stop in (2, 3):
        with pytest.raises(RuntimeError):
            grow(path, resume=True, stop=stop)
        with journal.open("ab") as file:
            file.write(b"torn")
        assert len(journal.read_bytes().splitlines()) == 2 + stop
    assert grow(path, resume=True) == [3]


def test_a_stale_journal_alone_means_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        grow(tmp_path / "x", stop=3)
    (tmp_path / "x.partial").unlink()
    assert grow(tmp_path / "x", resume=True) == [0, 1, 2, 3]


def test_two_runs_at_once(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    with GrowingFile(tmp_path / "x", IDENTITY) as file:
        file.append(b"1", 0)
        for resume in (False, True):
            with pytest.raises(InputError, match="another run is writing it"):
                GrowingFile(tmp_path / "x", IDENTITY, resume=resume)
        file.finish(b"")
    assert (tmp_path / "x").read_bytes() == b"1"
    assert names(tmp_path) == {"x"}


def test_a_run_that_begins_while_another_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fcntl")
    unlink, refused = Path.unlink, []

    def begun_meanwhile(path: Path, missing_ok: bool = False) -> None:
        with pytest.raises(InputError, match="another run is writing it"):
            GrowingFile(tmp_path / "x", IDENTITY)
        refused.append(path.name)
        unlink(path, missing_ok=missing_ok)

    with GrowingFile(tmp_path / "x", IDENTITY) as file:
        file.finish(b"1")
        monkeypatch.setattr(Path, "unlink", begun_meanwhile)
    assert refused == ["x.partial", "x.journal"]
    assert names(tmp_path) == {"x"}


def test_a_journal_removed_before_it_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    lock = fcntl.flock

    def removed_before(file: Any, how: int) -> None:
        (tmp_path / "x.journal").unlink()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", removed_before)
    with pytest.raises(InputError, match="another run is writing it"):
        GrowingFile(tmp_path / "x", IDENTITY)


def _killed(path: Path, stop: int) -> None:
    growing.SYNC_SECONDS = 0
    with GrowingFile(path, IDENTITY) as file:
        for number, piece in enumerate(PIECES):
            file.append(piece, {"number": number})
            if number == stop:
                os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes are not forked safely")
def test_a_writer_that_is_killed(tmp_path: Path) -> None:
    for stop in range(len(PIECES)):
        context = multiprocessing.get_context("fork")
        writer = context.Process(target=_killed, args=(tmp_path / "x", stop))
        writer.start()
        writer.join()
        assert writer.exitcode == -signal.SIGKILL
        assert grow(tmp_path / "x", resume=True) == [0, 1, 2, 3][stop + 1 :]
        assert (tmp_path / "x").read_bytes() == WHOLE


def test_the_journal_is_written_after_the_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[tuple[str, int]] = []

    def synced(descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().suffix
        lines = (tmp_path / "x.journal").read_bytes().count(b"\n")
        order.append((name, lines))

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("the system does not tell which file is open")
    monkeypatch.setattr(os, "fsync", synced)
    grow(tmp_path / "x")
    assert order[:3] == [(".journal", 1), (".partial", 1), (".journal", 2)]
    assert order[-1] == (".partial", 5)


def test_pieces_that_wait_for_the_disk_count_when_an_error_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growing, "SYNC_SECONDS", 1000)
    with pytest.raises(RuntimeError):
        grow(tmp_path / "x", stop=3)
    lines = (tmp_path / "x.journal").read_text().splitlines()
    assert json.loads(lines[0].partition(" ")[2]) == IDENTITY
    assert len(lines) == 4
    assert grow(tmp_path / "x", resume=True) == [3]


@pytest.mark.parametrize("when", ["piece", "end"])
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    path = tmp_path / "x"
    real, left = os.fsync, {"piece": 3, "end": 9}[when]

    def fsync(descriptor: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(InputError, match=r"cannot write .*x: No space left on device") as told:
        grow(path)
    assert "resume=True" in told.value.__notes__[0]
    assert names(tmp_path) == {"x.partial", "x.journal"}
    monkeypatch.undo()
    assert grow(path, resume=True) == ([1, 2, 3] if when == "piece" else [])
    assert path.read_bytes() == WHOLE


def test_a_target_that_cannot_be(tmp_path: Path) -> None:
    for path, why in [(tmp_path, "no regular file"), (tmp_path / "a" / "b", "there is no folder")]:
        with pytest.raises(InputError, match=why):
            GrowingFile(path, IDENTITY)
    with pytest.raises(InputError, match=r"cannot write .*too long"):
        GrowingFile(tmp_path / ("x" * 252), IDENTITY)
    assert names(tmp_path) == set()


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "folder" / "target")
    (tmp_path / "folder" / "target").write_text("old")
    grow(link)
    assert link.is_symlink()
    assert (tmp_path / "folder" / "target").read_bytes() == WHOLE
    assert names(tmp_path / "folder") == {"target"}


def test_a_note_may_be_anything_json_knows(tmp_path: Path) -> None:
    note: Any = [1, "two", None, {"three": [4.5]}]
    file = GrowingFile(tmp_path / "x", {})
    file.append(b"1", note)
    file.__exit__(None, None, None)
    with GrowingFile(tmp_path / "x", {}, resume=True) as file:
        assert file.notes == [note]
        file.finish(b"")
