"""Register tiles in float32.

Idea: the kernels of `register-tiles` take their types from the matrix. "No path" is infinity, which
needs no care: infinity plus anything is infinity, and never the smaller.

Below: for int32 the addition and the minimum are one instruction, but one that only half of the
lanes' units can do: 64 per multiprocessor and clock. For float32 they are two, FADD at 128 per
clock and FMNMX at 64, so every slot that a warp scheduler has is filled, and whatever else has to
be issued costs time: eight steps are 1024 of these, 32 shared loads and 25 others, 95 %.

Expect: the same requests and the same wavefronts as int32, word for word: where a kernel reads and
writes depends on the size of a number, not on its kind. Sums of multiples of 1/16 are exact, so the
order in which tiles are relaxed does not show, and the result equals the oracle's bit for bit; for
other weights the last bit may depend on the order.

Source: beyond

Question: Suppose that FMNMX ran at 128 per multiprocessor and clock, as FADD does. How many
relaxations could be done in a clock?
"""

from __future__ import annotations

from warpladder.rung import Bound, Prediction, Rung
from warpladder.shortest_paths.rungs._tasks import DISTANCES_FLOAT32
from warpladder.shortest_paths.rungs.register_tiles import KERNELS, MAX_N, run

__all__ = ["RUNG"]

RUNG = Rung(
    name="register-tiles-float32",
    title="Register tiles in float32",
    source="beyond",
    run=run,
    task=DISTANCES_FLOAT32,
    bound=Bound("issue", "n**3 relaxations at 64 per multiprocessor and clock"),
    kernels=KERNELS,
    predicts=(
        Prediction(
            "shared_load_wavefronts",
            "==",
            1,
            128,
            "numbers of the same size lie in the same banks",
            than="register-tiles",
        ),
        Prediction(
            "global_load_sectors",
            "==",
            1,
            128,
            "and in the same sectors",
            than="register-tiles",
        ),
    ),
    limits="a grid has at most 65,535 blocks along y, and a row of tiles takes one",
    max_n=MAX_N,
)
