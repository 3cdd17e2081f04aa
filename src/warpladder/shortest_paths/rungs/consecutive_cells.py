"""As many threads as the GPU holds, each with a run of consecutive cells.

Idea: blocks that do not fit wait until others end, and each costs something to start. So start only
as many threads as can be resident, and give each of them a run of neighbouring cells. How many can
be is asked, not guessed: the registers that the compiler gave the kernel decide, beside the places
for threads. A thread finds the row and column of its first cell by one division and steps on from
there.

Below: every cell had a thread and every thread a division. Also, a cell was stored even if it was
the same as before; here only an improvement is.

Expect: fewer threads, but look at a warp. With 16 cells per thread its lanes read 16 cells apart,
64 bytes: each lane has a sector to itself. At n = 128 a warp covers 512 cells, 4 rows: 32 sectors
of its own cells, 8 of row k (the same for all 4 rows), 4 of column k. That is 44 / 3 = 14.7 sectors
per request instead of 3, and of every sector a request uses 4 bytes. The paper does not see it; the
caches hide a part, as the next cells of a run are in the sectors that are there already.

Found: the caches hide nearly all of it. On an NVIDIA H200 (2026-11-27), at n = 2048, the steps take
42.5 ms: less than the 45.8 ms of `launch-per-k`, and hardly more than the 41.0 ms of
`strided-cells`, although at n = 128 they load 4.9 times its sectors.

Source: CF C

Question: How many sectors do a warp's own cells take in one request with runs of 2 cells, and from
which length on does each lane have a sector to itself?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung
from warpladder.shortest_paths.rungs._launching import THREADS, resident_with
from warpladder.shortest_paths.rungs._tasks import DISTANCES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "relax_run", "run"]

#: A thread is not worth starting for fewer cells. (At n = 2048 an H200 comes to 16 as well.)
SHORTEST_RUN = 16


@cuda.jit
def relax_run(dist, n, k, length):
    """Relax ``length`` consecutive cells through vertex k."""
    first = cuda.grid(1) * length
    i = first // n
    j = first - i * n
    for _ in range(min(length, n * n - first)):
        through = dist[i, k] + dist[k, j]
        known = dist[i, j]
        if through < known:
            dist[i, j] = through
        j += 1
        if j == n:
            i += 1
            j = 0


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    if n == 0:
        return device.to_host(dist)
    resident = resident_with(device, relax_run, dist, n, 0, 0)
    length = max(SHORTEST_RUN, blocks_for(n * n, resident * THREADS))
    for k in range(n):
        device.launch(relax_run, blocks_for(n * n, length * THREADS), THREADS, dist, n, k, length)
    return device.to_host(dist)


RUNG = Rung(
    name="consecutive-cells",
    title="A grid as large as the GPU, a run of consecutive cells per thread",
    source="CF C",
    run=run,
    task=DISTANCES,
    bound=Bound("dram", "n times the matrix read: 4 n**3 bytes; in requests of 32 sectors each"),
    kernels=(relax_run,),
    predicts=(
        Prediction(
            "global_load_sectors_per_request",
            "==",
            Ratio(44, 3),
            128,
            "32 sectors of own cells, 8 of row k, 4 of column k in three requests",
            tolerance=1e-9,
        ),
        Prediction(
            "global_store_requests",
            "<",
            0.5,
            128,
            "only improvements are stored, and they are rare",
            than="launch-per-k",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-27",
            2048,
            (("consecutive-cells", 42.5), ("launch-per-k", 45.8), ("strided-cells", 41.0)),
        ),
    ),
)
