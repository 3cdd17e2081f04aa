"""Pictures by matplotlib (extra ``plot``): refused before a run, written whole or not at all."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from warpladder.errors import InputError, MissingExtraError
from warpladder.formats.atomic import atomic_write, check_writable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_picture", "new_figure", "png_of", "save_picture"]

_KINDS = (".png", ".svg", ".pdf")
_DOTS_PER_INCH = 130
_COLOURS = 48


def check_picture(path: Path, purpose: str = "a plot") -> None:
    """Raise now what drawing and saving a picture would raise after a run.

    Parameters
    ----------
    path
        The picture.
    purpose
        What needs matplotlib: an option, where one was given.

    Raises
    ------
    InputError
        The name does not end in ``.png``, ``.svg`` or ``.pdf``, or the file cannot be written.
    MissingExtraError
        matplotlib is not installed.
    """
    _check_kind(path)
    check_writable(path)
    _figure_class(purpose)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure, sizes in inches, whose parts make room for each other.

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    """
    return _figure_class("a plot")(figsize=(width, height), layout="constrained")


def save_picture(figure: Figure, path: Path) -> None:
    """Write a figure as the picture that the name of the file says.

    Raises
    ------
    InputError
        As `check_picture`.
    """
    _check_kind(path)
    with atomic_write(path) as file:
        figure.savefig(file, format=path.suffix.lower().lstrip("."), dpi=_DOTS_PER_INCH)


def png_of(figure: Figure) -> bytes:
    """Return a figure of few colours as a PNG: a third of the bytes of one with all colours."""
    # matplotlib brings it.
    from PIL import Image

    drawn, packed = BytesIO(), BytesIO()
    figure.savefig(drawn, format="png", dpi=_DOTS_PER_INCH)
    Image.open(drawn).convert("RGB").quantize(_COLOURS).save(packed, "PNG", optimize=True)
    return packed.getvalue()


def _check_kind(path: Path) -> None:
    if path.suffix.lower() not in _KINDS:
        raise InputError(f"cannot draw {path}: its name must end in one of {', '.join(_KINDS)}")


def _figure_class(purpose: str) -> type[Figure]:
    try:
        # pyplot would keep every figure, and look for a screen.
        from matplotlib.figure import Figure
    except ImportError as fault:
        raise MissingExtraError(purpose, "matplotlib", "plot") from fault
    return Figure
