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
from numpy.typing import DTypeLike, NDArray

from warpladder.device.team import new_state, run_team, worker_count
from warpladder.shortest_paths.blocked import close_range, close_team
from warpladder.shortest_paths.dense import inner_no_path
from warpladder.shortest_paths.tiles import PANEL_UNIT, tile_shape

__all__ = ["floyd_warshall", "workspace_bytes"]

# Measured on two AVX-512 cores: below this size starting threads costs more than the second core
# gives.
_TEAM_FROM = 256
_INNER_PANEL = PANEL_UNIT // 2
# 48 rows of a strip, a piece of the panel and the tile's own rows share the first-level cache.
_CHUNK = 48


def floyd_warshall(
    dist: NDArray[Any], hops: NDArray[Any], progress: Callable[[float], None] | None = None
) -> None:
    """Replace weights by distances, in place.

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
    shape = tile_shape(dist.dtype, hops=carry is not None)
    tile = (shape.rows, shape.columns)
    no_path = inner_no_path(dist.dtype)
    if n <= _TEAM_FROM:
        panel = PANEL_UNIT if n > PANEL_UNIT else _INNER_PANEL
        close_range((dist, hops), carry, 0, n, panel, tile, no_path)
        return

    workers = worker_count()
    panel = _panel_height(n)
    state = new_state()
    packed, right_diagonal, right = _shared_panels(dist.dtype, n, panel)
    diagonal = (packed, np.empty(packed.size if carry else 0, hops.dtype))

    def work(worker: int) -> None:
        close_team(
            (dist, hops), carry, panel, _INNER_PANEL, _CHUNK, tile, no_path,
            workers, worker, state, diagonal, right_diagonal, right,
        )  # fmt: skip

    run_team(work, workers, state, None if progress is None else lambda k: progress(k / n))


def workspace_bytes(dtype: DTypeLike, n: int) -> int:
    """Return the memory that `floyd_warshall` takes besides its arguments, in bytes.

    Examples
    --------
    >>> workspace_bytes("float32", 8192) < 0.1 * 8192**2 * 4
    True
    """
    if n <= _TEAM_FROM:
        return 4 * PANEL_UNIT * n * np.dtype(dtype).itemsize
    workers = worker_count()
    panel = _panel_height(n)
    private = workers * panel * (panel + _CHUNK) * np.dtype(dtype).itemsize
    return private + panel * (2 * panel + n) * np.dtype(dtype).itemsize


def _panel_height(n: int) -> int:
    """Return a height that moves little memory and leaves many panels.

    It depends on n alone: where rounding occurs, panels decide the order of the additions, and the
    same graph shall give the same bits on any number of cores.
    """
    return int(min(max(n // 512, 1), 4)) * PANEL_UNIT


def _shared_panels(
    dtype: np.dtype[Any], n: int, panel: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    diagonal = np.empty((panel + PANEL_UNIT) * panel, dtype)
    right_diagonal = np.empty((panel + PANEL_UNIT) * panel, dtype)
    right = np.empty((n + PANEL_UNIT) * panel, dtype)
    return diagonal, right_diagonal, right
