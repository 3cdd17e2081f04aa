"""The library call: `shortest_paths`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import DTypeLike

from warpladder.device.environment import require_compiler
from warpladder.device.foreign import device_of, is_on_gpu, numpy_dtype
from warpladder.device.host_memory import require_memory
from warpladder.device.select import choose_device, gpu
from warpladder.device.simd import vector_unit
from warpladder.errors import InputError, InputTypeError, TooLargeError
from warpladder.shortest_paths.graph import Graph, asked_dtype, distance_dtype
from warpladder.shortest_paths.intake import as_graph
from warpladder.shortest_paths.result import ShortestPaths
from warpladder.shortest_paths.rounding import holds_all, remark_on_rounding
from warpladder.shortest_paths.stack import as_stack, is_stack

if TYPE_CHECKING:
    from warpladder.device.base import Device
    from warpladder.device.select import Choice
    from warpladder.shortest_paths.batch_result import ShortestPathsBatch
    from warpladder.shortest_paths.solve import Close

__all__ = ["default_dtype", "shortest_paths"]

_METHODS = ("auto", "floyd-warshall", "dijkstra")
_NEGATIVE_CYCLE = ("raise", "mark")
# Below this even the start of processes for Dijkstra costs more than Floyd-Warshall.
_SPARSE_FROM = 2048
_EXACT_IN_FLOAT64 = 2.0**53
# H200 and 16 cores, from the host and back: 3.8 ms against 3.9 here, 6.3 against 12.7 at 1024. So
# it is for stacks: 60 graphs of 512 take 30 ms against 231, 500 of 256 take 63 against 43.
_GPU_FROM = 512


class _Method(NamedTuple):
    name: str
    why: str


class _Engine(NamedTuple):
    """What closes a prepared matrix: for people, the call, and an estimate of its seconds."""

    name: str
    close: Close
    seconds: Callable[[int, np.dtype[Any]], float]


class _Options(TypedDict, total=False):
    """The keyword arguments of `shortest_paths`, for type checkers."""

    dtype: DTypeLike | None
    next_hops: bool
    method: Literal["auto", "floyd-warshall", "dijkstra"]
    device: Literal["auto", "cpu", "cuda"] | Device
    overwrite: bool
    negative_cycle: Literal["raise", "mark"]
    no_edge: float
    progress: Callable[[float], None] | None


@overload
def shortest_paths(
    graph: np.ndarray[tuple[int, int, int], np.dtype[Any]], **options: Unpack[_Options]
) -> ShortestPathsBatch: ...


@overload
def shortest_paths(graph: Any, **options: Unpack[_Options]) -> ShortestPaths: ...


def shortest_paths(
    graph: Any,
    *,
    dtype: DTypeLike | None = None,
    next_hops: bool = False,
    method: Literal["auto", "floyd-warshall", "dijkstra"] = "auto",
    device: Literal["auto", "cpu", "cuda"] | Device = "auto",
    overwrite: bool = False,
    negative_cycle: Literal["raise", "mark"] = "raise",
    no_edge: float = np.inf,
    progress: Callable[[float], None] | None = None,
) -> ShortestPaths | ShortestPathsBatch:
    """Find the shortest paths between all pairs of vertices.

    Parameters
    ----------
    graph
        A dense matrix of weights, shape (n, n), as an array, nested lists or a pandas DataFrame,
        whose labels then name the vertices; a `Graph`; a scipy.sparse matrix or array (its
        stored entries are the edges, explicit zeros too); a NetworkX graph (edge attribute
        ``weight``, 1 where it is missing); or ``(sources, targets, weights)``. In a dense matrix a
        0 is an edge of weight 0, **unlike SciPy's rule for dense input**; what means "no edge" is
        ``no_edge``. The diagonal counts as 0 unless it is negative. Of parallel edges the lightest
        counts.

        Many graphs of one size are answered together if they come as an array of shape (b, n, n),
        as ``numpy.stack(matrices)`` makes it: thousands of small ones much faster than in a loop.
        All else is then said of each graph, and errors name it (``graph 3: ...``).

        Matrices and stacks that are on a GPU already, as arrays of CuPy, PyTorch or Numba, are
        answered there.
    dtype
        Of the distances: int16, int32, int64, float32 or float64. By default that of the weights;
        smaller integers, bool and float16 go to the next of these, edges without weights to int16
        or int32. Integers that the dtype asked for would round are refused; that it rounds other
        weights is said in `why`.
    next_hops
        Whether to find the paths too, not only their lengths; takes about twice the time.
    method
        ``"floyd-warshall"`` (blocked, O(n^3) whatever the edges), ``"dijkstra"`` (one run per
        source on all cores, for sparse graphs without negative weights; extra ``sparse``) or
        ``"auto"``, which estimates both.
    device
        ``"cpu"``; ``"cuda"``, the first GPU; ``"auto"``, a GPU where there is one and the graph is
        not small; or a `warpladder.device.base.Device`: ``CudaDevice(1)`` for another GPU, a
        `SimulatedDevice` to watch the engine at work.
    overwrite
        Whether a C-ordered NumPy matrix may be used up for the result, to save memory; it then
        holds the distances. It is left alone where next hops or a wider dtype could need it again.
    negative_cycle
        ``"raise"`` a `NegativeCycleError` that carries the cycle's vertices, or ``"mark"`` the
        pairs that a negative cycle lies between with `ShortestPaths.unbounded` and answer all
        others.
    no_edge
        The value that means "no edge" in a dense matrix: by default infinity, and for integers the
        largest value of their type. Infinity always means it. It is compared exactly, as a value of
        the matrix's dtype; for integers one that they cannot hold is refused, but NaN and -inf
        stand for the default.
    progress
        Called about ten times a second, in the calling thread, with the fraction done, while all
        cores are at work; not at all for a few hundred vertices.

    Returns
    -------
    ShortestPaths
        Distances in `ShortestPaths.dist_matrix`; infinity, or the largest value of an integer dtype
        (`ShortestPaths.unreachable`), where there is no path.
    ShortestPathsBatch
        For an array of graphs: distances of shape (b, n, n), of one dtype, and a `ShortestPaths`
        of each graph by its index.

    Raises
    ------
    InputError
        The graph is not square, a weight is NaN or -inf, ``dtype`` would round an integer,
        ``no_edge`` can be no weight, an option is unknown.
    InputTypeError
        The graph or its dtype is of a kind that is not taken.
    NegativeCycleError
        There is a negative cycle.
    DistanceOverflowError
        A distance does not fit ``dtype``. Without ``dtype`` the next wider one is taken instead,
        and `why` says so.
    TooLargeError
        The matrices would not fit the memory that this process may still take: what the machine has
        free, its control groups (containers) or ``ulimit`` allow.
    DeviceError
        The device is not there, or NUMBA_DISABLE_JIT is set.
    MissingExtraError
        ``method="dijkstra"`` without SciPy.

    Notes
    -----
    Cost O(n^3) relaxations and n^2 numbers for Floyd-Warshall. An integer distance is exact or
    refused: an integer dtype holds distances below half its range. A float distance is the rounded
    sum along its path, with a relative error of at most n units in the last place for weights of
    one sign. Whether a cycle is negative is decided with sums of 106 bits, from the weights as
    ``dtype`` holds them.

    Where two paths have the same length, which one `ShortestPaths.next_hops` follows is not
    specified.

    References
    ----------
    .. [1] Floyd (1962), "Algorithm 97"; Warshall (1962), "A theorem on Boolean matrices".
    .. [2] Venkataraman, Sahni, Mukhopadhyaya, "A blocked all-pairs shortest-paths algorithm", 2003.

    Examples
    --------
    >>> import numpy as np, warpladder as wl
    >>> inf = np.inf
    >>> roads = np.array([[0, 4, inf], [inf, 0, 7], [1, inf, 0]])
    >>> answer = wl.shortest_paths(roads, next_hops=True)
    >>> answer.dist_matrix
    array([[ 0.,  4., 11.],
           [ 8.,  0.,  7.],
           [ 1.,  5.,  0.]])
    >>> answer.path(1, 0)
    [1, 2, 0]

    The same roads, and half as long:

    >>> batch = wl.shortest_paths(np.stack([roads, roads / 2]), next_hops=True)
    >>> batch.dist_matrix[:, 1, 0]
    array([8., 4.])
    >>> [each.path(1, 0) for each in batch]
    [[1, 2, 0], [1, 2, 0]]
    """
    require_compiler()
    _check_option("method", method, _METHODS)
    _check_option("negative_cycle", negative_cycle, _NEGATIVE_CYCLE)
    if progress is not None and not callable(progress):
        raise InputTypeError(
            f"progress must be a function of the fraction done, not {type(progress).__name__}"
        )
    if is_on_gpu(graph):
        return _on_gpu(graph, dtype, next_hops, method, device, negative_cycle, no_edge, progress)
    if is_stack(graph):
        return _of_stack(
            graph, dtype, next_hops, method, device, overwrite, negative_cycle, no_edge, progress
        )
    known = as_graph(graph, no_edge)
    choice = choose_device(device, too_small=_too_small(known.n))
    asked = asked_dtype(dtype)
    kind = asked or default_dtype(known)
    _check_memory(known, kind, next_hops=next_hops, overwrite=overwrite)
    rounded = remark_on_rounding(known, kind)
    engine = _engine(choice, device, known.n)
    chosen = _choose_method(known, kind, method, engine)
    with _naming_memory(f"between {known.n:,} vertices"):
        if chosen.name == "dijkstra":
            why = "; ".join(filter(None, [chosen.why, rounded]))
            return _by_source(known, kind, asked is None, next_hops, why, progress)
        from warpladder.shortest_paths.solve import solve

        solution = solve(
            known,
            kind,
            widen=asked is None,
            next_hops=bool(next_hops),
            overwrite=bool(overwrite),
            mark=negative_cycle == "mark",
            close=engine.close,
            progress=progress,
        )
    remarks = [chosen.why, solution.note, rounded, choice.why if device == "auto" else ""]
    why = "; ".join([f"blocked Floyd-Warshall on {engine.name}", *filter(None, remarks)])
    return ShortestPaths(solution.dist, solution.hops, known, "floyd-warshall", why)


def _on_gpu(
    graph: Any,
    dtype: DTypeLike | None,
    next_hops: bool,
    method: str,
    device: Any,
    negative_cycle: str,
    no_edge: float,
    progress: Callable[[float], None] | None,
) -> ShortestPaths | ShortestPathsBatch:
    from warpladder.shortest_paths.batches import Wishes
    from warpladder.shortest_paths.gpu.resident import as_resident, shortest_paths_on_gpu
    from warpladder.shortest_paths.gpu.resident_stack import (
        ResidentStack,
        as_resident_stack,
        shortest_paths_of_stack_on_gpu,
    )

    known = as_resident_stack(graph, no_edge) if is_stack(graph) else as_resident(graph, no_edge)
    there = device_of(graph, device, "graph")
    if method == "dijkstra":
        raise InputError('method="dijkstra": the graph is a dense matrix; use "floyd-warshall"')
    asked = asked_dtype(dtype)
    mark, hops = negative_cycle == "mark", bool(next_hops)
    rounded = ""
    if asked and not holds_all(numpy_dtype(graph), asked):
        here = known.all_on_host() if isinstance(known, ResidentStack) else known.on_host
        rounded = remark_on_rounding(here, asked)
    answer: ShortestPaths | ShortestPathsBatch
    if isinstance(known, ResidentStack):
        wishes = Wishes(asked is None, hops, overwrite=False, mark=mark, progress=progress)
        answer = shortest_paths_of_stack_on_gpu(known, there, asked, wishes)
    else:
        answer = shortest_paths_on_gpu(
            known, there, asked, next_hops=hops, mark=mark, progress=progress
        )
    return replace(answer, why=f"{answer.why}; {rounded}") if rounded else answer


def _of_stack(
    stack: Any,
    dtype: DTypeLike | None,
    next_hops: bool,
    method: str,
    device: Any,
    overwrite: bool,
    negative_cycle: str,
    no_edge: float,
    progress: Callable[[float], None] | None,
) -> ShortestPathsBatch:
    from warpladder.shortest_paths.batch_result import ShortestPathsBatch
    from warpladder.shortest_paths.batches import Wishes, solve_stack

    known = as_stack(stack, no_edge)
    choice = choose_device(device, too_small=_too_small(known.n))
    if method == "dijkstra":
        raise InputError('method="dijkstra": graphs are dense matrices; use "floyd-warshall"')
    asked = asked_dtype(dtype)
    kind = asked or default_dtype(known)
    _check_memory(known, kind, next_hops=next_hops, overwrite=overwrite, graphs=len(known))
    rounded = remark_on_rounding(known, kind)
    mark = negative_cycle == "mark"
    wishes = Wishes(asked is None, bool(next_hops), bool(overwrite), mark, progress)
    on = None if choice.device == "cpu" else gpu() if isinstance(device, str) else device
    with _naming_memory(f"of {len(known):,} graphs of {known.n:,} vertices"):
        solution = solve_stack(known, kind, wishes, on)
    remarks = [*solution.remarks, rounded, choice.why if device == "auto" else ""]
    why = "; ".join(["blocked Floyd-Warshall on " + remarks[0], *filter(None, remarks[1:])])
    return ShortestPathsBatch(solution.dist, solution.hops, known, "floyd-warshall", why)


@contextmanager
def _naming_memory(whose: str) -> Iterator[None]:
    """Say what it is that the machine's memory does not hold."""
    try:
        yield
    except TooLargeError:
        # A GPU's memory, about which more has been said already.
        raise
    except MemoryError:
        raise TooLargeError(
            f"graph: the memory at hand does not hold all distances {whose}"
        ) from None


