"""The min-plus product of matrices on the device: ``target = min(target, lefts x rights)``.

A relaxation of many rows through many vertices at a time, where `close` relaxes a matrix through
itself. A block keeps its tile of the target in registers while it goes through all vertices, so
operands of any depth cost one reading and one writing of the target. Tiles are those of the rungs:
128 x 128 of `register-tiles` for numbers of 4 bytes, 64 x 64 of `one-launch` for numbers of 8 bytes
and for next hops.

The target must be no part of an operand. Where it were, a tile might read what another has just
written, or not yet: a distance would still be right, but which of two roundings it has would depend
on which block came first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import cuda

from warpladder.device.kernel_cache import cached
from warpladder.shortest_paths.gpu_tiles import large, small
from warpladder.shortest_paths.gpu_tiles.large import TWO_BLOCKS

if TYPE_CHECKING:
    from warpladder.device.base import Device, Stream

__all__ = ["Part", "Product", "copy_columns", "tile_of"]

_COPYING_THREADS = 256


class Part(NamedTuple):
    """Distances, on the device or on the host, with next hops of the same shape or None."""

    dist: Any
    hops: Any

    def rows(self, first: int, last: int) -> Part:
        """Return some rows of it, in the same memory."""
        return Part(self.dist[first:last], None if self.hops is None else self.hops[first:last])


@cached
@cuda.jit(max_registers=TWO_BLOCKS)
def relax_large_tiles(
    target: Any,
    lefts: Any,
    rights: Any,
    first_left: Any,
    depth: Any,
    skipped: Any,
    width: Any,
) -> None:
    """Relax all columns of tiles but those of ``width`` columns from ``skipped`` on."""
    column = cuda.blockIdx.x * large.TILE
    if column >= skipped:
        column += width
    row = cuda.blockIdx.y * large.TILE
    pivots = first_left, 0, depth
    large.relax_tile(target, lefts, rights, row, column, pivots)


def _small_tiles(carry: bool, slab: int, registers: int) -> Any:
    """Return the kernel with or without next hops, for so many registers in a thread."""
    relax = small.relaxing(carry, slab)

    @cached
    @cuda.jit(max_registers=registers)
    def relax_small_tiles(
        target: Any,
        hops: Any,
        lefts: Any,
        left_hops: Any,
        rights: Any,
        first_left: Any,
        depth: Any,
        skipped: Any,
        width: Any,
        no_path: Any,
    ) -> None:
        """Do the same, and write the next hops of what improved."""
        column = cuda.blockIdx.x * small.TILE
        if column >= skipped:
            column += width
        row = cuda.blockIdx.y * small.TILE
        pivots = first_left, 0, depth
        relax(target, hops, lefts, left_hops, rights, row, column, pivots, no_path)

    return relax_small_tiles


_SMALL = {
    kind: _small_tiles(kind[1], slab, registers)
    for kind, (slab, registers) in small.SLABS_AND_REGISTERS.items()
}


@cached
@cuda.jit
def copy_columns_of(source: Any, first: Any, target: Any, where: Any, width: Any) -> None:
    """Copy ``width`` columns from ``first`` on to those from ``where`` on, in the same rows."""
    for i in range(cuda.blockIdx.x, source.shape[0], cuda.gridDim.x):
        for j in range(cuda.threadIdx.x, width, cuda.blockDim.x):
            target[i, where + j] = source[i, first + j]


def copy_columns(
    device: Device, source: Part, first: int, target: Part, where: int, width: int, stream: Stream
) -> None:
    """Copy ``width`` columns from ``first`` on to those from ``where`` on, in the same rows."""
    blocks = min(source.dist.shape[0], 32 * device.properties.multiprocessors)
    for old, new in zip(source, target, strict=True):
        if old is not None:
            device.launch(
                copy_columns_of, blocks, _COPYING_THREADS, old, first, new, where, width,
                stream=stream,
            )  # fmt: skip


def tile_of(dtype: np.dtype[Any], *, carry: bool) -> int:
    """Return of what the sides of all operands of a `Product` are multiples.

    Examples
    --------
    >>> tile_of(np.dtype(np.float32), carry=False)
    128
    """
    return small.TILE if (dtype.itemsize, carry) in _SMALL else large.TILE


class Product:
    """The product on one device, for numbers of one kind.

    Parameters
    ----------
    device
        Where the operands are.
    dtype
        Of the distances: 4 or 8 bytes.
    carry
        Whether there are next hops.
    no_path
        Not less than any distance, and twice it fits the dtype.
    """

    def __init__(self, device: Device, dtype: np.dtype[Any], *, carry: bool, no_path: Any) -> None:
        self._device = device
        self._no_path = no_path
        self._tile = tile_of(dtype, carry=carry)
        self._kernel = _SMALL.get((dtype.itemsize, carry))
        self._carry = carry
        # What stands for next hops where there are none.
        self._nothing = None if carry else device.empty((1, 1), np.int32)

    def relax(
        self,
        target: Part,
        lefts: Part,
        rights: Any,
        pivots: tuple[int, int],
        columns: int,
        skipped: tuple[int, int] = (0, 0),
        *,
        stream: Stream,
    ) -> None:
        """Relax ``target`` in place: from i to j through each vertex k.

        Parameters
        ----------
        target
            From i to j: as many rows as there are i; at least so many columns as relaxed or
            skipped.
        lefts
            From i to k, and the first steps of these paths.
        rights
            From k to j, row 0 being the first k.
        pivots
            Which column of ``lefts`` is the first k, and how many there are: a multiple of 64.
        columns
            How many columns of ``target`` are relaxed.
        skipped
            The first of those that are not, and how many they are.
        stream
            On which this is done.
        """
        grid = columns // self._tile, target.dist.shape[0] // self._tile
        numbers = *pivots, *skipped
        if self._kernel is None:
            self._device.launch(
                relax_large_tiles, grid, large.THREADS, target.dist, lefts.dist, rights,
                *numbers, stream=stream,
            )  # fmt: skip
            return
        hops = target.hops if self._carry else self._nothing
        left_hops = lefts.hops if self._carry else self._nothing
        self._device.launch(
            self._kernel, grid, small.THREADS, target.dist, hops, lefts.dist, left_hops,
            rights, *numbers, self._no_path, stream=stream,
        )  # fmt: skip
