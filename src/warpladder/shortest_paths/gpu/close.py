"""Closing a matrix that lies on the device: which kernels.

Small matrices are closed as in the rung `one-launch`, or as in `resident-tiles` where there are
enough tiles of 4 bytes to fill the GPU and all fit into its registers; large ones as in
`deep-rounds`: int32 and float32 one number at a time, int16 in pairs where the GPU has instructions
for that, and as int32 where not. Numbers of 8 bytes and all with next hops keep to small tiles, in
deep rounds too where the matrix is large; but where distances of int32 leave room for tags, large
tiles find next hops with them, as in `tagged-distances`. Of a symmetric matrix that is closed in
rounds half of the tiles is enough, as told in `halves`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from warpladder.device.grids import round_up
from warpladder.shortest_paths.gpu.halves import close_half
from warpladder.shortest_paths.gpu.length_bound import all_below
from warpladder.shortest_paths.gpu.small_rounds import close_in_small_tiles
from warpladder.shortest_paths.gpu.tagged_rounds import close_in_tagged_tiles
from warpladder.shortest_paths.gpu.whole import close_whole
from warpladder.shortest_paths.gpu_tiles import large, small, tagged
from warpladder.shortest_paths.rungs.one_launch import close_at_once
from warpladder.shortest_paths.rungs.resident_tiles import close_resident, most_tiles

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = ["Plan", "close", "depth_of", "plan_for"]

# H200, int32: at 2816 one launch takes 2.69 ms and rounds 2.86, at 3072 3.45 and 3.18.
_ONE_LAUNCH_UP_TO = 2816
# Of the places for tiles. H100, 264 places, int32: at 1536 (144 tiles) resident tiles take 0.629 ms
# and one launch of small ones 0.615, at 1664 (169) 0.725 and 0.768, at 2048 (256) 0.932 and 1.178.
_RESIDENT_FROM = 0.55
# Of compute capabilities, where that was timed. For 10.0 the compiler spills.
_RESIDENT_ON = 9
# The first compute capability that relaxes pairs of int16 by an instruction.
_PAIRS_FROM = (9, 0)
# Tiles of the diagonal in a round, from so many tiles in a row on. H100, ms for rounds of one, two
# and four, all tiles and, behind them, half of them; int32:
#    4,096 (32)     5.99   6.58   7.13      3.48   4.15   4.87
#    6,144 (48)    18.4   17.7   18.6      10.2    9.97  11.6
#    8,192 (64)    41.6   40.1   39.3      22.2   21.4   23.2
#   12,288 (96)    136    130    130       71.9   68.7   69.4
#   16,384 (128)   318    309    303      165    161    160
#   24,000 (188)  1014    972    950      525    508    501
# and int16, of which a round has half as much to load and store:
#    8,192 (64)    22.1   21.2   22.3      12.8   14.0   14.7
#   12,288 (96)    70.5   68.5   68.4      37.3   36.3   39.2
# Both halves and wholes have to take the same, for the same bits. Of small tiles, rounds of one,
# two, four and eight, then one launch, and behind them half in such rounds; int32 with next hops:
#    1,024 (16)    0.748 0.865 0.851 0.890    0.734    0.850 0.991 0.939 0.931
#    1,280 (20)    0.969  1.13  1.17  1.21     1.04     1.07  1.25  1.19  1.28
#    1,536 (24)     1.26  1.46  1.59  1.58     1.37     1.36  1.50  1.44  1.58
#    2,048 (32)     1.98  2.32  2.51  2.48     2.59     1.84  2.18  2.16  2.25
#    3,072 (48)     5.68  5.45  5.95  6.09     7.31     4.19  4.25  4.63  4.62
#    4,096 (64)     12.6  12.2  11.8  12.4     16.1     8.52  7.70  8.13  8.42
#    6,144 (96)     39.2  38.2  38.0  36.7     48.2     25.4  23.6  22.5  22.0
#    8,192 (128)    90.4  87.3  86.9  84.7      111     56.0  55.0  49.9  48.0
# and float64:
#    1,024 (16)    0.887  1.02  1.03  1.08    0.883    0.824 0.980 0.947 0.949
#    1,280 (20)     1.13  1.28  1.37  1.41     1.24     1.08  1.28  1.25  1.33
#    1,536 (24)     1.62  1.71  1.90  1.91     1.66     1.37  1.53  1.59  1.70
#    2,048 (32)     2.63  2.97  3.10  3.17     3.23     2.05  2.35  2.30  2.48
#    3,072 (48)     8.09  7.31  7.51  8.21     9.32     4.37  4.68  5.21  5.46
#    4,096 (64)     18.3  16.7  16.2  17.0     20.8     9.66  9.03  9.73  10.3
#    6,144 (96)     59.7  54.0  52.7  52.2     65.0     31.1  28.5  27.5  28.0
#    8,192 (128)     140   128   124   123      152     72.0  65.8  63.8  63.5
_IN_SMALL_TILES = (96, 8), (48, 2)
_IN_LARGE_TILES = (128, 4), (48, 2)
_DEPTHS = {
    "singles": _IN_LARGE_TILES,
    "pairs": ((96, 2),),
    "wide": _IN_SMALL_TILES,
    "hops": _IN_SMALL_TILES,
    "tags": _IN_LARGE_TILES,
}
# Of large tiles in a row, with next hops. H200, int32, small tiles and tags, and the same of half:
#    2,304 (18)     2.46  2.50      2.11  2.39
#    2,560 (20)     3.34  2.80      2.56  2.59
#    3,072 (24)     5.22  3.95      4.16  3.78
_TAGS_FROM = 20
# Of small tiles in a row; with fewer the host is longer at the launches than the GPU at its work.
# Whole calls, ms in rounds and in one launch: with next hops 2.47 and 2.10 at 1,536, 2.13 and 2.29
# at 1,700; of float64 2.55 and 2.37, 2.54 and 2.75.
_SMALL_ROUNDS_FROM = 26


class Plan(NamedTuple):
    """How a matrix is closed, and what it has to look like on the device.

    Attributes
    ----------
    method
        "one launch" and "resident" as these rungs, the others in deep rounds: "singles" and "pairs"
        of large tiles, "wide" numbers and "hops" of small ones; "tags" of large ones where all
        distances are short enough, and where not as "hops".
    side
        Of the matrix, filled up to whole tiles.
    dtype
        Of the distances on the device. int16 is computed as int32 except in pairs: alone it would
        take two instructions where int32 takes one.
    """

    method: Literal["one launch", "resident", "singles", "pairs", "wide", "hops", "tags"]
    side: int
    dtype: np.dtype[Any]

    @property
    def takes_half(self) -> bool:
        """Whether half of a symmetric matrix is enough."""
        return self.method not in {"one launch", "resident"}

    @property
    def tile(self) -> int:
        """What the side is a multiple of."""
        return small.TILE if self.method in {"one launch", "wide", "hops"} else large.TILE


def plan_for(
    device: Device, n: int, dtype: np.dtype[Any], *, carry: bool, tags: bool = True
) -> Plan:
    """Return how n vertices are closed, with next hops if ``carry``.

    Without ``tags``, next hops are looked up in small tiles: whoever has found some before keeps
    them so.

    Examples
    --------
    >>> from warpladder.simulator import SimulatedDevice
    >>> plan_for(SimulatedDevice(), 100, np.dtype(np.float64), carry=True)
    Plan(method='one launch', side=128, dtype=dtype('float64'))
    """
    single = np.dtype(np.int32) if dtype == np.int16 else dtype
    side = round_up(n, large.TILE)
    major, _ = device.properties.compute_capability
    if not carry and dtype.itemsize <= 4 and major == _RESIDENT_ON:
        places = most_tiles(device)
        if _RESIDENT_FROM * places <= (side // large.TILE) ** 2 <= places:
            return Plan("resident", side, single)
    narrow = round_up(n, small.TILE)
    if carry and tags and single == np.int32 and side >= _TAGS_FROM * large.TILE:
        return Plan("tags", side, single)
    if (carry or dtype.itemsize > 4) and narrow >= _SMALL_ROUNDS_FROM * small.TILE:
        return Plan("hops" if carry else "wide", narrow, single)
    if carry or dtype.itemsize > 4 or n <= _ONE_LAUNCH_UP_TO:
        return Plan("one launch", narrow, single)
    if dtype == np.int16 and device.properties.compute_capability >= _PAIRS_FROM:
        return Plan("pairs", side, dtype)
    return Plan("singles", side, single)


def close(
    device: Device,
    plan: Plan,
    dist: Any,
    hops: Any,
    no_path: Any,
    progress: Callable[[float], None] | None = None,
    *,
    half: bool = False,
    n: int | None = None,
) -> None:
    """Replace weights by distances, in place.

    Parameters
    ----------
    device
        Where the arrays are.
    plan
        As `plan_for` gives it.
    dist
        As the plan says, C-contiguous; free of negative cycles; at most 0 on the diagonal, also of
        vertices that only fill up.
    hops
        Next hops to carry along, of the same shape, int32; or None. With "tags" those of edges.
    no_path
        What stands where there is no edge; twice it fits the dtype.
    progress
        Called now and then with the fraction done.
    half
        Whether the weights are the same as their transpose, bit for bit, and the plan takes half.
    n
        How many of the vertices do not only fill up; by default all may.

    Notes
    -----
    ``side**3`` relaxations, or half as many with the same bits. The last launch may still be at
    work on return.
    """
    if plan.method == "tags":
        limit = min(no_path, tagged.MOST)
        if all_below(device, dist, n or plan.side, no_path, limit):
            close_in_tagged_tiles(device, dist, hops, depth_of(plan), no_path, progress, half=half)
            return
        plan = plan._replace(method="hops")
    if plan.method == "one launch":
        close_at_once(device, dist, hops, no_path)
    elif plan.tile == small.TILE:
        close_in_small_tiles(device, dist, hops, depth_of(plan), no_path, progress, half=half)
    elif plan.method == "resident":
        close_resident(device, dist)
    elif half:
        close_half(device, dist, depth_of(plan), progress)
    else:
        close_whole(device, dist, depth_of(plan), progress)


def depth_of(plan: Plan) -> int:
    """Return how many tiles of the diagonal a round takes.

    Examples
    --------
    >>> depth_of(Plan("singles", 16_384, np.dtype(np.int32)))
    4
    """
    tiles = plan.side // plan.tile
    return next((depth for least, depth in _DEPTHS[plan.method] if tiles >= least), 1)
