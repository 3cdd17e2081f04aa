"""Copies from ordinary memory: the driver copies first, and the bus second.

Idea: data come from the host over the bus, are worked on, and go back. The operating system may
move ordinary memory, such as NumPy's, or put it out to disk: it is pageable. A copy engine, which
reads the host's memory by itself, must not be surprised by that. So the driver copies such data
piece by piece into memory of its own that stays where it is, and sends it from there.

Below: all rungs so far have looked at kernels and left the copies out. For work as short as vector
addition the copies take far longer than the kernel.

Expect: one launch and the same traffic as in every other rung of this kind; whatever differs is
outside the kernel, where these counters do not look and only the clock does. Each word is moved
through the host's memory once more than it need be, by one thread of the host, and the host cannot
do anything else meanwhile. `warpladder explore concurrency` times this beside the pinned way where
there is a GPU.

Source: IM pinned memory

Question: To lock memory takes longer than to copy it once; for which programs does it pay all the
same?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.scramble import scrambled
from warpladder.primer.tasks import SCRAMBLE
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Words

__all__ = ["RUNG", "run", "scramble"]


@cuda.jit
def scramble(words, n):
    """Scramble one word in place."""
    i = cuda.grid(1)
    if i < n:
        words[i] = scrambled(words[i])


def run(device: Device, problem: Words) -> NDArray[np.uint32]:
    """Return the scrambled words."""
    n = problem.words.size
    result = np.empty_like(problem.words)
    words = device.to_device(problem.words)
    launch(device, scramble, blocks_for(n, THREADS), THREADS, words, n)
    return device.to_host(words, out=result)


RUNG = Rung(
    name="pipeline-pageable",
    title="Upload, kernel, download, from and to ordinary memory",
    source="IM pinned memory",
    run=run,
    task=SCRAMBLE,
    bound=Bound("pcie", "4 n bytes up + kernel + 4 n bytes down, each copied on the host as well"),
    kernels=(scramble,),
    predicts=(
        Prediction("launches", "==", 1, 2048, "all of the data in one kernel"),
        Prediction("global_load_bytes", "==", 8192, 2048, "2048 words x 4 bytes, each read once"),
    ),
)
