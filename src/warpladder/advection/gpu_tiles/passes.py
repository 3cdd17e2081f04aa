"""The launches of a run: each takes the cells from one array to another and many steps on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpladder.advection.gpu_tiles.plan import Shape
from warpladder.advection.gpu_tiles.strips import WARPS, reaches, strips_kernel, tiles_of
from warpladder.advection.gpu_tiles.whole import shared_bytes_for, whole_kernel
from warpladder.device.grids import WARP, blocks_for, round_up

if TYPE_CHECKING:
    from warpladder.advection.gpu_tiles.cells import Form
    from warpladder.device.base import Device

__all__ = ["Ends", "Run", "passes"]

#: Threads of a block that has a whole system, at most.
_MOST_THREADS = 256
#: Steps of such a launch, and cells times steps, at most: some hundredths of a second, so that a
#: call can be stopped. But never so few steps that launches and memory decide.
_MOST_STEPS, _MOST_UPDATES, _FEWEST_STEPS = 1 << 15, 1 << 32, 64


@dataclass(frozen=True, slots=True)
class Ends:
    """What lies beyond the ends: values of each step on the device, or a ring, or neither.

    Attributes
    ----------
    left, right
        Arrays of the device, (steps, systems); None where the cell at the end is its own
        neighbour.
    ring
        Whether the last cell's neighbour is the first.
    """

    left: Any = None
    right: Any = None
    ring: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """A rule on a device: its form, its numbers, and what lies beyond the ends.

    The numbers are a tuple where all systems have the same, else an array of the device.
    """

    device: Device
    form: Form
    numbers: Any
    ends: Ends


def passes(
    run: Run, shape: Shape | None, phi: Any, steps: int, *, owned: bool
) -> Iterator[tuple[Any, int]]:
    """Launch pass after pass; yield the array in which the cells will be, and the steps of it.

    Parameters
    ----------
    run
        What is computed.
    shape
        Of strips; None for systems smaller than a tile of any strips.
    phi
        The cells on the device, (systems, n).
    steps
        At least one.
    owned
        Whether ``phi`` may be written once it has been read.
    """
    device, ends = run.device, run.ends
    systems, n = phi.shape
    given = ends.left is not None, ends.right is not None
    # Where nothing is given, any array stands in its place.
    values = [phi if one is None else one for one in (ends.left, ends.right)]
    alike = isinstance(run.numbers, tuple)
    dtype = str(phi.dtype)
    reach = sum(reaches(run.form[0]))
    depth = _whole_depth(n * systems) if shape is None else shape.depth
    source, spare, done = phi, phi if owned else None, 0
    target = device.empty(phi.shape, phi.dtype)
    while done < steps:
        now = min(depth, steps - done)
        arrays = (source, target, run.numbers, *values)
        if shape is None:
            threads = min(round_up(n, WARP), _MOST_THREADS)
            kernel = whole_kernel(run.form, dtype, given, ring=ends.ring, alike=alike)
            shared_bytes = shared_bytes_for(run.form, n, phi.dtype.itemsize)
            device.launch(kernel, systems, threads, *arrays, done, now, shared_bytes=shared_bytes)
        else:
            tiles = tiles_of(n, WARP * shape.strip, now * reach, ring=ends.ring)
            kernel = strips_kernel(run.form, dtype, shape.strip, given, ring=ends.ring, alike=alike)
            blocks = blocks_for(tiles * systems, WARPS)
            device.launch(kernel, blocks, WARPS * WARP, *arrays, done, now, tiles)
        done += now
        yield target, now
        if spare is None and done < steps:
            spare = device.empty(phi.shape, phi.dtype)
        source, target, spare = target, spare, target


def _whole_depth(cells: int) -> int:
    """Return how many steps a launch takes where each block has a whole system."""
    return min(_MOST_STEPS, max(_MOST_UPDATES // cells, _FEWEST_STEPS))
