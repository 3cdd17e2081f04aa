"""Batches of graphs that live on the GPU already: answered there, like single ones in `resident`.

Graphs that need no care are brought into the engine's form, closed and brought back by kernels, all
of them at once where they are small and one after another where each fills the GPU. What comes to
the host are three numbers for each row of weights, which tell who needs care. Those few are solved
on the host, and their answers put in their places.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.call import joined
from warpladder.device.foreign import like
from warpladder.errors import InputError, TooLargeError
from warpladder.shortest_paths import batches, cpu
from warpladder.shortest_paths.batch import Batch
from warpladder.shortest_paths.batch_result import ShortestPathsBatch
from warpladder.shortest_paths.batches import BatchSolution, in_one_dtype, one_by_one
from warpladder.shortest_paths.dense import inner_no_path, outer_no_path
from warpladder.shortest_paths.forms import Matrix
from warpladder.shortest_paths.gpu import engine
from warpladder.shortest_paths.gpu.batches import close_there
from warpladder.shortest_paths.gpu.circles import circling
from warpladder.shortest_paths.gpu.kernels import THREADS, export_rows, find_longest, import_batch
from warpladder.shortest_paths.gpu.resident import (
    NeedsHostError,
    check_kernels_take,
    import_there,
    solve_there,
)
from warpladder.shortest_paths.paths import may_loop
from warpladder.shortest_paths.prepare import all_surely_found, sums_fit
from warpladder.shortest_paths.widening import DoesNotFitError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.solve import Close, Options, Solution

__all__ = ["shortest_paths_of_batch_on_gpu"]


def shortest_paths_of_batch_on_gpu(
    graphs: Batch, device: Device, dtype: np.dtype[Any], options: Options
) -> ShortestPathsBatch:
    """Find the shortest paths of graphs that are on a GPU, as arrays of the caller's kind.

    Parameters
    ----------
    graphs
        Any; they are not written to.
    device
        Where they are.
    dtype
        In which to compute.
    options
        What else is asked for.

    Raises
    ------
    InputError
        A weight is NaN or -inf.
    NegativeCycleError, DistanceOverflowError
        As for `warpladder.shortest_paths`.
    """
    obstacle = ""
    try:
        solution = in_one_dtype(partial(_solve_in, graphs, device, options), dtype)
    except NeedsHostError as reason:
        obstacle = str(reason)
    # Not in the handler: as long as the fault lives, so do the arrays of the attempt.
    if obstacle:
        found = batches.solve_batch(graphs.on_host, dtype, options, device)
        hops = None if found.hops is None else device.to_device(found.hops)
        remarks = [*found.remarks, obstacle]
        solution = BatchSolution(device.to_device(found.dist), hops, remarks)
    # Whoever takes the answer may be on a stream that waits for nobody.
    device.synchronize()
    how, *remarks = solution.remarks
    why = joined(f"blocked Floyd-Warshall on {how}", *remarks)
    return ShortestPathsBatch(
        like(solution.dist, graphs.weights),
        None if solution.hops is None else like(solution.hops, graphs.weights),
        graphs,
        "floyd-warshall",
        why,
    )


def _solve_in(
    graphs: Batch, device: Device, options: Options, dtype: np.dtype[Any]
) -> BatchSolution:
    count, n = len(graphs), graphs.n
    check_kernels_take(graphs.weights, dtype)
    try:
        dist = device.empty((count, n, n), dtype)
        hops: Any = device.empty((count, n, n), np.int32) if options.next_hops else None
        close: Close = cpu.floyd_warshall
        if n < batches.FILLS_A_GPU:
            careful = _all_at_once(graphs, device, options, dist, hops)
            how, place = "at once", "on the CPU"
        else:
            careful = _each_alone(graphs, device, options, dist, hops)
            how, place = "one by one", "by way of the host"
            close = partial(engine.floyd_warshall, device)
    except TooLargeError:
        raise NeedsHostError("not enough memory beside the graphs") from None

    def store(index: int, solution: Solution) -> None:
        device.to_device(solution.dist, out=dist[index])
        if solution.hops is not None:
            device.to_device(solution.hops, out=hops[index])

    one_by_one(graphs, careful, dtype, options, close, store)
    where = f"{device.properties.name}, where the graphs are, {count:,} graphs {how}"
    return BatchSolution(dist, hops, [where, *batches.what_took_care(careful, place)])


def _all_at_once(
    graphs: Batch, device: Device, options: Options, dist: Any, hops: Any
) -> list[int]:
    """Answer for all graphs that need no care; return the others."""
    count, n, _ = dist.shape
    dtype = np.dtype(dist.dtype)
    no_path, outer = inner_no_path(dtype).item(), outer_no_path(dtype).item()
    lightest, heaviest, totals = _import(graphs, device, dist, no_path)
    plain = batches.need_no_care(lightest, heaviest, totals, dtype)
    fits = sums_fit(totals, dtype)
    may_circle = np.zeros(count, np.bool_)
    if hops is not None:
        may_circle[:] = [
            may_loop(low, n, dtype, total) for low, total in zip(lightest, totals, strict=True)
        ]
    share = float((plain & fits & ~may_circle).mean())
    progress = options.progress
    # Those that need care are closed too, which makes no sense of them and does no harm.
    close_there(device, dist, hops, progress and (lambda fraction: progress(share * fraction)))
    rows = dist.reshape(count * n, n)
    links = device.empty((0, 0), np.int32) if hops is None else hops.reshape(count * n, n)
    blocks = min(count * n, 32 * device.properties.multiprocessors)
    if not fits[plain].all():
        found = device.empty((2, count * n), dtype)
        device.launch(find_longest, blocks, THREADS, rows, n, no_path, found)
        longest, misses = device.to_host(found).reshape(2, count, n).max(axis=2)
        plain &= fits | (misses == 0) | all_surely_found(longest, heaviest, dtype)
    # In place: each thread reads what it then writes.
    device.launch(export_rows, blocks, THREADS, rows, links, rows, links, no_path, outer)
    if may_circle.any():
        try:
            plain &= ~circling(device, links)
        except TooLargeError:
            # No room to look: the host does, for these alone.
            plain &= ~may_circle
    return np.flatnonzero(~plain).tolist()


def _import(
    graphs: Batch, device: Device, dist: Any, no_path: Any
) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[np.float64]]:
    """Bring all weights into the engine's form.

    Returns of each graph its lightest edge, its heaviest, 0 if none is above, and the sum over its
    vertices of the heaviest edge that leaves each: NaN where a weight is.
    """
    count, n, _ = dist.shape
    found = device.empty((3, count * n), dist.dtype)
    import_there(device, import_batch, graphs, dist, no_path, found)
    high, low, nan = device.to_host(found).reshape(3, count, n)
    high = np.maximum(high, 0)
    with np.errstate(over="ignore"):
        totals = high.sum(axis=1, dtype=np.float64)
    totals[(nan >= 0).any(axis=1)] = np.nan
    return low.min(axis=1).astype(np.float64), high.max(axis=1), totals


def _each_alone(graphs: Batch, device: Device, options: Options, dist: Any, hops: Any) -> list[int]:
    """Answer for all graphs that need no care, one after another; return the others."""
    count, silently = len(graphs), options._replace(progress=None)
    nobody = device.empty((0, 0), np.int32)
    careful = []
    for index in range(count):
        matrix = Matrix(graphs.weights[index], graphs.no_edge)
        out = dist[index], nobody if hops is None else hops[index]
        try:
            solve_there(device, matrix, np.dtype(dist.dtype), silently, out)
        except (NeedsHostError, DoesNotFitError, InputError):
            # The host says what is wrong, and of which graph; or it is right after all.
            careful.append(index)
        if options.progress:
            options.progress((index + 1 - len(careful)) / count)
    return careful