def _too_small(n: int) -> str:
    """Return why a graph is left to the CPU, or nothing."""
    return f"{n:,} vertices are too few for a GPU" if n < _GPU_FROM else ""


def _engine(choice: Choice, asked: Any, n: int) -> _Engine:
    if choice.device == "cuda":
        from warpladder.shortest_paths.gpu import engine

        chosen = gpu() if isinstance(asked, str) else asked
        return _Engine(
            chosen.properties.name,
            partial(engine.floyd_warshall, chosen),
            partial(engine.seconds, chosen),
        )
    from warpladder.shortest_paths import cpu

    workers = cpu.workers_for(n)
    cores = f"{workers} CPU core{'s' if workers > 1 else ''} ({vector_unit().name})"
    return _Engine(cores, cpu.floyd_warshall, cpu.seconds)


def _by_source(
    graph: Graph,
    dtype: np.dtype[Any],
    widen: bool,
    next_hops: bool,
    why: str,
    progress: Callable[[float], None] | None,
) -> ShortestPaths:
    from warpladder.shortest_paths.paths import hops_from_predecessors
    from warpladder.shortest_paths.sparse import dijkstra
    from warpladder.shortest_paths.widening import in_fitting_dtype

    def compute(tried: np.dtype[Any]) -> tuple[Any, Any]:
        return dijkstra(graph, tried, next_hops=next_hops, progress=progress)

    (dist, links), note = in_fitting_dtype(compute, dtype, widen=widen)
    hops = None if links is None else hops_from_predecessors(links)
    reasons = "; ".join(filter(None, [f"Dijkstra from every vertex: {why}", note]))
    return ShortestPaths(dist, hops, graph, "dijkstra", reasons)


