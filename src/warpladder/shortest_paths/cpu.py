"""The CPU engine: blocked Floyd-Warshall on all cores and the full width of the vector unit.

`floyd_warshall` closes a prepared matrix in place. What it does is told in `blocked` (the three
phases) and `tiles` (the register tiles); here are the choices of sizes and the start of the team.

Work: ``n^3`` relaxations ``c = min(c, a + b)``. Traffic: ``2 n^3 / panel`` numbers. Bound: the
vector instructions of the relaxations, from n of about 1,000 on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.device.environment import worker_count
from warpladder.device.simd import vector_unit
from warpladder.device.team import new_state, run_briefly, run_team
from warpladder.shortest_paths.batch_cpu import close_graphs
from warpladder.shortest_paths.cpu_tiles.blocked import close_team
from warpladder.shortest_paths.cpu_tiles.packing import make_operand
from warpladder.shortest_paths.cpu_tiles.symmetry import BY_HALF, is_symmetric
from warpladder.shortest_paths.cpu_tiles.tiles import PANEL_UNIT
from warpladder.shortest_paths.dense import inner_no_path

__all__ = ["SERIAL_UP_TO", "floyd_warshall", "seconds", "workers_for"]

SERIAL_UP_TO = 256
"""Number of vertices up to which one core is faster: starting threads costs more than they give."""

# 32-bit relaxations per second, measured on the machine named in benchmarks/results.
_RELAXATIONS_PER_VECTOR_BYTE = 0.72e9
# Seconds that a vertex costs beside its relaxations: on one core, and in a team, which packs panels
# and waits at barriers. Calls with float32 take 0.7 ms for 256 vertices; on two cores 1.2 for 300,
# 2.5 for 512, 14.4 for 1,024 and 99 for 2,048.
_VERTEX_SECONDS = 2e-6
_VERTEX_SECONDS_OF_TEAM = 3e-6
# Of the time that the relaxations of a whole matrix take: tiles on the diagonal stay whole.
_SHARE_OF_HALF = 0.57
# Times as long, with next hops: 1.5 to 1.7.
_WITH_NEXT_HOPS = 1.7
# 16 cores, n = 1000: 16 workers take 23 ms and 8 of them 17; there must be a panel for each.
_ROWS_PER_WORKER = 128
# This thread is one of the workers, others are kept. By two cores of an EPYC, between calls of
# SciPy's, 300, 384, 512 and 768 vertices took 1.2, 1.4, 2.5 and 6.7 ms; with new threads, of which
# each waited for all, 1.8, 2.4, 4.2 and 7.2. Of more vertices the caller looks at the progress
# meanwhile, and can be interrupted.
_BRIEF_UP_TO = 1024
_INNER_PANEL = PANEL_UNIT // 2
# As a batch of one graph, of which no second version has to be compiled.
_ONE = np.ones(1, np.bool_)
# Rows per task: many tasks, so that a slower core takes fewer; each re-reads the packed row panel.
_CHUNK = 48


def floyd_warshall(
    dist: NDArray[Any], hops: NDArray[Any], progress: Callable[[float], None] | None = None
) -> str:
    """Replace weights by distances, in place; return how, where there is something to say.

    Half of a symmetric matrix is enough, unless it is small. The other half is its mirror image, of
    the same bits as if both were computed; `blocked` tells why. On two cores that is 1.6 to 1.8
    times as fast for 2,048 vertices, 1.8 to 2 times for 4,096 and more, and less for fewer; with
    next hops 1.4 to 1.5 and 1.4 to 1.6 times.

    Parameters
    ----------
    dist
        Shape (n, n), C-contiguous; prepared by `dense.import_weights`, free of negative cycles.
    hops
        Shape (n, n), next hops to carry along, or an empty matrix.
    progress
        Called now and then with the fraction done.
    """
    n = len(dist)
    carry = True if hops.size else None
    no_path = inner_no_path(dist.dtype)
    if n <= SERIAL_UP_TO:
        panel = PANEL_UNIT if n > PANEL_UNIT else _INNER_PANEL
        close_graphs(dist[None], hops[None], carry, panel, no_path, _ONE, 0, 1)
        return ""

    half = is_symmetric(dist)
    workers = workers_for(n)
    panel = _panel_height(n)
    state = new_state()
    diagonal, right_diagonal, right = _shared_panels(dist, hops, panel)

    def work(worker: int) -> None:
        close_team(
            (dist, hops), carry, panel, _INNER_PANEL, _CHUNK, no_path, half,
            worker, state, diagonal, right_diagonal, right,
        )  # fmt: skip

    if n <= _BRIEF_UP_TO:
        run_briefly(work, workers, state)
        if progress is not None:
            progress(1.0)
    else:
        run_team(work, workers, state, None if progress is None else lambda k: progress(k / n))
    return BY_HALF if half else ""


def workers_for(n: int) -> int:
    """Return how many workers `floyd_warshall` takes for n vertices.

    Examples
    --------
    >>> workers_for(10)
    1
    """
    return min(worker_count(), n // _ROWS_PER_WORKER) if n > SERIAL_UP_TO else 1


def seconds(n: int, dtype: np.dtype[Any], *, half: bool = False, carry: bool = False) -> float:
    """Estimate the time of `floyd_warshall`; ``half``: of a symmetric matrix, ``carry``: hops."""
    workers = worker_count() if n > SERIAL_UP_TO else 1
    rate = _RELAXATIONS_PER_VECTOR_BYTE * vector_unit().bytes * 4 / dtype.itemsize * workers
    beside = n * (_VERTEX_SECONDS_OF_TEAM if n > SERIAL_UP_TO else _VERTEX_SECONDS)
    relaxations = n**3 * (_SHARE_OF_HALF if half and n > SERIAL_UP_TO else 1)
    return float(relaxations / rate * (_WITH_NEXT_HOPS if carry else 1) + beside)


def _panel_height(n: int) -> int:
    """Return a height that moves little memory and leaves many panels.

    It depends on n alone: where rounding occurs, panels decide the order of the additions, and the
    same graph shall give the same bits on any number of cores.
    """
    return int(min(max(n // 512, 1), 4)) * PANEL_UNIT


def _shared_panels(
    dist: NDArray[Any], hops: NDArray[Any], panel: int
) -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """Return room for the packed panels that a team shares."""
    block = (panel + PANEL_UNIT) * panel
    carry = True if hops.size else None
    sizes = block, block, (len(dist) + 2 * PANEL_UNIT) * panel
    return [make_operand((dist, hops), carry, size) for size in sizes]
