"""The engine for CPUs: many steps per pass over memory, in vector registers, on all cores.

A plain step reads and writes every cell: memory limits it, and of a core's arithmetic most is idle.
Here cells are cut into tiles that stay in the cache of one core for many steps (`tiles`), and in it
a sweep takes several steps at once (`vectors`). Tiles overlap by what their outer cells lose in
these steps; that work is done twice, and `TilePlan` keeps it small. What the first cache holds
whole is stepped as a row instead (`rows`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from warpladder.advection.forms import LIMITERS, Edge, Limited, Problem, Stencil
from warpladder.advection.passes import rows_advanced, tiles_advanced
from warpladder.advection.plain import given_values
from warpladder.advection.rows import AS_IT_LIES, strips_of
from warpladder.advection.tiles import COPY, GIVEN, PERIODIC, margin_of
from warpladder.advection.vectors import Shape, code_of, group_of, reach_of, shape_for
from warpladder.device.environment import worker_count
from warpladder.device.team import new_state, run_briefly, run_team

__all__ = ["CpuEngine", "TilePlan", "plan_tiles"]

_KINDS = {"copy": COPY, "given": GIVEN, "periodic": PERIODIC}
#: Bytes of a tile: half of what a core's second cache has at least, since the cells of the next
#: tile come in meanwhile.
_TILE_BYTES = 128 << 10
#: One part in so many of a tile may be halo.
_HALO_SHARE = 16
#: Bytes of a row that stays in the first cache, of 32 KiB or more, and is stepped in strips. There
#: a tile, whose ends are done one by one, takes 1.0 to 1.4 times as long; with half of these bytes
#: 1.1 to 1.9 times.
_ROW_BYTES = 24 << 10
#: Below so many steps a row is stepped as it lies, since the way into strips or tiles takes longer.
#: With 3 steps a row in strips takes 0.6 to 1.3 times as long as that, with 8 never longer.
_FEWEST_STEPS = 3
#: Cells of a system that several workers share, and cell-steps of a float32 stencil that are worth
#: calling each of them. On two cores it pays with 2**16 cells from 200 steps on, with 2**20 always.
_SHARED_CELLS, _WORK_OF_ONE = 1 << 14, 1 << 23
#: Up to so much, some 20 ms, this thread is one of the workers and others are kept: by two cores of
#: an EPYC, between calls of SciPy's, 20 and 100 steps of 10**6 cells take 1.3 and 2.7 ms; with new
#: threads, of which each waits for all, 2.2 and 4.3.
_BRIEF_WORK = 1 << 29
#: About as long as so many steps of a cell takes its way into a tile and out of it; as so many
#: cells what a step has beside its cells; and as so many stencils a limiter.
_WAY, _BESIDE, _LIMITER = 64, 64, 16
#: Bytes of a line of the cache, and how far apart lines are that share a set of it.
_LINE, _ALIKE = 64, 4096
#: Cell-steps of a row, or a tile that is alone, between two looks at whether to go on.
_PASS_WORK = 1 << 31


class TilePlan(NamedTuple):
    """How the cells of a system are cut.

    Attributes
    ----------
    tiles
        How many of each system.
    kept
        Cells that a tile answers for; the last one may have fewer.
    length
        Cells of a strip.
    steps
        In a pass.
    """

    tiles: int
    kept: int
    length: int
    steps: int


def plan_tiles(
    n: int, steps: int, code: int, shape: Shape, itemsize: int, *, workers: int, periodic: bool
) -> TilePlan:
    """Return how systems of n cells are best cut for so many steps.

    Examples
    --------
    >>> plan_tiles(20_000, 500, code_of((-1, 1)), Shape(16, 8), 4, workers=1, periodic=False)
    TilePlan(tiles=1, kept=20000, length=1250, steps=504)
    """
    most = _TILE_BYTES // itemsize
    group, seen = group_of(code), sum(reach_of(code))
    all_steps = -(-steps // shape.depth) * shape.depth
    alone = not periodic and n <= most and (workers == 1 or n < _SHARED_CELLS)
    if alone:
        # The ends are the only edges: nothing is lost in any number of steps.
        most_steps = max(_PASS_WORK // n // shape.depth, 1) * shape.depth
        return TilePlan(1, n, _strip(n, shape.lanes, group), min(all_steps, most_steps))
    cells = min(most, -(-n // workers) if n >= _SHARED_CELLS else n)
    deep = max(cells // (_HALO_SHARE * seen) // shape.depth, 1) * shape.depth
    deep = min(deep, all_steps)
    tiles = -(-n // max(most - deep * seen, 1))
    if n >= _SHARED_CELLS and tiles < 8 * workers:
        tiles = -(-tiles // workers) * workers
    kept = -(-n // tiles)
    length = _strip(kept + deep * seen, shape.lanes, group)
    while length * itemsize % _ALIKE < _LINE:
        # Strips would begin in the same set of the first cache, which holds fewer lines than lanes.
        length += group
    return TilePlan(-(-n // kept), kept, length, deep)


def _strip(cells: int, lanes: int, group: int) -> int:
    length = -(-cells // lanes)
    return -(-length // group) * group


class CpuEngine:
    """Advances cells on all cores, as `forms.Engine` says."""

    def advance(
        self,
        problem: Problem,
        phi: NDArray[Any],
        first: int,
        steps: int,
        advanced: Callable[[float], None],
    ) -> NDArray[Any]:
        """Return the cells after so many steps."""
        rule = problem.rule
        if isinstance(rule, Limited) and rule.mirrored:
            # The same from the other side.
            straight = Limited(rule.limiter, rule.courant, rule.correction)
            turned = Problem(straight, problem.right, problem.left)
            cells = self.advance(turned, phi[:, ::-1].copy(), first, steps, advanced)
            return cells[:, ::-1].copy()
        if steps == 0 or not phi.size:
            return phi.copy()
        phi = phi if phi.flags.writeable else phi.copy()
        systems, n = phi.shape
        code, weights = _coded(rule)
        kinds = _KINDS[problem.left.kind], _KINDS[problem.right.kind]
        left, right = (
            _by_system(edge, first, steps, phi) for edge in (problem.left, problem.right)
        )
        shape = shape_for(code, phi.dtype)
        compiled = weights, group_of(code), margin_of(code, *shape)
        work_of_cell = _LIMITER if isinstance(rule, Limited) else 1
        all_work = systems * (n + _BESIDE) * (steps + _WAY) * work_of_cell
        workers = max(1, min(worker_count(), all_work // _WORK_OF_ONE))
        state = new_state()
        strips = strips_of(n, code, shape.lanes) if steps >= _FEWEST_STEPS else AS_IT_LIES
        if strips == AS_IT_LIES or n * phi.itemsize <= _ROW_BYTES:
            result = np.empty_like(phi)
            work = rows_advanced(code, shape.lanes, in_strips=strips != AS_IT_LIES)
            in_pass = max(_PASS_WORK // n, 1)
            workers = min(workers, systems)

            def run(worker: int) -> None:
                del worker
                work(state, phi, result, weights, kinds, left, right, strips, steps, in_pass)
        else:
            one_for_all = workers if systems < 2 * workers else 1
            plan = plan_tiles(
                n, steps, code, shape, phi.itemsize,
                workers=one_for_all, periodic=problem.left.kind == "periodic",
            )  # fmt: skip
            workers = min(workers, systems * plan.tiles)
            passes = -(-steps // plan.steps)
            x = np.empty_like(phi)
            y = np.empty_like(phi) if passes > 1 else x
            result = x if passes % 2 else y
            work = tiles_advanced(code, *shape)

            def run(worker: int) -> None:
                work(state, worker, phi, x, y, compiled, kinds, left, right, plan, steps)

        _run(run, workers, state, advanced, is_brief=all_work < _BRIEF_WORK)
        return result


def _run(
    run: Callable[[int], object],
    workers: int,
    state: Any,
    advanced: Callable[[float], None],
    *,
    is_brief: bool,
) -> None:
    done = 0

    def progress(steps: int) -> None:
        nonlocal done
        if steps > done:
            advanced(steps - done)
            done = steps

    if is_brief:
        run_briefly(run, workers, state)
    else:
        run_team(run, workers, state, progress)


def _coded(rule: Stencil | Limited) -> tuple[int, NDArray[Any]]:
    """Return a rule's code, and what it multiplies with: (systems, numbers)."""
    if isinstance(rule, Stencil):
        return code_of(rule.offsets), np.ascontiguousarray(rule.weights)
    return -1 - LIMITERS.index(rule.limiter), np.stack([rule.courant, rule.correction], axis=1)


def _by_system(edge: Edge, first: int, steps: int, phi: NDArray[Any]) -> NDArray[Any]:
    """Return the values of an edge, (systems, steps)."""
    # A copy in any case: one that is read-only would be compiled for by itself.
    return np.array(given_values(edge, first, steps, len(phi), phi.dtype).T, order="C")
