"""Weights that live on the GPU already: taken without a copy, answered on the GPU.

What `prepare` and `solve` do for matrices of the host is done here by kernels, for the case that
matters: weights of zero or more whose sums provably fit. Everything else (negative weights, sums
that may overflow, cycles of weight zero, more memory than there is) takes the careful way over the
host, with the GPU closing the matrix, and the answer goes back to the GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warpladder.device.foreign import like, numpy_dtype, to_numpy
from warpladder.errors import InputError, TooLargeError
from warpladder.shortest_paths.dense import (
    WeightSummary,
    extremes,
    inner_no_path,
    outer_no_path,
    summarise,
)
from warpladder.shortest_paths.gpu.close import close, plan_for
from warpladder.shortest_paths.gpu.engine import floyd_warshall
from warpladder.shortest_paths.gpu.kernels import (
    THREADS,
    export_rows,
    import_rows,
    write_first_hops,
)
from warpladder.shortest_paths.graph import Graph, distance_dtype
from warpladder.shortest_paths.no_edge import absent_value
from warpladder.shortest_paths.paths import may_loop
from warpladder.shortest_paths.prepare import check_summary, surely_fits
from warpladder.shortest_paths.result import ShortestPaths
from warpladder.shortest_paths.solve import solve
from warpladder.shortest_paths.widening import in_fitting_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device

__all__ = ["ResidentGraph", "as_resident", "shortest_paths_on_gpu"]


@dataclass(frozen=True, eq=False)
class ResidentGraph(Graph):
    """A graph whose matrix of weights is on a GPU."""

    @cached_property
    def on_host(self) -> Graph:
        """The same graph with its weights on the host, copied on first use."""
        matrix = to_numpy(self.matrix)
        nobody = self.sources
        return Graph(self.n, nobody, nobody, None, matrix, self.no_edge, None, directed=True)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Where there is an edge, shape (n, n), on the host."""
        return self.on_host.present


class NeedsHostError(Exception):
    """The weights need the care that only the host can take."""


class Answer(NamedTuple):
    """Distances and next hops (or None) on the GPU, and what there is to say about the dtype."""

    dist: Any
    hops: Any
    note: str


def as_resident(graph: Any, no_edge: Any) -> ResidentGraph:
    """Return a graph for an array that is on a GPU.

    Parameters
    ----------
    graph
        For which `warpladder.device.foreign.is_on_gpu` holds.
    no_edge
        As for `shortest_paths`.

    Raises
    ------
    InputError
        The matrix is not square.
    InputTypeError
        The dtype is none that is taken.
    """
    shape = tuple(graph.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"graph: a matrix of weights must be square, this has shape {shape}")
    return resident(graph, absent_of(graph, no_edge))


def resident(matrix: Any, absent: Any) -> ResidentGraph:
    """Return a graph for a square matrix on a GPU, in which ``absent`` means "no edge"."""
    nobody = np.empty(0, np.int64)
    return ResidentGraph(len(matrix), nobody, nobody, None, matrix, absent, None, directed=True)


def absent_of(array: Any, no_edge: Any) -> Any:
    """Return what means "no edge" in weights on a GPU.

    Raises
    ------
    InputError
        No weight of that dtype can be ``no_edge``.
    InputTypeError
        The dtype is none that is taken.
    """
    dtype = numpy_dtype(array)
    distance_dtype(dtype, "graph")
    return absent_value(dtype, no_edge)


