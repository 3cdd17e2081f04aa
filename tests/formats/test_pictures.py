"""Pictures are refused before anything is computed for them, and written whole or not at all."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from warpladder.errors import InputError, MissingExtraError
from warpladder.formats.pictures import check_picture, new_figure, save_picture

if TYPE_CHECKING:
    from pathlib import Path

MAGIC = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.parametrize("kind", [*MAGIC, ".PNG"])
def test_the_name_says_what_is_written(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"picture{kind}"
    check_picture(path)
    assert list(tmp_path.iterdir()) == []
    save_picture(new_figure(2, 1), path)
    assert path.read_bytes().startswith(MAGIC[kind.lower()])
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_saved_is_refused_before(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in one of \.png, \.svg, \.pdf"):
        check_picture(tmp_path / "picture.gif")
    with pytest.raises(InputError, match="there is no folder"):
        check_picture(tmp_path / "nowhere" / "picture.png")
    pytest.importorskip("matplotlib")
    with pytest.raises(InputError, match=r"must end in one of \.png, \.svg, \.pdf"):
        save_picture(new_figure(2, 1), tmp_path / "picture.gif")
    assert list(tmp_path.iterdir()) == []


def test_of_a_picture_that_fails_nothing_is_left(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("matplotlib")
    figure = new_figure(2, 1)

    def fails(file, **_: object) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figure, "savefig", fails)
    with pytest.raises(InputError, match=r"run\.png: No space left on device"):
        save_picture(figure, tmp_path / "run.png")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_install_line_is_named(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"^a plot needs .*'warpladder\[plot\]'"):
        check_picture(tmp_path / "picture.png")
    with pytest.raises(MissingExtraError, match=r"^--plot needs .*'warpladder\[plot\]'"):
        check_picture(tmp_path / "picture.png", "--plot")
    assert list(tmp_path.iterdir()) == []
