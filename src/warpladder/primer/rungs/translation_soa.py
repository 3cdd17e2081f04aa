"""A structure of arrays: all x together, all y together, all z together.

Idea: store each coordinate in an array of its own. What a warp needs in one instruction then lies
side by side. The kernel takes three arrays instead of one and is otherwise the same.

Below: the array of structures put between two x the y and z that the instruction did not ask for.

Expect: 4 sectors per request instead of 12, all bytes of them used. As many requests as before, so
a third of the sectors, for loads and stores alike. How much of it the clock shows depends on the
cache, which hides a good part of the difference for records as small as these.

Found: it loses here. On an NVIDIA H200 (2026-11-23), with 2**23 points, this takes 69.8 us and
`translation-aos` 53.7 us. The cache does hide the difference in sectors; what shows is the order of
loads. A compiler knows that x, y and z of one point lie apart, and loads all three before it stores
the first. Three arrays might be one and the same for all it knows, so it loads y behind the store
of x, and a warp waits three times instead of once. The same kernel with its loads written before
its stores takes 82 % of the time (`benchmarks/gpu_variants.py`). Where a kernel needs one
coordinate only, the sectors decide.

Source: GR structure of arrays

Question: Suppose that a kernel needs only the x of every point. How many sectors does it load for
256 points from an array of structures, and how many from a structure of arrays?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import TRANSLATION
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Cloud

__all__ = ["RUNG", "run", "translate"]


@cuda.jit
def translate(x, y, z, dx, dy, dz, n):
    """Move one point."""
    i = cuda.grid(1)
    if i < n:
        x[i] += dx
        y[i] += dy
        z[i] += dz


def run(device: Device, problem: Cloud) -> NDArray[np.float32]:
    """Return the moved points, one to a row."""
    n = problem.points.shape[0]
    axes = [device.to_device(np.ascontiguousarray(axis)) for axis in problem.points.T]
    launch(device, translate, blocks_for(n, THREADS), THREADS, *axes, *problem.shift, n)
    return np.stack([device.to_host(axis) for axis in axes], axis=1)


RUNG = Rung(
    name="translation-soa",
    title="Moving points that are a structure of arrays",
    source="GR structure of arrays",
    run=run,
    task=TRANSLATION,
    bound=Bound("dram", "24 n bytes over the memory bandwidth"),
    kernels=(translate,),
    predicts=(
        Prediction(
            "global_load_sectors_per_request", "==", 4, 256, "32 neighbours of 4 bytes: 4 sectors"
        ),
        Prediction("load_utilisation_32", "==", 100, 256, "every byte of a sector is asked for"),
        Prediction(
            "global_load_sectors",
            "==",
            Ratio(1, 3),
            256,
            "as many requests, of 4 sectors instead of 12",
            than="translation-aos",
            tolerance=1e-9,
        ),
        Prediction(
            "global_store_sectors",
            "==",
            Ratio(1, 3),
            256,
            "as many requests, of 4 sectors instead of 12",
            than="translation-aos",
            tolerance=1e-9,
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 23,
            (("translation-soa", 0.0698), ("translation-aos", 0.0537)),
        ),
    ),
)
