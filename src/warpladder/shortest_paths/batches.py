"""Floyd-Warshall for a batch of graphs: all at once where that is safe, one by one where not.

A graph without negative weights whose sums provably fit the dtype needs no care. Such graphs are
brought into the engine's form, closed and brought back in loops over graphs that are compiled
(`batch_cpu`), on all cores, or closed on a GPU in one launch (`gpu.batches`). Every other graph
goes through `solve` on its own: it is refused there, by its number in the batch, or answered with
all the care a single graph is given. If one of them needs a wider dtype, all are done again in
that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.device.simd import vector_unit
from warpladder.errors import InputError
from warpladder.shortest_paths import batch_cpu, cpu
from warpladder.shortest_paths.batch import Batch
from warpladder.shortest_paths.cpu_tiles.tiles import PANEL_UNIT
from warpladder.shortest_paths.dense import (
    extremes,
    hop_matrix,
    inner_no_path,
    outer_no_path,
)
from warpladder.shortest_paths.prepare import (
    all_surely_found,
    may_overwrite,
    sums_fit,
    weights_as,
)
from warpladder.shortest_paths.solve import Close, Options, Solution, solve
from warpladder.shortest_paths.widening import DoesNotFitError

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = [
    "FILLS_A_GPU",
    "BatchSolution",
    "in_one_dtype",
    "need_no_care",
    "one_by_one",
    "solve_batch",
    "what_took_care",
]

FILLS_A_GPU = 1024
"""From so many vertices on, one graph keeps a whole GPU busy."""
_SECONDS_BETWEEN_REPORTS = 0.1


class BatchSolution(NamedTuple):
    """Distances and next hops (None if not wanted) of all graphs, and remarks for people."""

    dist: Any
    hops: Any
    remarks: list[str]


class _NeedsWiderError(Exception):
    """A graph of the batch has a distance that only this dtype holds."""

    def __init__(self, dtype: np.dtype[Any], index: int) -> None:
        self.dtype = dtype
        self.index = index
        super().__init__()


def solve_batch(
    graphs: Batch, dtype: np.dtype[Any], options: Options, gpu: Device | None
) -> BatchSolution:
    """Return all distances of all graphs.

    Parameters
    ----------
    graphs
        The graphs.
    dtype
        In which to compute.
    options
        As for `solve`.
    gpu
        Where to, or None for the CPU.
    """

    def compute(tried: np.dtype[Any]) -> BatchSolution:
        dist, hops, remarks = _solve_in(graphs, tried, options, gpu)
        links = hops.astype(np.int32, copy=False) if options.next_hops else None
        return BatchSolution(dist, links, remarks)

    return in_one_dtype(compute, dtype)


def in_one_dtype(
    compute: Callable[[np.dtype[Any]], BatchSolution], dtype: np.dtype[Any]
) -> BatchSolution:
    """Return what ``compute`` gives in a dtype that holds the distances of all graphs.

    ``compute`` uses `one_by_one`, which finds a graph that needs a wider one.
    """
    tried, notes = dtype, []
    while True:
        try:
            solution = compute(tried)
        except _NeedsWiderError as found:
            tried = found.dtype
            notes = [
                f"{tried.name} because {dtype.name} cannot hold a distance of graph {found.index}"
            ]
        else:
            return solution._replace(remarks=solution.remarks + notes)


def _solve_in(
    graphs: Batch, dtype: np.dtype[Any], options: Options, gpu: Device | None
) -> tuple[NDArray[Any], NDArray[Any], list[str]]:
    n, count = graphs.n, len(graphs)
    together = n < FILLS_A_GPU if gpu else n <= cpu.SERIAL_UP_TO
    try:
        source, absent, is_ours = weights_as(graphs, dtype)
    except (InputError, DoesNotFitError):
        _refuse(graphs, dtype, options)
        raise
    # The rows of all graphs are rows of one matrix here.
    rows = source.reshape(count * n, n)
    used_up = options.overwrite and not options.next_hops
    in_place = is_ours or may_overwrite(rows, absent, used_up)
    dist = source if in_place else np.empty_like(source)
    shape = (count, n, n) if options.next_hops else (count, 0, 0)
    hops = np.empty(shape, hop_matrix(dtype, n, wanted=False).dtype)
    workers = batch_cpu.workers_for(count, n) if together else cpu.workers_for(n)
    cores = f"{workers} CPU core{'s' if workers > 1 else ''} ({vector_unit().name})"
    where = gpu.properties.name if gpu else cores

    def store(index: int, solution: Solution) -> None:
        dist[index] = solution.dist
        if solution.hops is not None:
            hops[index] = solution.hops

    if not together:
        close: Close = cpu.floyd_warshall
        if gpu:
            from warpladder.shortest_paths.gpu import engine

            close = partial(engine.floyd_warshall, gpu)
        one_by_one(graphs, range(count), dtype, options, close, store)
        return dist, hops, [f"{where}, {count:,} graphs one by one"]

    plain = _all_at_once(source, absent, dist, hops, gpu, options.progress)
    careful = np.flatnonzero(~plain).tolist()
    # Below the size at which a GPU pays for one graph, these are closed on the CPU.
    one_by_one(graphs, careful, dtype, options, cpu.floyd_warshall, store)
    return (
        dist,
        hops,
        [f"{where}, {count:,} graphs at once", *what_took_care(careful, "on the CPU")],
    )


def what_took_care(careful: Sequence[int], place: str) -> list[str]:
    """Return the remark on graphs that were not answered together with the others."""
    if not careful:
        return []
    reasons = "for weights below zero, distances that might not fit or cycles of weight 0"
    return [f"{len(careful):,} of them one by one {place}, {reasons}"]


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
    heaviest, longest = np.empty(count, dtype), np.zeros(count, dtype)
    plain, fits, misses = (np.zeros(count, np.bool_) for _ in range(3))

    def bring_in(first: int, last: int) -> None:
        batch_cpu.import_graphs(
            source, dist, hops, carry, missing, no_path, ends, first, last,
            lightest, heaviest, totals,
        )  # fmt: skip
        part = slice(first, last)
        plain[part] = need_no_care(lightest[part], heaviest[part], totals[part], dtype)
        fits[part] = sums_fit(totals[part], dtype)

    def bring_out(first: int, last: int) -> None:
        part = slice(first, last)
        if not fits[part].all():
            batch_cpu.find_longest(dist, no_path, plain & ~fits, first, last, longest, misses)
            is_proved = all_surely_found(longest[part], heaviest[part], dtype)
            plain[part] &= fits[part] | ~misses[part] | is_proved
        batch_cpu.export_graphs(dist, hops, carry, integer, no_path, outer, plain, first, last)

    def answer(first: int, last: int) -> None:
        bring_in(first, last)
        batch_cpu.close_graphs(dist, hops, carry, panel, no_path, plain, first, last)
        bring_out(first, last)

    def tell(fraction: float) -> None:
        # Graphs that need care are yet to come.
        if progress:
            progress(min(fraction, float(plain.mean())))

    if gpu is None:
        batch_cpu.deal(answer, count, n, tell if progress else None)
        return plain
    batch_cpu.deal(bring_in, count, n)
    share = float((plain & fits).mean()) if count else 1.0
    _close_on(gpu, dist, hops, plain, progress and (lambda fraction: progress(share * fraction)))
    batch_cpu.deal(bring_out, count, n)
    return plain


def need_no_care(
    lightest: NDArray[np.float64],
    heaviest: NDArray[Any],
    totals: NDArray[np.float64],
    dtype: np.dtype[Any],
) -> NDArray[np.bool_]:
    """Return which graphs have only weights that are numbers, not negative, and fit."""
    plain: NDArray[np.bool_] = (lightest >= 0) & (heaviest < inner_no_path(dtype))
    plain &= ~np.isnan(totals)
    return plain


def _close_on(
    gpu: Device,
    dist: NDArray[Any],
    hops: NDArray[Any],
    plain: NDArray[np.bool_],
    progress: Callable[[float], None] | None,
) -> None:
    from warpladder.shortest_paths.gpu.batches import close_batch

    if plain.all():
        close_batch(gpu, dist, hops, progress)
        return
    # The others are left as they came.
    some, some_hops = dist[plain], hops[plain]
    close_batch(gpu, some, some_hops, progress)
    dist[plain], hops[plain] = some, some_hops


def one_by_one(
    graphs: Batch,
    indices: Sequence[int],
    dtype: np.dtype[Any],
    options: Options,
    close: Close,
    store: Callable[[int, Solution], None],
) -> None:
    """Answer for some graphs of a batch with the care that a single one is given.

    Parameters
    ----------
    graphs
        All of them.
    indices
        Which graphs; all others are answered already.
    dtype
        Of all answers.
    options
        As for `solve_batch`.
    close
        The engine.
    store
        Takes each answer, with its index.
    """
    reported = monotonic()
    for done, index in enumerate(indices, 1 + len(graphs) - len(indices)):
        solution = _solve_one(graphs, index, dtype, options, close)
        if solution.dist.dtype != dtype:
            raise _NeedsWiderError(solution.dist.dtype, index)
        store(index, solution)
        due = done == len(graphs) or monotonic() - reported >= _SECONDS_BETWEEN_REPORTS
        if options.progress and due:
            reported = monotonic()
            options.progress(done / len(graphs))


def _refuse(graphs: Batch, dtype: np.dtype[Any], options: Options) -> None:
    """Raise for the first graph whose weights cannot be had in a dtype, if in a wider one."""
    for index in range(len(graphs)):
        try:
            weights_as(graphs[index].given, dtype)
        except (InputError, DoesNotFitError):
            solution = _solve_one(graphs, index, dtype, options, cpu.floyd_warshall)
            raise _NeedsWiderError(solution.dist.dtype, index) from None


def _solve_one(
    graphs: Batch, index: int, dtype: np.dtype[Any], options: Options, close: Close
) -> Solution:
    alone = options._replace(overwrite=False, progress=None)
    return solve(graphs[index], dtype, alone, close)
