"""The library call: `shortest_paths`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import DTypeLike

from warpladder.call import check_option, check_progress, joined, naming_memory, target_for
from warpladder.device.environment import require_compiler
from warpladder.device.foreign import device_of
from warpladder.device.host_memory import require_memory
from warpladder.device.simd import vector_unit
from warpladder.errors import InputError
from warpladder.flags import as_flag
from warpladder.shortest_paths.batch import Batch
from warpladder.shortest_paths.dtypes import asked_dtype
from warpladder.shortest_paths.forms import Edges, Matrix
from warpladder.shortest_paths.graph import Graph
from warpladder.shortest_paths.intake import as_graph
from warpladder.shortest_paths.plan import choose_method, default_dtype, searches_for
from warpladder.shortest_paths.result import ShortestPaths
from warpladder.shortest_paths.rounding import remark_on_rounding
from warpladder.shortest_paths.solve import Options, solve

if TYPE_CHECKING:
    from warpladder.device.base import Device
    from warpladder.shortest_paths.batch_result import ShortestPathsBatch
    from warpladder.shortest_paths.gpu.hop_counts import GpuSearches
    from warpladder.shortest_paths.solve import Close
    from warpladder.shortest_paths.sparse.dijkstra import SourceSearches
    from warpladder.shortest_paths.sparse.hop_counts import Searches

__all__ = ["shortest_paths"]

_METHODS = ("auto", "floyd-warshall", "dijkstra", "breadth-first")
_NEGATIVE_CYCLE = ("raise", "mark")
# H200 and 16 cores, from the host and back: 3.8 ms against 3.9 here, 6.3 against 12.7 at 1024. So
# it is for batches: 60 graphs of 512 take 30 ms against 231, 500 of 256 take 63 against 43.
_GPU_FROM = 512


class _Engine(NamedTuple):
    """What closes a prepared matrix: for people, the call, and an estimate of its seconds."""

    name: str
    close: Close
    seconds: Callable[[int, np.dtype[Any]], float]


class _Keywords(TypedDict, total=False):
    """The keyword arguments of `shortest_paths`, for type checkers."""

    dtype: DTypeLike | None
    next_hops: bool
    method: Literal["auto", "floyd-warshall", "dijkstra", "breadth-first"]
    device: Literal["auto", "cpu", "cuda"] | Device
    overwrite: bool
    negative_cycle: Literal["raise", "mark"]
    no_edge: float
    progress: Callable[[float], None] | None


# First, since of arrays that do not tell how many dimensions they have, checkers take the first.
@overload
def shortest_paths(
    graph: np.ndarray[tuple[int, int], np.dtype[Any]], **options: Unpack[_Keywords]
) -> ShortestPaths: ...


@overload
def shortest_paths(
    graph: np.ndarray[tuple[int, int, int], np.dtype[Any]], **options: Unpack[_Keywords]
) -> ShortestPathsBatch: ...


@overload
def shortest_paths(graph: Any, **options: Unpack[_Keywords]) -> ShortestPaths: ...


def shortest_paths(
    graph: Any,
    *,
    dtype: DTypeLike | None = None,
    next_hops: bool = False,
    method: Literal["auto", "floyd-warshall", "dijkstra", "breadth-first"] = "auto",
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
        stored entries are the edges, explicit zeros too, but not in the BSR and DIA layouts, which
        fill up with zeros; duplicates are parallel edges, not added up); a NetworkX graph (edge
        attribute ``weight``, 1 where it is missing); or
        ``(sources, targets, weights)``. In a dense matrix a 0 is an edge of weight 0, **unlike
        SciPy's rule for dense input**; what means "no edge" is ``no_edge``. The diagonal counts as
        0 unless it is negative. Of parallel edges the lightest counts.

        Many graphs of one size are answered together if they come as an array of shape (b, n, n),
        as ``numpy.stack(matrices)`` makes it: thousands of small ones much faster than in a loop.
        All else is then said of each graph, and errors name it (``graph 3: ...``).

        Matrices that are on a GPU already, of one graph or of many, as arrays of CuPy, PyTorch or
        Numba, are answered there.
    dtype
        Of the distances: int16, int32, int64, float32 or float64. By default that of the weights;
        smaller integers, bool and float16 go to the next of these, edges without weights to int16
        or int32. Integers that the dtype asked for would round are refused; that it rounds other
        weights is said in `why`.
    next_hops
        Whether to find the paths too, not only their lengths; takes about twice the time.
    method
        ``"floyd-warshall"`` (blocked, O(n^3) whatever the edges), ``"dijkstra"`` (32 sources at a
        time on all cores, for sparse graphs without negative weights),
        ``"breadth-first"`` (512 searches at a time on all cores, where edges are a few whole steps
        long, up to 64; or 128 to a thread block of a GPU, where all have the same length: graphs
        without weights; long thin ones of these on the CPU by elimination of vertices instead) or
        ``"auto"``, which estimates all.
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
        cores are at work; not at all for a few hundred vertices. On a GPU between launches.

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

    Notes
    -----
    Cost O(n^3) relaxations and n^2 numbers for Floyd-Warshall. Half as many relaxations, and the
    same bits, for a symmetric matrix or an undirected graph: on the CPU from 257 vertices on; on a
    GPU from some thousand on, in its memory.
    Breadth-first searches take at most O(n (n + m)) steps, up to 512 of them at once, and where
    edges have up to k steps O(n (n + m) k) and 64 (k + 1) bytes for a vertex and core; on a GPU
    O(n (n + m) l) for paths of up to l edges, 128 at once. Elimination of vertices takes O(n f),
    where f neighbours are kept in the end, a few for each vertex where it is taken. All give the
    same distances bit for bit: they are taken only where every multiple of a step is exact.

    An integer distance is exact or refused: an integer dtype holds distances below half its range.
    A float distance is the rounded sum along its path, with a relative error of at most n units in
    the last place for weights of one sign. Where edges below zero lie on cycles, up to n units in
    the last place of the least distance come on top. Whether a cycle is negative is decided with
    sums of 106 bits, from the weights as ``dtype`` holds them.

    Where two paths have the same length, which one `ShortestPaths.next_hops` follows is not
    specified.

    References
    ----------
    .. [1] Floyd (1962), "Algorithm 97"; Warshall (1962), "A theorem on Boolean matrices".
    .. [2] Venkataraman, Sahni, Mukhopadhyaya, "A blocked all-pairs shortest-paths algorithm", 2003.
    .. [3] Then et al., "The More the Merrier: Efficient Multi-Source Graph Traversal", 2014.
    .. [4] Planken, de Weerdt, van der Krogt, "Computing All-Pairs Shortest Paths by Leveraging Low
       Treewidth", 2012.

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
    check_option("method", method, _METHODS)
    check_option("negative_cycle", negative_cycle, _NEGATIVE_CYCLE)
    check_progress(progress)
    with_hops, may_use_up = as_flag("next_hops", next_hops), as_flag("overwrite", overwrite)
    known = as_graph(graph, no_edge)
    marks = negative_cycle == "mark"
    tell = None if progress is None else _onward(progress)
    options = Options(dtype is None, with_hops, may_use_up, marks, tell)
    match known:
        case Graph(given=Matrix(is_on_gpu=True) as given) | (Batch(is_on_gpu=True) as given):
            return _on_gpu(given, dtype, method, device, options)
        case Batch():
            return _of_batch(known, dtype, method, device, options)
        case Graph():
            answer = _of_graph(known, dtype, method, device, options)
            remark = known.remark
            return replace(answer, why=joined(answer.why, remark)) if remark else answer


def _onward(progress: Callable[[float], None]) -> Callable[[float], None]:
    """Return what tells of progress but never of less: some work is done once more.

    Where the dtype has to be wider, or next hops on a GPU led in circles.
    """
    furthest = 0.0

    def tell(fraction: float) -> None:
        nonlocal furthest
        furthest = max(furthest, fraction)
        progress(furthest)

    return tell


def _of_graph(
    graph: Graph, dtype: DTypeLike | None, method: str, device: Any, options: Options
) -> ShortestPaths:
    target = target_for(device, too_small=_too_small(graph.n))
    kind = asked_dtype(dtype) or default_dtype(graph.given)
    _check_memory(graph.given, kind, options)
    rounded = remark_on_rounding(graph.given, kind)
    engine = _engine(target.device, graph.given, options)
    with naming_memory("graph", f"all distances between {graph.n:,} vertices"):
        searches = searches_for(
            graph.given, kind, method, engine.seconds, target,
            overwrite=options.overwrite, next_hops=options.next_hops,
        )  # fmt: skip
        chosen = choose_method(
            graph.given, kind, method, engine.seconds, searches, next_hops=options.next_hops
        )
        if chosen.ready is not None:
            if rounded and chosen.name == "dijkstra":
                # It sums them up as they are given.
                rounded += ", once they are summed up"
            why = joined(chosen.why, rounded)
            return _by_searches(graph, chosen.name, chosen.ready, kind, options, why)
        solution = solve(graph, kind, options, engine.close)
    how = f"blocked Floyd-Warshall on {engine.name}"
    why = joined(how, chosen.why, solution.note, rounded, target.remark)
    return ShortestPaths(solution.dist, solution.hops, graph, "floyd-warshall", why)


def _on_gpu(
    given: Matrix | Batch, dtype: DTypeLike | None, method: str, device: Any, options: Options
) -> ShortestPaths | ShortestPathsBatch:
    from warpladder.shortest_paths.gpu.resident import shortest_paths_on_gpu
    from warpladder.shortest_paths.gpu.resident_batch import shortest_paths_of_batch_on_gpu

    # Nothing of the caller's is written to; what comes to the host is a copy, which may be kept.
    options = options._replace(overwrite=False)
    there = device_of(given.weights, device, "graph")
    if method not in {"auto", "floyd-warshall"}:
        told = f'method="{method}": the graph is a dense matrix on a GPU; use "floyd-warshall"'
        raise InputError(told)
    kind = asked_dtype(dtype) or default_dtype(given)
    rounded = remark_on_rounding(given, kind)
    answer: ShortestPaths | ShortestPathsBatch
    if isinstance(given, Batch):
        answer = shortest_paths_of_batch_on_gpu(given, there, kind, options)
    else:
        answer = shortest_paths_on_gpu(given, there, kind, options)
    return replace(answer, why=joined(answer.why, rounded))


def _of_batch(
    graphs: Batch, dtype: DTypeLike | None, method: str, device: Any, options: Options
) -> ShortestPathsBatch:
    from warpladder.shortest_paths.batch_result import ShortestPathsBatch
    from warpladder.shortest_paths.batches import solve_batch

    target = target_for(device, too_small=_too_small(graphs.n))
    if method not in {"auto", "floyd-warshall"}:
        raise InputError(f'method="{method}": graphs are dense matrices; use "floyd-warshall"')
    kind = asked_dtype(dtype) or default_dtype(graphs)
    _check_memory(graphs, kind, options)
    rounded = remark_on_rounding(graphs, kind)
    whose = f"of {len(graphs):,} graphs of {graphs.n:,} vertices"
    with naming_memory("graph", f"all distances {whose}"):
        solution = solve_batch(graphs, kind, options, target.device)
    how, *remarks = solution.remarks
    why = joined(f"blocked Floyd-Warshall on {how}", *remarks, rounded, target.remark)
    return ShortestPathsBatch(solution.dist, solution.hops, graphs, "floyd-warshall", why)


def _too_small(n: int) -> str:
    """Return why a graph is left to the CPU, or nothing."""
    return f"{n:,} vertices are too few for a GPU" if n < _GPU_FROM else ""


def _engine(device: Device | None, given: Edges | Matrix, options: Options) -> _Engine:
    both_ways = isinstance(given, Edges) and not given.directed
    carry = options.next_hops
    if device is not None:
        from warpladder.shortest_paths.gpu import engine

        return _Engine(
            device.properties.name,
            partial(engine.floyd_warshall, device),
            partial(engine.seconds, device, half=both_ways, carry=carry),
        )
    from warpladder.shortest_paths import cpu

    workers = cpu.workers_for(given.n)
    cores = f"{workers} CPU core{'s' if workers > 1 else ''} ({vector_unit().name})"
    estimate = partial(cpu.seconds, half=both_ways, carry=carry)
    return _Engine(cores, cpu.floyd_warshall, estimate)


def _by_searches(
    graph: Graph, method: str, ready: Searches | GpuSearches | SourceSearches,
    dtype: np.dtype[Any], options: Options, why: str,
) -> ShortestPaths:  # fmt: skip
    from warpladder.shortest_paths.sparse import dijkstra, hop_counts
    from warpladder.shortest_paths.widening import in_fitting_dtype

    def compute(tried: np.dtype[Any]) -> tuple[Any, Any, str]:
        next_hops, progress = options.next_hops, options.progress
        if isinstance(ready, hop_counts.Searches):
            found = hop_counts.hop_counts(ready, tried, next_hops=next_hops, progress=progress)
        elif isinstance(ready, dijkstra.SourceSearches):
            found = dijkstra.dijkstra(ready, tried, next_hops=next_hops, progress=progress)
        else:
            from warpladder.shortest_paths.gpu.hop_counts import hop_counts as on_gpu

            return on_gpu(ready, tried, next_hops=next_hops, progress=progress)
        return *found, ""

    (dist, hops, remark), note = in_fitting_dtype(compute, dtype, widen=options.widen)
    if isinstance(ready, hop_counts.Searches):
        where = _on_cores(ready.how, ready.workers(dist.dtype))
    elif isinstance(ready, dijkstra.SourceSearches):
        where = _on_cores("Dijkstra from every vertex", dijkstra.workers_for(graph.n))
    else:
        where = f"breadth-first searches on {ready.device.properties.name}"
    return ShortestPaths(dist, hops, graph, method, joined(where, remark, why, note))


def _on_cores(how: str, workers: int) -> str:
    return f"{how} on {workers} CPU core{'s' if workers > 1 else ''}"


def _check_memory(given: Edges | Matrix | Batch, dtype: np.dtype[Any], options: Options) -> None:
    """Refuse what certainly does not fit; more may be needed on the way."""
    n, graphs = given.n, len(given) if isinstance(given, Batch) else 1
    used_up = options.overwrite and not isinstance(given, Edges) and given.weights.dtype == dtype
    each = (0 if used_up else dtype.itemsize) + (4 if options.next_hops else 0)
    many = f" in each of {graphs:,} graphs" if graphs > 1 else ""
    # NumPy takes as long to say `dtype.name` as all else here together.
    what = f"{dtype.type.__name__}{' with next hops' if options.next_hops else ''}"
    require_memory(
        graphs * n * n * each, f"graph: all distances between {n:,} vertices{many} as {what}"
    )