def shortest_paths_on_gpu(
    graph: ResidentGraph,
    device: Device,
    dtype: np.dtype[Any] | None,
    *,
    next_hops: bool,
    mark: bool,
    progress: Callable[[float], None] | None,
) -> ShortestPaths:
    """Find the shortest paths of a graph that is on a GPU, as arrays of the caller's kind.

    Parameters
    ----------
    graph
        Any; it is not written to.
    device
        Where it is.
    dtype
        In which to compute; by default that of the weights, or a wider one where it is too narrow.
    next_hops
        Whether to carry next hops.
    mark
        Whether pairs affected by a negative cycle are marked instead of refused.
    progress
        Called with the fraction done.

    Raises
    ------
    InputError
        A weight is NaN or -inf.
    NegativeCycleError, DistanceOverflowError
        As for `warpladder.shortest_paths`.
    """
    tried = dtype or distance_dtype(numpy_dtype(graph.matrix), "graph")
    widen = dtype is None

    def compute(one: np.dtype[Any]) -> tuple[Any, Any]:
        return solve_there(device, graph, one, next_hops, progress)

    obstacle = ""
    try:
        (dist, hops), note = in_fitting_dtype(compute, tried, widen=widen)
        answer = Answer(dist, hops, note)
    except NeedsHostError as reason:
        obstacle = str(reason)
    # Not in the handler: as long as the fault lives, so do the arrays of the attempt.
    if obstacle:
        answer = _solved_by_way_of_the_host(device, graph, tried, widen, next_hops, mark, progress)
        answer = answer._replace(note="; ".join(filter(None, [answer.note, obstacle])))
    # Whoever takes the answer may be on a stream that waits for nobody.
    device.synchronize()
    name = f"blocked Floyd-Warshall on {device.properties.name}, where the graph is"
    return ShortestPaths(
        like(answer.dist, graph.matrix),
        None if answer.hops is None else like(answer.hops, graph.matrix),
        graph,
        "floyd-warshall",
        "; ".join(filter(None, [name, answer.note])),
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
    graph: ResidentGraph,
    dtype: np.dtype[Any],
    next_hops: bool,
    progress: Callable[[float], None] | None,
    out: tuple[Any, Any] | None = None,
) -> tuple[Any, Any]:
    """Return distances, and next hops or None, without a detour over the host.

    Parameters
    ----------
    device, graph, dtype, next_hops, progress
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
    n = graph.n
    check_kernels_take(graph.matrix, dtype)
    plan = plan_for(device, n, dtype, carry=next_hops)
    shape = (plan.side, plan.side)
    no_path, outer = inner_no_path(dtype).item(), outer_no_path(dtype).item()
    try:
        matrix = device.empty(shape, plan.dtype)
        hops = device.empty(shape, np.int32) if next_hops else None
        dist, found = out or (
            device.empty((n, n), dtype),
            device.empty((n, n) if next_hops else (0, 0), np.int32),
        )
    except TooLargeError:
        raise NeedsHostError("not enough memory beside the graph") from None
    summary = _import(device, graph, matrix, no_path)
    check_summary(summary, dtype)
    may_circle = next_hops and may_loop(summary.lightest, n, dtype, summary.sum_of_largest)
    if summary.lightest < 0 or not surely_fits(summary, dtype) or may_circle:
        what = "negative weights" if summary.lightest < 0 else "zero weights or long distances"
        raise NeedsHostError(f"{what} looked into on the host")
    blocks = min(plan.side, 32 * device.properties.multiprocessors)
    if hops is not None:
        device.launch(write_first_hops, blocks, THREADS, matrix, hops, no_path)
    close(device, plan, matrix, hops, no_path, progress)
    links = found if hops is None else hops
    device.launch(export_rows, blocks, THREADS, matrix, links, dist, found, no_path, outer)
    return dist, found if next_hops else None


def _import(device: Device, graph: ResidentGraph, matrix: Any, no_path: Any) -> WeightSummary:
    side = matrix.shape[0]
    kind = np.dtype(matrix.dtype)
    largest, smallest = device.empty(side, kind), device.empty(side, kind)
    nan_columns = device.empty(side, np.int32)
    blocks = min(side, 32 * device.properties.multiprocessors)
    assert graph.matrix is not None  # noqa: S101 - what makes it resident
    source = device.to_device(graph.matrix)
    device.launch(
        import_rows, blocks, THREADS,
        source, matrix, graph.no_edge, no_path, *extremes(kind), largest, smallest, nan_columns,
    )  # fmt: skip
    rows = (device.to_host(array)[: graph.n] for array in (largest, smallest, nan_columns))
    return summarise(*rows)


def _solved_by_way_of_the_host(
    device: Device,
    graph: ResidentGraph,
    dtype: np.dtype[Any],
    widen: bool,
    next_hops: bool,
    mark: bool,
    progress: Callable[[float], None] | None,
) -> Answer:
    solution = solve(
        graph.on_host,
        dtype,
        widen=widen,
        next_hops=next_hops,
        overwrite=False,
        mark=mark,
        close=partial(floyd_warshall, device),
        progress=progress,
    )
    hops = None if solution.hops is None else device.to_device(solution.hops)
    return Answer(device.to_device(solution.dist), hops, solution.note)
