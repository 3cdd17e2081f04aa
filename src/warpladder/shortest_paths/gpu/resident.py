"""Weights that live on the GPU already: taken without a copy, answered on the GPU.

What `prepare` and `solve` do for matrices of the host is done here by kernels, for the case that
matters: weights of zero or more, and distances that provably fit. Everything else (negative
weights, distances near the limit, next hops that lead in circles, more memory than there is) takes
the careful way over the host, with the GPU closing the matrix, and the answer goes back to the GPU.

Small matrices are closed before anybody has looked at what the weights are: that makes no sense of
those that need care, does no harm, and the host need not wait between two launches. It has to wait
where half of a symmetric matrix is enough, and then sees both at a time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.call import joined
from warpladder.device.foreign import like, numpy_dtype
from warpladder.device.grids import WARP
from warpladder.device.workspace import borrowed_workspace
from warpladder.errors import TooLargeError
from warpladder.shortest_paths.cpu_tiles.symmetry import BY_HALF
from warpladder.shortest_paths.dense import (
    WeightSummary,
    extremes,
    inner_no_path,
    outer_no_path,
    summarise,
)
from warpladder.shortest_paths.forms import Matrix
from warpladder.shortest_paths.gpu.circles import circling
from warpladder.shortest_paths.gpu.close import Plan, close, plan_for
from warpladder.shortest_paths.gpu.engine import floyd_warshall
from warpladder.shortest_paths.gpu.kernels import (
    PARTS_OF_ROW,
    THREADS,
    export_rows,
    find_longest,
    find_unlike,
    import_rows,
    write_first_hops,
)
from warpladder.shortest_paths.graph import Graph
from warpladder.shortest_paths.paths import may_loop
from warpladder.shortest_paths.prepare import all_surely_found, check_summary, surely_fits
from warpladder.shortest_paths.result import ShortestPaths
from warpladder.shortest_paths.solve import Options, solve
from warpladder.shortest_paths.widening import in_fitting_dtype

if TYPE_CHECKING:
    from warpladder.device.base import Device
    from warpladder.device.workspace import Workspace
    from warpladder.shortest_paths.batch import Batch

__all__ = [
    "NeedsHostError",
    "check_kernels_take",
    "import_there",
    "shortest_paths_on_gpu",
    "solve_there",
]

#: Vertices: closing them in vain takes about 6 ms on a fast GPU.
_CLOSED_UNSEEN = 4096


class NeedsHostError(Exception):
    """The weights need the care that only the host can take."""


def shortest_paths_on_gpu(
    given: Matrix, device: Device, dtype: np.dtype[Any], options: Options
) -> ShortestPaths:
    """Find the shortest paths of a graph that is on a GPU, as arrays of the caller's kind.

    Parameters
    ----------
    given
        Any; it is not written to.
    device
        Where it is.
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
    graph = Graph(given)

    def compute(one: np.dtype[Any]) -> tuple[Any, Any, str]:
        return solve_there(device, given, one, options)

    obstacle = ""
    try:
        (dist, hops, how), widened = in_fitting_dtype(compute, dtype, widen=options.widen)
        note = joined(how, widened)
    except NeedsHostError as reason:
        obstacle = str(reason)
    # Not in the handler: as long as the fault lives, so do the arrays of the attempt.
    if obstacle:
        solution = solve(graph, dtype, options, partial(floyd_warshall, device))
        dist = device.to_device(solution.dist)
        hops = None if solution.hops is None else device.to_device(solution.hops)
        note = joined(solution.note, obstacle)
    # Whoever takes the answer may be on a stream that waits for nobody.
    device.synchronize()
    name = f"blocked Floyd-Warshall on {device.properties.name}, where the graph is"
    return ShortestPaths(
        like(dist, given.weights),
        None if hops is None else like(hops, given.weights),
        graph,
        "floyd-warshall",
        joined(name, note),
    )


def check_kernels_take(array: Any, dtype: np.dtype[Any]) -> None:
    """Refuse weights that only the host can bring into a dtype.

    Raises
    ------
    NeedsHostError
        There are none; or they are of a dtype that kernels do not know, or wider than the other:
        kernels have no way to say which weight does not fit.
    """
    given = numpy_dtype(array)
    empty = 0 in tuple(array.shape)
    if empty or given == np.float16 or not (given.isnative and np.can_cast(given, dtype)):
        raise NeedsHostError(f"weights of {given} taken in on the host")


