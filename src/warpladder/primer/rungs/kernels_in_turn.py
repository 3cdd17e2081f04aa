"""Two small kernels on one stream: the second waits, though there is room for it.

Idea: some kernels are too small for a GPU. Each of these two works on half of the words with one
block for every fourth multiprocessor, so that three quarters of the GPU have nothing to do. On one
stream the second begins when the first has ended, whether or not it needs anything of it.

Below: pipelines kept the copy engines and the multiprocessors busy at the same time. What is left
is the multiprocessors themselves.

Expect: 2 launches; together they load each word once, at n = 2048 256 sectors. The time is that of
the first plus that of the second, and a quarter of the multiprocessors work. No counter shows the
idle ones.

Found: most of what a clock shows is copies. On an NVIDIA H200 (2026-11-23), at n = 2**26, it is 120
ms from the first copy to the end of the last, from and to ordinary memory as in
`pipeline-pageable`, which takes 108 ms. The kernels alone are 16 % of it
(`benchmarks/gpu_variants.py`).

Source: IM concurrency (kernels)

Question: Would one kernel over all of the words, with twice as many blocks, be as good as two
kernels side by side?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.scramble import scrambled
from warpladder.primer.tasks import SCRAMBLE
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Words

__all__ = ["RUNG", "run", "scramble"]


@cuda.jit
def scramble(words, n):
    """Scramble words in place, a grid apart."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        words[i] = scrambled(words[i])


def run(device: Device, problem: Words) -> NDArray[np.uint32]:
    """Return the scrambled words."""
    words = device.to_device(problem.words)
    n = problem.words.size
    few = max(1, device.properties.multiprocessors // 4)
    stream = device.stream()
    for part in (words[: n // 2], words[n // 2 :]):
        grid = min(blocks_for(part.size, THREADS), few)
        launch(device, scramble, grid, THREADS, part, part.size, stream=stream)
    stream.synchronize()
    return device.to_host(words)


RUNG = Rung(
    name="kernels-in-turn",
    title="Two kernels of few blocks, on one stream",
    source="IM concurrency (kernels)",
    run=run,
    task=SCRAMBLE,
    bound=Bound("issue", "all rounds on a quarter of the multiprocessors"),
    kernels=(scramble,),
    predicts=(
        Prediction("launches", "==", 2, 2048, "one for each half"),
        Prediction("global_load_sectors", "==", 256, 2048, "each of 8192 bytes is loaded once"),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 26,
            (("kernels-in-turn", 120.0), ("pipeline-pageable", 108.0)),
        ),
    ),
)
