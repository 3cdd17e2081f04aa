"""Strips in registers: 32 consecutive cells for each lane, many steps without a barrier.

Idea: a lane that has consecutive cells in registers has nearly all neighbours at hand. Only its
first and its last cell need one from the lane beside: two shuffles for 32 cells. A warp has a tile
of 1,024 cells and takes many steps with it; nobody waits for another warp, and shared memory is
needed only twice: so that neighbouring lanes load and store neighbouring cells. A lane's strip lies
there in a row of 33 words, not 32, or all lanes would meet in one bank.

**Ends.** In the middle a tile loses a cell at either end with each step, as before. But the first
tile begins with the first cell, and the last one ends with the last, wherever that is. There the
cell beyond the end is lane 0's first cell, or lane 31's last. Tiles in the middle do the same
rather than ask: it is wrong there, but all that it spoils would be wrong anyhow and is not kept. If
the cells are fewer than a tile, all places behind the last one are given its value after each step.

Below: three words through shared memory for each cell and step, and a barrier.

Expect: two operations for each cell and step from registers to registers, and little else. With n =
1,952 and 24 steps there are two tiles: 2 * 24 shuffles for each of their warps. 32 rows of shared
memory are loaded on the way in and as many as are kept on the way out, 126 requests, where
`steps-per-tile` loads each row 2 * 24 times and once more. A cell is replaced before the next one
has read it, but not before its product with a weight is made, which is all that the next one needs:
so nothing has to be moved. Compiled for 9.0, a step of 32 cells is 75 instructions, of which 64
compute. Of 1,024 cells with T = 64 an eighth is lost, and memory sees 8 bytes for 128 operations
and more.

Found: on an NVIDIA H200 (2026-11-22), with 2**26 cells, 200 steps take 2.35 ms, and with
`steps-per-tile` 10.4 ms. That is a third of what registers alone allow: the ways in and out
have a division for each place, and 64 steps are few for that.

Source: beyond

Question: With strips in rows of 32 words in place of 33, how many wavefronts would one of the
requests take by which all lanes read the k-th cell of their own strip?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, float32

from warpladder.advection.rungs._launching import advance
from warpladder.advection.rungs._tasks import LAX_FRIEDRICHS
from warpladder.device.grids import WARP
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.advection.rungs._tasks import Cells
    from warpladder.device.base import Device

__all__ = ["DEPTH", "RUNG", "TILE", "run", "step_strips"]

EVERYBODY = 0xFFFFFFFF
WARPS = 4
STRIP = 32
TILE = WARP * STRIP
#: A strip has a row of its own, a word longer than itself.
ROWS = (WARPS, WARP, STRIP + 1)
DEPTH = 64


@cuda.jit(device=True)
def step_strip(cells, lane, a, b):
    """Take a step with the strips of a warp."""
    before = cuda.shfl_up_sync(EVERYBODY, cells[STRIP - 1], 1)
    behind = cuda.shfl_down_sync(EVERYBODY, cells[0], 1)
    if lane == 0:
        before = cells[0]
    if lane == WARP - 1:
        behind = cells[STRIP - 1]
    for k in range(STRIP):
        here = cells[k]
        right = cells[k + 1] if k < STRIP - 1 else behind
        cells[k] = cuda.fma(b, right, a * before)
        before = here


@cuda.jit(device=True)
def repeat_last(cells, lane, last):
    """Give all places of the warp behind the last cell its value."""
    value = cells[0]
    for k in range(STRIP):
        if lane * STRIP + k == last:
            value = cells[k]
    value = cuda.shfl_sync(EVERYBODY, value, last // STRIP)
    for k in range(STRIP):
        if lane * STRIP + k > last:
            cells[k] = value


@cuda.jit
def step_strips(phi, new, a, b, steps):
    """Take so many steps with the tile of a warp."""
    rows = cuda.shared.array(ROWS, float32)
    cells = cuda.local.array(STRIP, float32)
    lane, w, n = cuda.threadIdx.x % WARP, cuda.threadIdx.x // WARP, phi.size
    begin = cuda.grid(1) // WARP * (TILE - 2 * steps)
    # What a tile keeps begins where that of the one before ends, wherever the tile begins.
    first = begin + steps if begin else 0
    end = begin + TILE - steps
    if end + steps >= n:
        end = n
    if first >= end:
        return
    begin = max(min(begin, n - TILE), 0)

    for k in range(STRIP):
        j = k * WARP + lane
        rows[w, j // STRIP, j % STRIP] = phi[min(begin + j, n - 1)]
    cuda.syncwarp()
    for k in range(STRIP):
        cells[k] = rows[w, lane, k]
    for _ in range(steps):
        step_strip(cells, lane, a, b)
        if n < TILE:
            repeat_last(cells, lane, n - 1)
    for k in range(STRIP):
        rows[w, lane, k] = cells[k]
    cuda.syncwarp()
    for k in range(STRIP):
        i = begin + k * WARP + lane
        if first <= i < end:
            new[i] = rows[w, k, lane]


def run(device: Device, problem: Cells, depth: int = DEPTH) -> NDArray[np.float32]:
    """Return the cells after all steps, so many to a launch."""
    return advance(
        device, step_strips, problem, lambda steps: WARPS * (TILE - 2 * steps), depth, WARPS * WARP
    )


RUNG = Rung(
    name="register-strips",
    title="Strips of 32 cells in each lane's registers, neighbours by shuffles",
    source="beyond",
    run=run,
    task=LAX_FRIEDRICHS,
    bound=Bound("issue", "two operations a cell and step at 128 a multiprocessor and clock"),
    kernels=(step_strips,),
    predicts=(
        Prediction("shuffles", "==", 2 * 48, 1952, "two for each step of two warps"),
        Prediction(
            "shared_load_requests",
            "==",
            Ratio(126, 3136),
            1952,
            "64 on the way in and 62 on the way out, not two for each row and step",
            than="steps-per-tile",
            tolerance=1e-9,
        ),
        Prediction("shared_bank_conflicts", "==", 0, 1952, "33 words from a strip to the next"),
        Prediction("barriers", "==", 0, 1952, "a warp waits for nobody"),
        Prediction("global_load_requests", "==", 64, 1952, "32 rows of each of two tiles"),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-22",
            1 << 26,
            (("register-strips", 2.35), ("steps-per-tile", 10.4)),
        ),
    ),
)