def solve_there(
    device: Device,
    given: Matrix,
    dtype: np.dtype[Any],
    options: Options,
    out: tuple[Any, Any] | None = None,
) -> tuple[Any, Any, str]:
    """Return distances, next hops or None, and how, without a detour over the host.

    Parameters
    ----------
    device, given, dtype, options
        As for `shortest_paths_on_gpu`.
    out
        Where to write them, of shape (n, n); by default new arrays.

    Raises
    ------
    NeedsHostError
        The weights need care that only the host can take.
    DoesNotFitError
        A weight does not fit the dtype.
    """
    n, next_hops = given.n, options.next_hops
    check_kernels_take(given.weights, dtype)
    plan = plan_for(device, n, dtype, carry=next_hops)
    shape = (plan.side, plan.side)
    no_path, outer = inner_no_path(dtype).item(), outer_no_path(dtype).item()
    with borrowed_workspace(device) as space:
        try:
            matrix = space.empty(device, "matrix", shape, plan.dtype)
            rows = space.empty(device, "rows", (3, plan.side), plan.dtype)
            hops = device.empty(shape, np.int32) if next_hops else None
            unlike = _room_to_compare(device, plan, space)
            dist, found = out or (
                device.empty((n, n), dtype),
                device.empty((n, n) if next_hops else (0, 0), np.int32),
            )
        except TooLargeError:
            raise NeedsHostError("not enough memory beside the graph") from None
        import_there(device, import_rows, given, matrix, no_path, rows)
        if unlike is not None:
            # Bit by bit: 0.0 equals -0.0 but may be added up to another zero.
            bits = matrix.view(f"i{plan.dtype.itemsize}")
            device.launch(find_unlike, unlike.shape[::-1], THREADS, bits, unlike)
        look_first = n > _CLOSED_UNSEEN or unlike is not None
        if look_first:
            summary = _summary(device, rows, n, dtype)
        half = unlike is not None and not device.to_host(unlike).any()
        blocks = min(plan.side, 32 * device.properties.multiprocessors)
        if hops is not None:
            device.launch(write_first_hops, blocks, THREADS, matrix, hops, no_path)
        close(device, plan, matrix, hops, no_path, options.progress, half=half, n=n)
        links = found if hops is None else hops
        device.launch(export_rows, blocks, THREADS, matrix, links, dist, found, no_path, outer)
        if not look_first:
            summary = _summary(device, rows, n, dtype)
        if not surely_fits(summary, dtype):
            device.launch(find_longest, blocks, THREADS, matrix, n, no_path, rows)
            longest, misses = device.to_host(rows)[:2, :n]
            if misses.any() and not all_surely_found(longest.max().item(), summary.heaviest, dtype):
                raise NeedsHostError("long distances looked into on the host")
    if next_hops and may_loop(summary.lightest, n, dtype, summary.sum_of_largest):
        _refuse_circles(device, found)
    return dist, found if next_hops else None, BY_HALF if half else ""


def _room_to_compare(device: Device, plan: Plan, space: Workspace) -> Any:
    """Return where `find_unlike` writes; None where it makes no difference what it would find."""
    if not plan.takes_half:
        return None
    return space.empty(device, "unlike", (plan.side // WARP, PARTS_OF_ROW), np.int32)


def _summary(device: Device, rows: Any, n: int, dtype: np.dtype[Any]) -> WeightSummary:
    """Return what the rows contributed; refuse what `check_summary` does, and negative weights."""
    summary = summarise(*device.to_host(rows)[:, :n])
    check_summary(summary, dtype)
    if summary.lightest < 0:
        raise NeedsHostError("negative weights looked into on the host")
    return summary


def _refuse_circles(device: Device, hops: Any) -> None:
    try:
        circles = circling(device, hops).any()
    except TooLargeError:
        raise NeedsHostError("not enough memory beside the graph") from None
    if circles:
        raise NeedsHostError("next hops that led in circles mended on the host")


def import_there(
    device: Device, kernel: Any, given: Matrix | Batch, dist: Any, no_path: Any, found: Any
) -> None:
    """Bring weights into the engine's form by `import_rows` or `import_batch`.

    ``found``, shape (3, rows), receives what each row contributes to a summary, as `summarise`
    takes it, all of it in the dtype of the distances. A column is no less exact in float32 up to
    2**24 vertices, and integers have no NaN to be in one.
    """
    rows = found.shape[1]
    blocks = min(rows, 32 * device.properties.multiprocessors)
    device.launch(
        kernel, blocks, THREADS,
        device.to_device(given.weights), dist, given.no_edge, no_path,
        *extremes(np.dtype(dist.dtype)), found,
    )  # fmt: skip
