"""How long strips are, and how many steps a launch takes.

Long strips with few steps waste little: a tile of 32 strips loses as many cells as its steps reach,
and these are computed for nothing. Many steps save visits to memory and launches. And short strips
make more warps, which few cells need: a GPU has places for tens of thousands of threads. So both
are chosen by what a launch should take, `seconds_of`, in the units of a multiprocessor's clock. The
model needs to be right only in the order of what it compares.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from warpladder.advection.gpu_tiles.strips import reaches, tiles_of
from warpladder.device.grids import WARP, blocks_for

if TYPE_CHECKING:
    from warpladder.advection.gpu_tiles.cells import Form

__all__ = ["SHORTEST", "STRIPS", "Shape", "shape_for", "strips_of"]

#: Lengths of strips for which kernels are made, by bytes of a cell; a limiter's slopes take code
#: and registers, so that strips are short.
STRIPS = {4: (8, 16, 32, 48), 8: (8, 16, 24)}
_LIMITED_STRIPS = (8, 16)
SHORTEST = min(STRIPS[4])
#: Steps of a launch are a multiple of so many, but for the last of a run.
_STEPS_UNIT = 8
#: Warps that issue instructions at a time, on a multiprocessor.
_SCHEDULERS = 4
#: Clocks: of a launch; from a step's first shuffle to its last; per cell and neighbour, of an
#: operation of 4 and of 8 bytes; of a cell with a limiter; of a cell's way from memory and back.
_LAUNCH, _LATENCY, _LIMITED = 4000.0, 60.0, 40.0
_OPERATION = {4: 1.0, 8: 2.0}
_MOVED = {4: 40.0, 8: 80.0}


class Shape(NamedTuple):
    """Cells of a lane's strip, and steps of a launch."""

    strip: int
    depth: int


def strips_of(form: Form, itemsize: int) -> tuple[int, ...]:
    """Return the lengths of strips for a rule and cells of so many bytes."""
    return STRIPS[itemsize] if form[1] is None else _LIMITED_STRIPS


@lru_cache(maxsize=256)
def shape_for(
    form: Form, itemsize: int, n: int, systems: int, steps: int, multiprocessors: int, *, ring: bool
) -> Shape | None:
    """Return the shape of a run, None where n cells are fewer than any tile has.

    Examples
    --------
    >>> lax_friedrichs = ((-1, 1), None)
    >>> shape_for(lax_friedrichs, 4, 1 << 26, 1, 1000, 132, ring=False)
    Shape(strip=48, depth=112)
    >>> shape_for(lax_friedrichs, 4, 1 << 14, 1, 1000, 132, ring=False)
    Shape(strip=16, depth=200)
    >>> shape_for(lax_friedrichs, 4, 255, 1, 1000, 132, ring=False)
    """
    reach = sum(reaches(form[0]))
    best: tuple[float, Shape] | None = None
    for strip in strips_of(form, itemsize):
        tile = WARP * strip
        if tile > n:
            continue
        deepest = (tile - 1) // max(reach, 1)
        for depth in {*range(_STEPS_UNIT, deepest, _STEPS_UNIT), min(steps, deepest)}:
            tiles = tiles_of(n, tile, depth * reach, ring=ring)
            per_pass = _clocks(form, itemsize, strip, depth, tiles * systems, multiprocessors)
            clocks = per_pass * blocks_for(steps, depth)
            if best is None or clocks < best[0]:
                best = clocks, Shape(strip, depth)
    return None if best is None else best[1]


def _clocks(
    form: Form, itemsize: int, strip: int, depth: int, warps: int, multiprocessors: int
) -> float:
    """Return about how many clocks a launch takes."""
    offsets, limiter = form
    per_cell = _LIMITED if limiter else len(offsets) * _OPERATION[itemsize]
    issued = strip * per_cell + 2.0 * sum(reaches(offsets))
    # Where a scheduler has one warp only, this waits for its own shuffles.
    each = blocks_for(warps, multiprocessors * _SCHEDULERS)
    step = max(each * issued, issued + _LATENCY)
    return _LAUNCH + depth * step + each * strip * _MOVED[itemsize]
