"""Floyd-Warshall for a stack of graphs: all at once where that is safe, one by one where not.

A graph without negative weights whose sums provably fit the dtype needs no care. Such graphs are
brought into the engine's form, closed and brought back in loops over graphs that are compiled
(`batch_cpu`), on all cores, or closed on a GPU in one launch (`gpu.batches`). Every other graph
goes through `solve` on its own: it is refused there, by its number in the stack, or answered with
all the care a single graph is given. If one of them needs a wider dtype, all are done again in
that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.device.simd import vector_unit
from warpladder.errors import InputError
from warpladder.shortest_paths import batch_cpu, cpu
from warpladder.shortest_paths.dense import (
    WeightSummary,
    extremes,
    hop_matrix,
    inner_no_path,
    outer_no_path,
)
from warpladder.shortest_paths.prepare import may_overwrite, surely_fits, weights_as
from warpladder.shortest_paths.solve import Close, Solution, solve
from warpladder.shortest_paths.stack import GraphStack, naming
from warpladder.shortest_paths.tiles import PANEL_UNIT
from warpladder.shortest_paths.widening import DoesNotFitError

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = ["StackSolution", "Wishes", "solve_stack"]

# From so many vertices on, one graph keeps a whole GPU busy.
_FILLS_A_GPU = 1024
_SECONDS_BETWEEN_REPORTS = 0.1


class Wishes(NamedTuple):
    """What `solve` is asked for besides a graph and a dtype; the words are its own."""

    widen: bool
    next_hops: bool
    overwrite: bool
    mark: bool
    progress: Callable[[float], None] | None


class StackSolution(NamedTuple):
    """Distances and next hops (None if not wanted) of all graphs, and remarks for people."""

    dist: NDArray[Any]
    hops: NDArray[np.int32] | None
    remarks: list[str]


class _NeedsWiderError(Exception):
    """A graph of the stack has a distance that only this dtype holds."""

    def __init__(self, dtype: np.dtype[Any], index: int) -> None:
        self.dtype = dtype
        self.index = index
        super().__init__()


def solve_stack(
    graphs: GraphStack, dtype: np.dtype[Any], wishes: Wishes, gpu: Device | None
) -> StackSolution:
    """Return all distances of all graphs.

    Parameters
    ----------
    graphs
        The graphs.
    dtype
        In which to compute.
    wishes
        As for `solve`.
    gpu
        Where to, or None for the CPU.
    """
    tried, notes = dtype, []
    while True:
        try:
            dist, hops, remarks = _solve_in(graphs, tried, wishes, gpu)
        except _NeedsWiderError as found:
            tried = found.dtype
            notes = [
                f"{tried.name} because {dtype.name} cannot hold a distance of graph {found.index}"
            ]
        else:
            links = hops.astype(np.int32, copy=False) if wishes.next_hops else None
            return StackSolution(dist, links, remarks + notes)


def _solve_in(
    graphs: GraphStack, dtype: np.dtype[Any], wishes: Wishes, gpu: Device | None
) -> tuple[NDArray[Any], NDArray[Any], list[str]]:
    n, count = graphs.n, len(graphs)
    together = n < _FILLS_A_GPU if gpu else n <= cpu.SERIAL_UP_TO
    try:
        source, absent, is_ours = weights_as(graphs, dtype)
    except (InputError, DoesNotFitError):
        _refuse(graphs, dtype, wishes)
        raise
    # The rows of all graphs are rows of one matrix here.
    rows = source.reshape(count * n, n)
    in_place = is_ours or may_overwrite(rows, wishes.overwrite and not wishes.next_hops)
    dist = source if in_place else np.empty_like(source)
    shape = (count, n, n) if wishes.next_hops else (count, 0, 0)
    hops = np.empty(shape, hop_matrix(dtype, n, wanted=False).dtype)
    workers = batch_cpu.workers_for(count, n) if together else cpu.workers_for(n)
    cores = f"{workers} CPU core{'s' if workers > 1 else ''} ({vector_unit().name})"
    where = gpu.properties.name if gpu else cores
    if not together:
        close: Close = cpu.floyd_warshall
        if gpu:
            from warpladder.shortest_paths.gpu import engine

            close = partial(engine.floyd_warshall, gpu)
        _one_by_one(graphs, range(count), dist, hops, wishes, close)
        return dist, hops, [f"{where}, {count:,} graphs one by one"]

    plain = _all_at_once(source, absent, dist, hops, gpu, wishes.progress)
    careful = np.flatnonzero(~plain).tolist()
    silent = wishes._replace(progress=None)
    # Below the size at which a GPU pays for one graph, these are closed on the CPU.
    _one_by_one(graphs, careful, dist, hops, silent, cpu.floyd_warshall)
    remarks = [f"{where}, {count:,} graphs at once"]
    if careful:
        remarks.append(
            f"{len(careful):,} of them one by one on the CPU, for weights below zero, distances "
            "that might not fit or cycles of weight 0"
        )
    return dist, hops, remarks


def _all_at_once(
    source: NDArray[Any],
    absent: Any,
    dist: NDArray[Any],
    hops: NDArray[Any],
    gpu: Device | None,
    progress: Callable[[float], None] | None,
) -> NDArray[np.bool_]:
    """Answer for all graphs that need no care; return which these are."""
    count, n, _ = dist.shape
    dtype = dist.dtype
    carry = True if hops.size else None
    integer = True if dtype.kind == "i" else None
    no_path, outer = inner_no_path(dtype), outer_no_path(dtype)
    missing = dtype.type(absent)
    ends = tuple(map(dtype.type, extremes(dtype)))
    # As in `cpu.floyd_warshall`, or sums would be rounded in another order.
    panel = PANEL_UNIT if n > PANEL_UNIT else PANEL_UNIT // 2
    lightest, totals = np.empty(count), np.empty(count)
    plain = np.zeros(count, np.bool_)

    def bring_in(first: int, last: int) -> None:
        batch_cpu.import_graphs(
            source, dist, hops, carry, missing, no_path, ends, first, last, lightest, totals
        )
        plain[first:last] = _need_no_care(lightest[first:last], totals[first:last], dtype)

    def bring_out(first: int, last: int) -> None:
        batch_cpu.export_graphs(dist, hops, carry, integer, no_path, outer, plain, first, last)

    def answer(first: int, last: int) -> None:
        bring_in(first, last)
        batch_cpu.close_graphs(dist, hops, carry, panel, no_path, plain, first, last)
        bring_out(first, last)

    if gpu is None:
        batch_cpu.deal(answer, count, n, progress)
        return plain
    batch_cpu.deal(bring_in, count, n)
    _close_on(gpu, dist, hops, plain, progress)
    batch_cpu.deal(bring_out, count, n)
    return plain


def _need_no_care(
    lightest: NDArray[np.float64], totals: NDArray[np.float64], dtype: np.dtype[Any]
) -> NDArray[np.bool_]:
    """Return which graphs have only weights that are numbers, not negative, and surely fit."""

    def fits(total: float) -> bool:
        return surely_fits(WeightSummary(None, 0, 0, total, 0), dtype)

    plain: NDArray[np.bool_] = (lightest >= 0) & ~np.isnan(totals)
    if not fits(totals.max(where=plain, initial=0)):
        plain &= [fits(total) for total in totals.tolist()]
    return plain


def _close_on(
    gpu: Device,
    dist: NDArray[Any],
    hops: NDArray[Any],
    plain: NDArray[np.bool_],
    progress: Callable[[float], None] | None,
) -> None:
    from warpladder.shortest_paths.gpu.batches import close_stack

    if plain.all():
        close_stack(gpu, dist, hops, progress)
        return
    # The others are left as they came.
    some, some_hops = dist[plain], hops[plain]
    close_stack(gpu, some, some_hops, progress)
    dist[plain], hops[plain] = some, some_hops


def _one_by_one(
    graphs: GraphStack,
    indices: Iterable[int],
    dist: NDArray[Any],
    hops: NDArray[Any],
    wishes: Wishes,
    close: Close,
) -> None:
    reported = monotonic()
    for index in indices:
        solution = _solve_one(graphs, index, dist.dtype, wishes, close)
        if solution.dist.dtype != dist.dtype:
            raise _NeedsWiderError(solution.dist.dtype, index)
        dist[index] = solution.dist
        if solution.hops is not None:
            hops[index] = solution.hops
        if wishes.progress and monotonic() - reported >= _SECONDS_BETWEEN_REPORTS:
            reported = monotonic()
            wishes.progress((index + 1) / len(graphs))


def _refuse(graphs: GraphStack, dtype: np.dtype[Any], wishes: Wishes) -> None:
    """Raise for the first graph whose weights cannot be had in a dtype."""
    for index in range(len(graphs)):
        try:
            weights_as(graphs[index], dtype)
        except (InputError, DoesNotFitError):
            _solve_one(graphs, index, dtype, wishes, cpu.floyd_warshall)


def _solve_one(
    graphs: GraphStack, index: int, dtype: np.dtype[Any], wishes: Wishes, close: Close
) -> Solution:
    with naming(index):
        return solve(
            graphs[index],
            dtype,
            widen=wishes.widen,
            next_hops=wishes.next_hops,
            overwrite=False,
            mark=wishes.mark,
            close=close,
            progress=None,
        )
