"""The top rung for float32: the order of additions shows.

Idea: the kernel of `tuned`, made for another type. Nothing in it knows of integers.

Below: sums of integers modulo 2**32 are the same in any order. Floating-point sums are rounded at
each addition, and the order in which blocks and threads add is not that of a loop.

Expect: the same requests, sectors and barriers as for int32, since where a kernel reads depends on
the size of a number alone; and 16 additions for 4 loads where two integers were added at a time.

How far may the sum be off? Each addition errs by at most u = 2**-24 of its result. An element that
passes d additions on its way into the sum is therefore off by at most the fraction
g = d u / (1 - d u), and the whole sum by g times the sum of magnitudes. On its way it passes

* 4 additions for each of its block's tiles, of 4096 elements. There are n / 4096 tiles, and four
  blocks at the least if there are as many tiles: at most n / 4096 + 4 additions;
* 4 for each of 4 groups behind the tiles, 1 for a single element: at most 17;
* 3 to join four totals, 10 for shuffles in a warp and in a block;
* a block's sum one for each 256 blocks, at most n / 2**20 + 1, and 10 for shuffles again. Where
  there are many blocks there are few tiles for each, so n / 4096 stands for both.

Together d <= n / 4096 + 50. A loop has d = n: the tree is not only faster. The oracle adds in
float64 and rounds once, by u of the result at most.

Source: beyond

Question: By the bound above, how many additions does an element of 2**26 pass at the most on its
way into the sum, and how many does it pass in a loop?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from warpladder.reduction.rungs._tasks import SUM_FLOAT32
from warpladder.reduction.rungs.tuned import KERNELS, run
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["RUNG", "tolerance"]

_UNIT = 2.0**-24


def tolerance(problem: Numbers) -> tuple[float, float]:
    """Return how far the sum may be off: as a fraction of itself, and absolutely."""
    additions = problem.values.size / 4096 + 50
    share = additions * _UNIT / (1 - additions * _UNIT)
    return _UNIT, share * float(np.abs(problem.values).sum(dtype=np.float64))


RUNG = Rung(
    name="tuned-float32",
    title="The top rung for float32",
    source="beyond",
    run=run,
    task=SUM_FLOAT32,
    bound=Bound("dram", "4 n bytes over the memory bandwidth"),
    kernels=KERNELS,
    exact=False,
    tolerance=tolerance,
    predicts=(
        Prediction(
            "global_load_requests",
            "==",
            1,
            16384,
            "numbers of the same size are read in the same groups",
            than="tuned",
        ),
        Prediction("global_load_sectors", "==", 1, 16384, "from the same sectors", than="tuned"),
    ),
)