def _check_option(name: str, value: object, known: tuple[str, ...]) -> None:
    if not (isinstance(value, str) and value in known):
        raise InputError(f"{name}={value!r} is not known; use one of {', '.join(known)}")


def default_dtype(graph: Graph) -> np.dtype[Any]:
    """Return the dtype in which `shortest_paths` computes unless another is asked for.

    Examples
    --------
    >>> default_dtype(Graph.from_edges([0, 1], [1, 2]))
    dtype('int16')
    """
    given = graph.weights if graph.matrix is None else graph.matrix
    if given is not None:
        return distance_dtype(given.dtype, "graph")
    # Without weights no distance exceeds n - 1.
    return np.dtype(np.int16 if graph.n <= np.iinfo(np.int16).max // 2 else np.int32)


def _check_memory(
    graph: Graph, dtype: np.dtype[Any], *, next_hops: bool, overwrite: bool, graphs: int = 1
) -> None:
    """Refuse what certainly does not fit; more may be needed on the way."""
    n = graph.n
    in_place = overwrite and graph.matrix is not None and graph.matrix.dtype == dtype
    each = (0 if in_place else dtype.itemsize) + (4 if next_hops else 0)
    many = f" in each of {graphs:,} graphs" if graphs > 1 else ""
    what = f"{dtype.name}{' with next hops' if next_hops else ''}"
    require_memory(
        graphs * n * n * each, f"graph: all distances between {n:,} vertices{many} as {what}"
    )


def _choose_method(graph: Graph, dtype: np.dtype[Any], asked: str, engine: _Engine) -> _Method:
    obstacle = _obstacle_to_dijkstra(graph, dtype)
    if asked == "dijkstra":
        if obstacle:
            raise InputError(f'method="dijkstra": {obstacle}; use "floyd-warshall"')
        return _Method("dijkstra", "as asked")
    if asked == "floyd-warshall":
        return _Method("floyd-warshall", "")
    if graph.matrix is not None or graph.n < _SPARSE_FROM:
        return _Method("floyd-warshall", "")
    from warpladder.shortest_paths.sparse import is_installed, sparse_seconds

    arcs = graph.edge_count * (1 if graph.directed else 2)
    by_blocks = engine.seconds(graph.n, dtype)
    by_source = sparse_seconds(graph.n, arcs)
    if by_blocks <= by_source:
        why = f"estimated {by_blocks:.1f} s, Dijkstra from every vertex {by_source:.1f} s"
        return _Method("floyd-warshall", why)
    if obstacle:
        return _Method("floyd-warshall", f"Dijkstra would be faster but {obstacle}")
    if not is_installed():
        why = "Dijkstra would be faster but needs scipy: pip install 'warpladder[sparse]'"
        return _Method("floyd-warshall", why)
    return _Method("dijkstra", f"estimated {by_source:.1f} s, Floyd-Warshall {by_blocks:.1f} s")


def _obstacle_to_dijkstra(graph: Graph, dtype: np.dtype[Any]) -> str:
    """Return why Dijkstra cannot answer for this graph, or nothing."""
    if graph.matrix is not None:
        return "the graph is a dense matrix"
    weights = np.ones(1) if graph.weights is None else graph.weights
    finite = weights[weights != np.inf]
    if finite.size and finite.min() < 0:
        return "there are negative weights"
    longest = float(finite.max(initial=0)) * graph.n
    limit = _EXACT_IN_FLOAT64 if dtype.kind == "i" else float(np.finfo(dtype).max)
    if longest >= limit:
        return f"distances might exceed {limit:.3g}, up to which it is exact"
    if dtype.kind == "i" and weights.dtype.kind == "f" and graph.weights is not None:
        return "the weights are floats and the dtype an integer"
    return ""
