"""Two small kernels on two streams: they overlap, as long as their blocks are few.

Idea: give each kernel a stream of its own. The GPU hands out the blocks of the first kernel, and
when none is left it goes on with those of the second: they find the multiprocessors that the first
left idle. What decides is places, not streams. Two kernels run at the same time only where the
blocks of the first leave places for those of the second; a kernel with more blocks than the GPU
holds fills it alone until its last wave, and the other one waits, stream or no stream.

Below: on one stream the second kernel waited for the first, and both left three quarters of the GPU
idle.

Expect: the same 2 launches and the same sectors. With blocks for a quarter of the multiprocessors
each, the time goes towards that of one kernel, half of the sum. With the grids of `vector-add-grid`
it would be the sum again: IM saw concurrency with few blocks and none with many. The simulator runs
one launch after the other, so only a GPU can show it: `warpladder explore concurrency` measures it
for growing grids.

Found: half of the sum. On an NVIDIA H200 (2026-11-23), at n = 2**26, with its copies from and to
ordinary memory, this takes 104 ms and `kernels-in-turn` 120 ms; of the kernels alone it takes 51 %
of the other's time (`benchmarks/gpu_variants.py`).

Source: IM concurrency (kernels)

Question: A GPU has 132 multiprocessors and holds 8 of these blocks on each; from how many blocks in
the first kernel on does the second have to wait for places?
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
    for part in (words[: n // 2], words[n // 2 :]):
        grid = min(blocks_for(part.size, THREADS), few)
        launch(device, scramble, grid, THREADS, part, part.size, stream=device.stream())
    device.synchronize()
    return device.to_host(words)


RUNG = Rung(
    name="kernels-side-by-side",
    title="Two kernels of few blocks, on two streams",
    source="IM concurrency (kernels)",
    run=run,
    task=SCRAMBLE,
    bound=Bound("issue", "all rounds on half of the multiprocessors"),
    kernels=(scramble,),
    predicts=(
        Prediction("launches", "==", 2, 2048, "one for each half, as before"),
        Prediction(
            "global_load_sectors",
            "==",
            1,
            2048,
            "when a kernel runs makes no difference to what it loads",
            than="kernels-in-turn",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 26,
            (("kernels-side-by-side", 104.0), ("kernels-in-turn", 120.0)),
        ),
    ),
)
