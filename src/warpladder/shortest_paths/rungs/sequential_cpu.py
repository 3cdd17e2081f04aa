"""Floyd-Warshall on the CPU: three nested loops.

Idea: allow detours one vertex at a time. In step k every pair (i, j) asks whether the way from i to
k and on from k to j is shorter than the best way known so far. That question is a *relaxation*: an
addition, a comparison, at times a store. After step k the matrix holds the shortest distances over
paths whose inner vertices are among 0 .. k; after the last step, over all paths.

Below: nothing; this is the ground.

Expect: n**3 relaxations and nothing else, so twice the vertices take eight times as long. The
innermost loop runs along two rows, and a compiler can take several neighbours per instruction. The
whole matrix passes through the core n times: from n = 1024 on that is 4 MiB and more,
which the caches of one core do not hold.

Source: CF A; GR Floyd-Warshall; HB exploration 5
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.rung import Bound, Rung
from warpladder.shortest_paths.rungs._tasks import DISTANCES_BY_ONE_CORE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "run"]


@cached
@njit
def close(dist):
    """Replace weights by distances, in place."""
    n = len(dist)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                through = dist[i, k] + dist[k, j]
                known = dist[i, j]
                if through < known:
                    dist[i, j] = through


def run(device: None, problem: Weights) -> NDArray[Any]:  # noqa: ARG001 - one signature
    """Return the distances."""
    dist = problem.matrix.copy()
    close(dist)
    return dist


RUNG = Rung(
    name="sequential-cpu",
    title="Floyd-Warshall by three loops on one CPU core",
    source="CF A; GR Floyd-Warshall; HB exploration 5",
    run=run,
    task=DISTANCES_BY_ONE_CORE,
    bound=Bound("dram", "2 n**3 numbers through memory that one core reaches, once n**2 is large"),
    on="cpu",
)
