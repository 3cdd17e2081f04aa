"""The order of the cells within a step, and why it does not matter.

The blocks of a launch run in any order. Within step k every cell (i, j) reads (i, k) and (k, j),
which other blocks may be about to write. The source asks to show that this does no harm.

Proof: a step does D[i,j] = min(D[i,j], D[i,k] + D[k,j]) for every cell once, in some order. For a
cell of column k that is min(D[i,k], D[i,k] + D[k,k]). As long as D[k,k] >= 0, the sum is no less
than D[i,k], which stays what it was; a cell of row k likewise, and D[k,k] itself. So nothing that a
cell reads from another changes during the step. Each cell depends on its own value before the step
and on numbers that stand still: any order, and all at once, ends in the same matrix, bit for bit.
Rounding changes nothing, for a float plus something not negative is never rounded to below it.

Condition: D[k,k] is the length of a way from k back to k, so without negative cycles it is never
negative. With one, the diagonal entry of the cycle's last vertex is negative when the step of that
vertex begins, at the latest. Row k and column k then change while they are read, and the order
decides what comes out.

Expect: one result from all orders while D[k,k] >= 0. With D[k,k] = -1 two orders agree only by
chance: as many results as orders, but for the smallest matrices.

Source: HB exploration 1
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.lab.explore.exploration import (
    Column,
    Exploration,
    Findings,
    Panel,
    Series,
    Setting,
    Table,
    paragraph,
)
from warpladder.lab.registry import find_rung
from warpladder.lab.verify import pose
from warpladder.lab.verify import run as run_rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EXPLORATION", "relax_in_order"]

_ORDERS = 100
# HB's own kernel, at a size with a second warp; on the simulator an order takes a second.
_KERNEL, _KERNEL_N, _KERNEL_ORDERS = "row-blocks", 33, 4


def relax_in_order(dist: list[list[Any]], k: int, cells: Iterable[int]) -> None:
    """Take step k cell by cell, in place; each cell reads what the matrix holds by then.

    Parameters
    ----------
    dist
        Rows of a square matrix of distances, n of them.
    k
        The intermediate vertex.
    cells
        Numbers ``i * n + j`` of the cells, in the order in which to update them.

    Examples
    --------
    With a negative entry at (k, k), two orders give two matrices:

    >>> forward, backward = [[-1, 5], [4, 9]], [[-1, 5], [4, 9]]
    >>> relax_in_order(forward, 0, [0, 1, 2, 3])
    >>> relax_in_order(backward, 0, [3, 2, 1, 0])
    >>> forward, backward
    ([[-2, 3], [2, 5]], [[-2, 4], [3, 9]])
    """
    n = len(dist)
    for cell in cells:
        i, j = divmod(cell, n)
        dist[i][j] = min(dist[i][j], dist[i][k] + dist[k][j])


def _run(setting: Setting) -> Findings:
    rows: list[dict[str, Any]] = []
    for n in setting.watch(setting.sizes, lambda n: f"orders, n = {n}", lambda n: n**3):
        rng = np.random.default_rng(n)
        task = find_rung(f"shortest-paths/{_KERNEL}")[1].task
        problem = pose(task, n)
        closed = {_close(problem.matrix, rng) for _ in range(_ORDERS)}
        rows.append(
            {
                "n": n,
                "closed": len(closed),
                "right": "yes" if closed == {task.oracle(problem).tobytes()} else "NO",
                "negative": len({_one_step(problem.matrix, n // 2, rng) for _ in range(_ORDERS)}),
            }
        )
    shuffled = _shuffle_blocks(setting)
    cells = Table(
        f"different matrices from {_ORDERS} random orders of the cells within a step",
        (
            Column("n", "n", "count"),
            Column("closed", "all steps, D[k,k] >= 0", "count"),
            Column("right", "distances right", "text"),
            Column("negative", "one step, D[k,k] = -1", "count"),
        ),
        tuple(rows),
    )
    blocks = Table(
        f"the kernel of {_KERNEL} at n = {_KERNEL_N}, blocks and warps in random order",
        (Column("seed", "seed", "count"), Column("wrong", "wrong entries", "count")),
        tuple(shuffled),
    )
    panel = Panel(
        f"Different results from {_ORDERS} random orders of the cells",
        setting.size_word,
        "different matrices",
        tuple(
            Series(column.heading, setting.sizes, tuple(row[column.key] for row in rows))
            for column in cells.columns
            if column.key in {"closed", "negative"}
        ),
    )
    return Findings((cells, blocks), _answer(rows, shuffled), (panel,))


def _close(matrix: NDArray[Any], rng: np.random.Generator) -> bytes:
    """Return the distances after all steps, each in an order of its own."""
    n = len(matrix)
    dist = matrix.tolist()
    for k in range(n):
        relax_in_order(dist, k, rng.permutation(n * n).tolist())
    return np.array(dist, matrix.dtype).tobytes()


def _one_step(matrix: NDArray[Any], k: int, rng: np.random.Generator) -> bytes:
    """Return the matrix after step k in some order, with -1 at (k, k) before it."""
    n = len(matrix)
    dist = matrix.tolist()
    dist[k][k] = -1
    relax_in_order(dist, k, rng.permutation(n * n).tolist())
    return np.array(dist, matrix.dtype).tobytes()


def _shuffle_blocks(setting: Setting) -> list[dict[str, int]]:
    from warpladder.simulator import SimulatedDevice

    rung = find_rung(f"shortest-paths/{_KERNEL}")[1]
    problem = pose(rung.task, _KERNEL_N)
    expected = rung.task.oracle(problem)
    rows = []
    for seed in setting.watch(
        range(_KERNEL_ORDERS), lambda seed: f"blocks in random order {seed}", lambda _: 1
    ):
        device = SimulatedDevice(schedule="warps-random", seed=seed, checks=False, counters=False)
        wrong = run_rung(rung, device, problem) != expected
        rows.append({"seed": seed, "wrong": int(wrong.sum())})
    return rows


def _answer(rows: list[dict[str, Any]], shuffled: list[dict[str, int]]) -> tuple[str, ...]:
    same = all(row["closed"] == 1 and row["right"] == "yes" for row in rows)
    unharmed = not any(row["wrong"] for row in shuffled)
    most = max(row["negative"] for row in rows)
    found = (
        f"{'No' if same and unharmed else 'Yes, it seems'}. Random orders of the cells gave "
        f"{'one matrix at every size, the right one' if same else 'different matrices'}; blocks in "
        f"random order gave {'no wrong entry' if unharmed else 'wrong entries'}. With a negative "
        f"entry at (k, k) {_ORDERS} orders gave up to {most} different matrices."
    )
    return (
        found,
        "Why: " + paragraph(__doc__, "Proof: "),
        "When: " + paragraph(__doc__, "Condition: "),
        "The order of the steps themselves does matter: see `warpladder explore barrier`.",
    )


EXPLORATION = Exploration(
    name="order",
    question="Does the order of the blocks within a step change the result?",
    source="HB exploration 1",
    run=_run,
    sizes=(2, 4, 8, 16, 24),
    largest=64,
    why_largest="every cell of every step is updated one by one, in 100 orders",
    rung=f"shortest-paths/{_KERNEL}",
)
