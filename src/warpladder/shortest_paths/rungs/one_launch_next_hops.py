"""Next hops from tiles.

Idea: a relaxation is one or two instructions, and to remember through which vertex it was would
make it four. But a cell has to know that only where it improves, which few do after the first
rounds. So eight vertices are taken without a thought of hops, into cells of their own that begin
with "no path". If their least is less than what was known, it is kept, with the number of the
eight. At the end of a tile, where any eight improved a cell, the thread goes through them once more
and looks for the vertex that gave this very sum: the same addition gives the same bits. The next
hop is then the first step towards that vertex.

In the tile on the diagonal, vertices come one at a time, and a cell takes the hop of its row along
with the distance.

Why nothing races. The hops that a tile of the panels looks up may be its own: they are read before
one more barrier, behind which they are written.

Below: `one-launch` gave distances alone; `next-hops` gave both, a step of the whole matrix at a
time.

Expect: three instructions more for every eight relaxations of a cell: a comparison, a minimum and
a selection. Shared loads are those of `one-launch` and those of looking again, of which few cells
have need: at n = 128 not half as many more. Of paths that are equally short any may be taken; so
what is verified is that following the hops is as long as the distance says.

Source: beyond

Question: Suppose that two of the eight vertices give the same least sum. Which of the two is found
when the thread looks again, and does it matter?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.grids import round_up
from warpladder.rung import Bound, Prediction, Rung
from warpladder.shortest_paths.gpu_tiles.small import TILE
from warpladder.shortest_paths.rungs._launching import padded
from warpladder.shortest_paths.rungs._tasks import LENGTHS_ALONG_HOPS, first_hops
from warpladder.shortest_paths.rungs.one_launch import KERNEL_WITH_HOPS, close_at_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "run"]


def run(device: Device, problem: Weights) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the distances and the next hops."""
    n = len(problem.matrix)
    side = round_up(n, TILE)
    larger = problem._replace(matrix=padded(problem, side, side))
    dist, hops = device.to_device(larger.matrix), device.to_device(first_hops(larger))
    if n:
        close_at_once(device, dist, hops, problem.no_path)
    both = device.to_host(dist)[:n, :n], device.to_host(hops)[:n, :n]
    return np.ascontiguousarray(both[0]), np.ascontiguousarray(both[1])


RUNG = Rung(
    name="one-launch-next-hops",
    title="Next hops, looked up where a tile improved",
    source="beyond",
    run=run,
    task=LENGTHS_ALONG_HOPS,
    bound=Bound("issue", "n**3 relaxations at 64 per multiprocessor and clock; 2 n / 64 barriers"),
    kernels=(KERNEL_WITH_HOPS,),
    predicts=(
        Prediction("launches", "==", 1, 128, "as without hops"),
        Prediction(
            "shared_load_requests",
            "<=",
            1.5,
            128,
            "few cells improve, and they look again through 8 vertices of 64",
            than="one-launch",
        ),
    ),
)
