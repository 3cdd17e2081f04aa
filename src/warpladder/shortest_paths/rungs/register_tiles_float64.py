"""Register tiles in float64.

Idea: the same kernels once more, on numbers twice as wide: for distances that need 53 bits.

Below: 64 best values of 4 bytes are 64 registers. Of 8 bytes they are 128 of the 255 that a thread
may have, and the operands come on top: one block of 256 threads fits on a multiprocessor where two
did, and there is no other block to compute while this one loads.

Expect: a number is two words, so a warp's shared loads take two passes for what took one, and
global loads twice the sectors. There is no minimum for float64 in hardware: it is a comparison and
two selections, and a good deal more with the rules for NaN, so a relaxation is some nine
instructions instead of two.

Source: beyond
"""

from __future__ import annotations

from warpladder.lab.rung import Bound, Prediction, Rung
from warpladder.shortest_paths.rungs._tasks import DISTANCES_FLOAT64
from warpladder.shortest_paths.rungs.register_tiles import (
    TILE,
    close_diagonal,
    relax_panels,
    relax_rest,
    run,
)

__all__ = ["RUNG"]

RUNG = Rung(
    name="register-tiles-float64",
    title="Register tiles in float64",
    source="beyond",
    run=run,
    task=DISTANCES_FLOAT64,
    bound=Bound("issue", "nine instructions per relaxation, 128 per multiprocessor and clock"),
    kernels=(close_diagonal, relax_panels, relax_rest),
    predicts=(
        Prediction(
            "global_load_bytes", "==", 2, 128, "numbers twice as wide", than="register-tiles"
        ),
    ),
    limits="cells are numbered by 32 bits, and 65,535 rows of tiles are more than memory holds",
    max_n=65535 * TILE,
)
