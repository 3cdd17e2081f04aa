"""The same kernel on padded rows: every row begins at a multiple of 128 bytes.

Idea: store the matrix wider than it is. If the width is a multiple of 32 numbers, each row begins
where a line of memory begins, and so does the piece of it that a warp reads. The host writes the
padded matrix, the kernel never touches the padding.

Below: rows of 97 numbers are 388 bytes, 12 sectors and an eighth: only every eighth row begins at a
sector. In the other rows a full warp's 128 bytes reach into a fifth sector.

Expect: at n = 97 a row is three full warps and one thread. Unpadded, its own cells are
3 * 4 + 1 = 13 sectors in 13 rows and 3 * 5 + 1 = 16 in 84: 1513 in all, and as many over the steps
for row k. Padded to 128, 13 always: 97 * 97 * (1 + 13 + 13) = 254,043 sectors, 16 % fewer. Where n
is a multiple of 32 already nothing changes. The price is memory, at most 31 numbers per row.

Source: HB fwStepK

Question: What part of itself does padding add to a matrix of 33 rows and columns, and what part to
one of 2,017?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.grids import blocks_for, round_up
from warpladder.rung import Bound, Prediction, Ratio, Rung
from warpladder.shortest_paths.rungs._launching import THREADS, padded
from warpladder.shortest_paths.rungs._tasks import DISTANCES
from warpladder.shortest_paths.rungs.row_blocks import relax_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["ALIGNMENT", "RUNG", "run"]

#: Numbers in a line of 128 bytes.
ALIGNMENT = 32


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    dist = device.to_device(padded(problem, round_up(n, ALIGNMENT)))
    for k in range(n):
        device.launch(relax_row, (blocks_for(n, THREADS), n), THREADS, dist, n, k)
    return np.ascontiguousarray(device.to_host(dist)[:, :n])


RUNG = Rung(
    name="padded-rows",
    title="Row blocks on rows padded by the host to a multiple of 32",
    source="HB fwStepK",
    run=run,
    task=DISTANCES,
    bound=Bound("dram", "n times the matrix read: 4 n**3 bytes, and n launches"),
    kernels=(relax_row,),
    predicts=(
        Prediction(
            "global_load_sectors",
            "==",
            254_043,
            97,
            "13 sectors for any row: 97 * 97 * (1 + 13 + 13)",
        ),
        Prediction(
            "global_load_sectors",
            "==",
            Ratio(254_043, 97 * 97 + 2 * 97 * 1513),
            97,
            "84 of 97 rows begin inside a sector where they are not padded",
            than="row-blocks",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_sectors",
            "==",
            1,
            128,
            "rows of 128 numbers are aligned as they are",
            than="row-blocks",
        ),
    ),
    limits="a grid has at most 65,535 blocks along y, and a row takes one",
    max_n=65535,
)
