"""A file is written whole or not at all."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

import pytest

from warpladder.errors import InputError
from warpladder.formats.atomic import atomic_path, atomic_write, check_writable

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("name", ["g.txt", "g.txt.gz"])
@pytest.mark.parametrize("exists", [True, False])
def test_nothing_is_left_of_a_broken_write(
    tmp_path: Path, stop: type[BaseException], name: str, exists: bool
) -> None:
    path = tmp_path / name
    if exists:
        path.write_text("old")

    def break_off() -> None:
        with atomic_write(path) as file:
            file.write(b"half")
            raise stop

    with pytest.raises(stop):
        break_off()
    assert [file.name for file in tmp_path.iterdir()] == ([name] if exists else [])
    assert not exists or path.read_text() == "old"


def test_old_file_stands_until_the_end(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text("old")
    with atomic_write(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
        (temporary,) = [other for other in tmp_path.iterdir() if other != path]
        assert temporary.read_text() == "new"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_permissions(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    reference = tmp_path / "reference"
    reference.touch()
    old.touch()
    old.chmod(0o640)
    for path in (new, old):
        with atomic_write(path) as file:
            file.write(b"x")
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(reference.stat().st_mode)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "target"
    target.write_text("old")
    link = tmp_path / "link"
    link.symlink_to(target)
    with atomic_write(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"


@pytest.mark.parametrize("letter", ["x", "\u65e5"])
def test_long_name(tmp_path: Path, letter: str) -> None:
    path = tmp_path / (letter * (250 // len(letter.encode())))
    with atomic_write(path) as file:
        file.write(b"x")
    assert path.read_bytes() == b"x"


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_names_that_can_be_no_file(tmp_path: Path) -> None:
    circle, astray = tmp_path / "circle", tmp_path / "astray"
    circle.symlink_to(circle)
    astray.symlink_to(tmp_path / "none" / "file")
    for path in (circle, astray, tmp_path / ("x" * 300), tmp_path / ("x" * 300) / "g.txt"):
        with pytest.raises(InputError, match=re.escape(f"cannot write {path}: ")):
            check_writable(path)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("9 requested and 3 written"), "not all was taken (9 requested and 3 written); is"),
    ],
)
def test_full_disk_is_told_with_the_path(tmp_path: Path, fault: OSError, told: str) -> None:
    def fill() -> None:
        with atomic_write(tmp_path / "g.txt"):
            raise fault

    with pytest.raises(InputError, match=re.escape(f"g.txt: {told}")):
        fill()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="pipes have no names there")
def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    ends = os.pipe()
    path = tmp_path / "pipe.csv"
    path.symlink_to(f"/dev/fd/{ends[1]}")
    with pytest.raises(InputError, match="it exists and is no regular file"):
        check_writable(path)
    for end in ends:
        os.close(end)


def test_others_write_by_the_name_of_a_temporary(tmp_path: Path) -> None:
    path = tmp_path / "run.gif"
    with atomic_path(path, ".GIF") as temporary:
        assert (temporary.parent, temporary.suffix) == (tmp_path, ".GIF")
        temporary.write_bytes(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_check_writable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_writable(tmp_path / "g.txt")
    with pytest.raises(InputError, match="no regular file"):
        check_writable(tmp_path)
    with pytest.raises(InputError, match=r"there is no folder .*none"):
        check_writable(tmp_path / "none" / "g.txt")
    # Root may write anywhere, so the refusal is acted.
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InputError, match="is not writable"):
        check_writable(tmp_path / "g.txt")
    assert list(tmp_path.iterdir()) == []
