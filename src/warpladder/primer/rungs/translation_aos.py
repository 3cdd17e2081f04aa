"""An array of structures: the coordinates of a point lie side by side.

Idea: store points as people write them, x y z x y z. Each thread moves one point, coordinate by
coordinate. This is an access with a stride of 3 elements, and it looks harmless: all memory that a
warp touches is used in the end.

Below: a stride of 32 used 1 element in 32. Here each request uses 1 in 3, and the other two are
asked for by the next two requests.

Expect: the x of 32 points lie over 384 bytes, so a request takes 12 sectors and uses a third of
them, 33.33 %. The y and z lie in the same 12 sectors, so they are moved three times unless a cache
keeps them. The same holds for the stores.

Source: GR array of structures

Question: Give each point a fourth coordinate that this kernel does not touch. How many sectors does
a request take then, and what part of them does it use?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import TRANSLATION
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Cloud

__all__ = ["RUNG", "run", "translate"]


@cuda.jit
def translate(points, dx, dy, dz, n):
    """Move one point."""
    i = cuda.grid(1)
    if i < n:
        points[i, 0] += dx
        points[i, 1] += dy
        points[i, 2] += dz


def run(device: Device, problem: Cloud) -> NDArray[np.float32]:
    """Return the moved points, one to a row."""
    n = problem.points.shape[0]
    points = device.to_device(problem.points)
    launch(device, translate, blocks_for(n, THREADS), THREADS, points, *problem.shift, n)
    return device.to_host(points)


RUNG = Rung(
    name="translation-aos",
    title="Moving points that are an array of structures",
    source="GR array of structures",
    run=run,
    task=TRANSLATION,
    bound=Bound("dram", "24 n bytes over the memory bandwidth, if a cache keeps what is reused"),
    kernels=(translate,),
    predicts=(
        Prediction(
            "global_load_sectors_per_request",
            "==",
            12,
            256,
            "32 threads x 12 bytes = 384 bytes = 12 sectors of 32",
        ),
        Prediction("global_store_sectors_per_request", "==", 12, 256, "stores go the same way"),
        Prediction(
            "load_utilisation_32",
            "==",
            100 / 3,
            256,
            "a request uses 4 of every 12 bytes",
            tolerance=1e-9,
        ),
    ),
)
