"""The picture that fits a rung best, packed for a page: what the report and the site show."""

from __future__ import annotations

from base64 import b64encode
from typing import TypedDict

from warpladder.errors import MissingExtraError
from warpladder.formats.pictures import png_of
from warpladder.lab.pictures.registry import draw_picture, favourite_of, kinds_of
from warpladder.rung import Ladder, Rung

__all__ = ["Packed", "fitting_picture"]

#: How the paths of rungs begin that have a picture; recording the others takes up to 14 seconds.
_DRAWN = (
    *("primer/", "reduction/", "advection/", "overlap-join/"),
    *("shortest-paths/blocked-shared", "shortest-paths/launch-per-k"),
)


class Packed(TypedDict):
    """A picture: its kind, what that shows, and a PNG in base 64."""

    kind: str
    shows: str
    png: str


def fitting_picture(ladder: Ladder, rung: Rung) -> Packed | None:
    """Return the picture that fits a rung best; None where it has none, or without matplotlib."""
    path = f"{ladder.name}/{rung.name}"
    if not path.startswith(_DRAWN) or not kinds_of(ladder, rung):
        return None
    kind = favourite_of(ladder, rung)
    try:
        figure = draw_picture(path, kind.name)
    except MissingExtraError:
        return None
    return {"kind": kind.name, "shows": kind.shows, "png": b64encode(png_of(figure)).decode()}
