"""Matrices that do not fit the GPU's memory: they stay on the host, bands of rows pass by.

A round takes as many vertices P as intermediates as the device can hold rows for. In

    D[i, j]  <-  min(D[i, j], D[i, P] x closed D[P, P] x D[P, j])        (x: the min-plus product)

the rows D[P, :] stay on the device for the whole round, and so does the closed block D[P, P], which
`close` makes of D[P, P]. All rows of the matrix then come by in bands. Of a band, D[i, P] x closed
D[P, P] is made first: the columns P of the result, and the left operand for all its other columns.
Rows of P themselves take theirs from the closed block. That is n^2 |P| relaxations for the round,
n^3 for all, as many as in a matrix that fits.

While the device is at one band, the one before goes to the host and the one behind comes, in two
device buffers, on two streams beside that of the kernels. The host copies between its matrix and
page-locked buffers in one thread of control, so only one of the two is on the bus at a time; and as
a band is on its way back before the next but one is sent into its place, two buffers suffice.

Which values are multiplied is no accident of timing: the operands D[P, :] are what they were when
the round began, and the left ones are finished in arrays of their own before anybody reads them.

Traffic: every band goes there and back in every round, 2 n^3 / |P| numbers (and as many next hops),
beside n^2 to bring all D[P, :] there. Compute hides the former, at r relaxations and b bytes per
second and s bytes for a number and its hop, if 2 s n^2 / b <= n^2 |P| / r, that is

    |P|  >=  2 s r / b

For int32 on an H200 that is 12,800 (8e12 relaxations per second; 5e9 bytes, the host's own copies
included, both rounded down). Measured there with n = 24,000 and |P| = 8,192: 1.69 s, where 1.46 s
is what a matrix that fits takes, and the copies alone 1.28 s; with |P| = 5,120: 2.45 s and 1.97 s.

A GPU with M bytes holds M / (s n) rows, which are that many as long as the matrix has no more than
M b / (2 s^2 r) columns: 2.9 million on an H200. What nothing hides is what a matrix that fits
pays too, the n^2 numbers that come, and in every round the first band and the last.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warpladder.device.grids import round_up
from warpladder.device.staging import Lane, lane
from warpladder.errors import TooLargeError
from warpladder.shortest_paths.dense import NO_HOP, inner_no_path
from warpladder.shortest_paths.gpu.close import close, plan_for
from warpladder.shortest_paths.gpu.product import Part, Product, copy_columns, tile_of
from warpladder.shortest_paths.gpu.transfer import fetch, send

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device

__all__ = ["Sizes", "floyd_warshall", "room", "sizes_for"]

_BANDS = 2
# Tiles in the height of a band where there is memory for it: some thousand tiles, so that few
# multiprocessors wait for the last ones. And rows of P, in such bands, from which that is so.
_TILES_IN_BAND = 4
_ENOUGH_BANDS = 4
# Of the free memory this part is left alone.
_SPARE = 1 / 32


class Sizes(NamedTuple):
    """How a matrix is cut, in vertices.

    Attributes
    ----------
    width
        Of the matrix, filled up to whole tiles.
    block
        Taken as intermediates in a round: a multiple of ``band``.
    band
        Rows that come by together: a multiple of the tile.
    """

    width: int
    block: int
    band: int

    def device_bytes(self, dtype: np.dtype[Any], *, carry: bool) -> int:
        """Return what lies on the device at a time."""
        with_hops = self.block**2 + self.band * self.block + _BANDS * self.band * self.width
        number = dtype.itemsize
        return self.block * self.width * number + with_hops * (number + (4 if carry else 0))


def room(device: Device) -> int:
    """Return how many bytes of the device's memory a matrix may take.

    One in 32 that are free is spared: 256 MiB of 8 GiB, 4.3 GiB of 139. The driver takes from it
    for kernels when they are first launched, their code and the local memory of all threads that
    can be resident (2,048 on each multiprocessor, at 200 bytes 52 MiB for the 132 of an H200), and
    gives memory in pages of 2 MiB.
    """
    free = device.free_bytes()
    return free - int(free * _SPARE)


def sizes_for(device: Device, n: int, dtype: np.dtype[Any], *, carry: bool) -> Sizes:
    """Return how to cut a matrix for the memory that is free: in as few rounds as possible.

    Raises
    ------
    TooLargeError
        Not even one row of tiles and two bands of one tile fit.

    Examples
    --------
    >>> from warpladder.simulator import SimulatedDevice
    >>> sizes_for(SimulatedDevice((9, 0)), 300_000, np.dtype(np.int32), carry=False)
    Sizes(width=300032, block=75264, band=512)
    """
    tile = tile_of(dtype, carry=carry)
    width = round_up(n, tile)
    available = room(device)
    for band in (_TILES_IN_BAND * tile, tile):

        def needed(block: int, band: int = band) -> int:
            return Sizes(width, block, band).device_bytes(dtype, carry=carry)

        most = band * bisect_right(range(band, width + band, band), available, key=needed)
        if most >= _ENOUGH_BANDS * band:
            break
    if not most:
        hops = " with next hops" if carry else ""
        raise TooLargeError(
            f"graph: the distances of {n:,} vertices as {dtype.name}{hops} take at least "
            f"{needed(tile):,} bytes of GPU memory, of which {device.properties.name} has "
            f"{available:,} to spare; free some, or use device='cpu'"
        )
    # Rounds of the same size: a small last one would have little to hide its traffic behind.
    rounds = -(-width // most)
    return Sizes(width, round_up(-(-width // rounds), band), band)


def floyd_warshall(
    device: Device,
    dist: NDArray[Any],
    hops: NDArray[Any],
    progress: Callable[[float], None] | None = None,
    sizes: Sizes | None = None,
) -> None:
    """Replace weights by distances, in place: `engine.floyd_warshall` with little device memory.

    Parameters
    ----------
    device
        The GPU.
    dist
        Shape (n, n), n > 0, C-contiguous, on the host; prepared by `dense.import_weights`, free of
        negative cycles. If this call is left by an exception, it is between weights and distances.
    hops
        Shape (n, n), first next hops to carry along, or an empty matrix.
    progress
        Called after every band and now and then in between with the fraction done.
    sizes
        How to cut the matrix; by default `sizes_for` what is free.

    Raises
    ------
    TooLargeError
        The memory that is free does not even suffice for one row of tiles.

    Notes
    -----
    ``n**3`` relaxations. The host needs 64 MiB beside its matrices. int16 is computed as int32,
    which is right where `close` takes two at a time, too: both are exact.

    What `engine.floyd_warshall` says of exactness holds here: integers come out as from the CPU
    engine. Where sums of floating-point numbers are rounded, the block decides the order of the
    additions, and it depends on how much memory is free.
    """
    carry = bool(hops.size)
    kind = np.dtype(np.int32) if dist.dtype == np.int16 else dist.dtype
    cut = sizes or sizes_for(device, len(dist), kind, carry=carry)
    host = Part(dist, hops if carry else None)
    with lane(device) as up, lane(device) as down:
        rounds = _Rounds(device, host, kind, cut, (up, down))
        for first in range(0, cut.width, cut.block):
            rounds.take(first, progress)


class _Rounds:
    """The rounds for one matrix, and what they keep on the device."""

    def __init__(
        self,
        device: Device,
        host: Part,
        dtype: np.dtype[Any],
        sizes: Sizes,
        lanes: tuple[Lane, Lane],
    ) -> None:
        self._device = device
        self._host = host
        self._sizes = sizes
        self._up, self._down = lanes
        self._kernels = device.stream()
        carry = host.hops is not None

        def part(rows: int, columns: int) -> Part:
            shape = rows, columns
            return Part(
                device.empty(shape, dtype), device.empty(shape, np.int32) if carry else None
            )

        self._no_path = inner_no_path(host.dist.dtype).item()
        self._product = Product(device, dtype, carry=carry, no_path=self._no_path)
        self._plan = plan_for(device, sizes.block, dtype, carry=carry, tags=False)
        self._rows = device.empty((sizes.block, sizes.width), dtype)
        self._closed = part(sizes.block, sizes.block)
        self._lefts = part(sizes.band, sizes.block)
        self._bands = [part(sizes.band, sizes.width) for _ in range(_BANDS)]
        self._arrived = [device.event() for _ in range(_BANDS)]
        self._relaxed = [device.event() for _ in range(_BANDS)]

    def take(self, first: int, progress: Callable[[float], None] | None) -> None:
        """Take the vertices from ``first`` on as intermediates: one round."""
        width, block, band = self._sizes
        depth = min(block, width - first)
        # Closing is its share of the relaxations.
        closing = (depth / width) ** 2

        def tell(part_of_round: float) -> None:
            if progress:
                progress((first + part_of_round * depth) / width)

        self._close(first, depth, lambda part: tell(part * closing))
        starts = range(0, width, band)
        for turn, start in enumerate(starts):
            self._relax(turn % _BANDS, start, (first, depth))
            if turn:
                self._bring_back((turn - 1) % _BANDS, starts[turn - 1])
                tell(closing + (1 - closing) * turn / len(starts))
        self._bring_back(turn % _BANDS, start)
        tell(1)

    def _close(self, first: int, depth: int, progress: Callable[[float], None]) -> None:
        """Bring the rows of a round, and close their block on the diagonal."""
        last = first + self._sizes.block
        send(self._up, self._host.dist[first:last], self._rows[:depth], self._no_path, first)
        # Of the last round's block a part may be vertices that only fill up.
        columns = slice(first, last)
        rows = self._host.rows(first, last)
        corner = Part(rows.dist[:, columns], None if rows.hops is None else rows.hops[:, columns])
        self._send(corner, self._closed, 0)
        self._up.stream.synchronize()
        close(self._device, self._plan, *self._closed, self._no_path, progress)
        self._device.synchronize()

    def _relax(self, place: int, start: int, pivots: tuple[int, int]) -> None:
        """Send the band that starts there, and have it relaxed through the round's vertices."""
        first, depth = pivots
        height = min(self._sizes.band, self._sizes.width - start)
        band = self._bands[place].rows(0, height)
        self._send(self._host.rows(start, start + height), band, start)
        self._arrived[place].record(self._up.stream)
        stream = self._kernels
        stream.wait(self._arrived[place])
        if first <= start < first + depth:
            lefts = self._closed.rows(start - first, start - first + height)
        else:
            lefts = self._lefts.rows(0, height)
            # Where no path through other vertices of the round is shorter, and for their hops.
            copy_columns(self._device, band, first, lefts, 0, depth, stream)
            self._product.relax(lefts, band, self._closed.dist, pivots, depth, stream=stream)
        copy_columns(self._device, lefts, 0, band, first, depth, stream)
        others = self._sizes.width - depth
        if others:
            self._product.relax(
                band, lefts, self._rows, (0, depth), others, skipped=pivots, stream=stream
            )
        self._relaxed[place].record(stream)

    def _bring_back(self, place: int, start: int) -> None:
        """Copy a band to the host once it is relaxed, and wait for that."""
        self._down.stream.wait(self._relaxed[place])
        rows = self._host.rows(start, start + self._sizes.band)
        for there, here in zip(self._bands[place], rows, strict=True):
            if here is not None:
                fetch(self._down, there, here)

    def _send(self, rows: Part, filled: Part, first_vertex: int) -> None:
        send(self._up, rows.dist, filled.dist, self._no_path, first_vertex)
        if rows.hops is not None:
            send(self._up, rows.hops, filled.hops, NO_HOP, first_vertex)
