"""How long strips are, and how many steps a launch takes.

Long strips with few steps waste little: a tile of 32 strips loses as many cells as its steps reach,
and these are computed for nothing. Many steps save visits to memory and launches. And short strips
make more warps, which few cells need: a GPU has places for thousands. So both are chosen by what a
launch should take, in the units of a multiprocessor's clock. The model needs to be right only in
the order of what it compares.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from warpladder.advection.gpu_tiles.strips import (
    WARPS,
    reaches,
    registers_for,
    shared_bytes_for,
    tiles_of,
)
from warpladder.device.grids import WARP, blocks_for
from warpladder.device.occupancy import occupancy

if TYPE_CHECKING:
    from warpladder.advection.gpu_tiles.cells import Form
    from warpladder.device.properties import DeviceProperties

__all__ = ["STRIPS", "Shape", "shape_for", "strips_of"]

#: Lengths of strips for which kernels are made, by bytes of a cell; a limiter's slopes take code
#: and registers, so that strips are short.
STRIPS = {4: (8, 16, 32, 48, 64, 128), 8: (8, 16, 24, 32, 48)}
_LIMITED_STRIPS = (8, 16)
#: Depths are tried in steps of so many.
_DEPTHS_APART = 8
#: Warps that issue instructions at a time, on a multiprocessor.
_SCHEDULERS = 4
#: Clocks, as measured on an H200: from one launch to the next, at least; of the way of a launch's
#: first cells from memory and of its last ones back; what a warp waits for in a step if it is alone
#: with its scheduler; per cell and neighbour, of an operation of 4 and of 8 bytes; of a cell with a
#: limiter; of a step beside its cells; of a cell's way in and out.
_LAUNCH, _WAY, _LATENCY, _LIMITED, _BESIDE = 18000.0, 6000.0, 10.0, 40.0, 8.0
_OPERATION = {4: 1.0, 8: 2.0}
_MOVED = {4: 10.0, 8: 15.0}


class Shape(NamedTuple):
    """Cells of a lane's strip, and steps of a launch."""

    strip: int
    depth: int


def strips_of(form: Form, itemsize: int) -> tuple[int, ...]:
    """Return the lengths of strips for a rule and cells of so many bytes."""
    return STRIPS[itemsize] if form[1] is None else _LIMITED_STRIPS


@lru_cache(maxsize=256)
def shape_for(
    form: Form,
    itemsize: int,
    n: int,
    systems: int,
    steps: int,
    gpu: DeviceProperties,
    *,
    ring: bool,
) -> Shape | None:
    """Return the shape of a run, None where n cells are fewer than any tile has.

    Examples
    --------
    >>> from warpladder.device.properties import properties_of
    >>> lax_friedrichs, h200 = ((-1, 1), None), properties_of((9, 0))
    >>> shape_for(lax_friedrichs, 4, 1 << 26, 1, 1000, h200, ring=False)
    Shape(strip=128, depth=167)
    >>> shape_for(lax_friedrichs, 4, 1 << 14, 1, 1000, h200, ring=False)
    Shape(strip=16, depth=200)
    >>> shape_for(lax_friedrichs, 4, 255, 1, 1000, h200, ring=False)
    """
    reach = sum(reaches(form[0]))
    best: tuple[float, Shape] | None = None
    for strip in strips_of(form, itemsize):
        tile = WARP * strip
        if tile > n:
            continue
        deepest = (tile - 1) // max(reach, 1)
        resident = _resident(form, strip, itemsize, gpu)
        for depth in range(min(_DEPTHS_APART, deepest), deepest + 1, _DEPTHS_APART):
            launches = blocks_for(steps, depth)
            # As deep as so many launches need, and no deeper.
            shape = Shape(strip, blocks_for(steps, launches))
            tiles = tiles_of(n, tile, shape.depth * reach, ring=ring)
            each = blocks_for(tiles * systems, gpu.multiprocessors)
            clocks = launches * _clocks(form, itemsize, shape, each, resident)
            if best is None or clocks < best[0]:
                best = clocks, shape
            if launches == 1:
                break
    return None if best is None else best[1]


def _clocks(form: Form, itemsize: int, shape: Shape, warps: int, resident: int) -> float:
    """Return about how many clocks a launch takes of so many warps on each multiprocessor."""
    rounds, rest = divmod(warps, resident)
    step = rounds * _step(form, itemsize, shape.strip, resident)
    if rest:
        step += _step(form, itemsize, shape.strip, rest)
    moved = warps * shape.strip * _MOVED[itemsize]
    return max(_LAUNCH, _WAY + shape.depth * step + moved)


def _step(form: Form, itemsize: int, strip: int, warps: int) -> float:
    """Return the clocks of a step of so many warps of a multiprocessor, all at the same time."""
    offsets, limiter = form
    per_cell = _LIMITED if limiter else len(offsets) * _OPERATION[itemsize]
    issued = strip * per_cell + _BESIDE
    # Where a scheduler has one warp only, nothing hides what it waits for.
    return max(blocks_for(warps, _SCHEDULERS) * issued, issued + _LATENCY)


def _resident(form: Form, strip: int, itemsize: int, gpu: DeviceProperties) -> int:
    """Return how many warps a multiprocessor holds at a time; with a limiter it may be fewer."""
    registers = registers_for(form, strip, itemsize)
    shared = shared_bytes_for(strip, itemsize)
    found = occupancy(gpu, WARPS * WARP, registers_per_thread=registers, shared_bytes=shared)
    return found.warps_per_multiprocessor
