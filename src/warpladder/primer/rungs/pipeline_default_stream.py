"""Chunks on the default stream: cut into pieces, and still one after the other.

Idea: cut the work into chunks, so that one can be copied while another is computed. Whoever names
no stream uses the default stream. It is a queue like any other, and more than that: it waits for
all other streams, and they wait for it. A copy without a stream also keeps the host until it is
done.

Below: one stream held upload, kernel and download of everything, in order.

Expect: 8 launches over the same words, the same traffic, and nothing won. The upload of a chunk
waits for the download of the one before, as it is behind it in the queue and the host itself waits
for each copy. What was one start of a copy or a kernel is eight, so that it takes a little longer
than before. To overlap, chunks have to be in different queues. The counters cannot tell: they see 8
launches here and in the rungs above alike.

Found: a little longer it is. On an NVIDIA H200 (2026-11-23), at n = 2**26, it is 14.8 ms from the
first copy to the end of the last, and 14.1 ms in `pipeline-serial`.

Source: IM concurrency (default stream)

Question: Would it help to put only the kernels on streams of their own and to leave the copies
where they are?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, chunks_of, launch
from warpladder.primer.scramble import scrambled
from warpladder.primer.tasks import SCRAMBLE
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Words

__all__ = ["RUNG", "run", "scramble"]

CHUNKS = 8


@cuda.jit
def scramble(words, n):
    """Scramble one word in place."""
    i = cuda.grid(1)
    if i < n:
        words[i] = scrambled(words[i])


def run(device: Device, problem: Words) -> NDArray[np.uint32]:
    """Return the scrambled words."""
    n = problem.words.size
    source = device.pinned(n, np.uint32)
    result = device.pinned(n, np.uint32)
    source[:] = problem.words
    for chunk in chunks_of(n, CHUNKS):
        size = chunk.stop - chunk.start
        part = device.to_device(source[chunk])
        launch(device, scramble, blocks_for(size, THREADS), THREADS, part, size)
        device.to_host(part, out=result[chunk])
    return result


RUNG = Rung(
    name="pipeline-default-stream",
    title="Chunks on the default stream: nothing overlaps",
    source="IM concurrency (default stream)",
    run=run,
    task=SCRAMBLE,
    bound=Bound("pcie", "4 n bytes up + kernel + 4 n bytes down, and 8 starts of each"),
    kernels=(scramble,),
    predicts=(
        Prediction("launches", "==", 8, 2048, "8 chunks of 256 words"),
        Prediction(
            "global_load_sectors",
            "==",
            1,
            2048,
            "chunks begin on a line, so that cutting adds no traffic",
            than="pipeline-serial",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 26,
            (("pipeline-default-stream", 14.8), ("pipeline-serial", 14.1)),
        ),
    ),
)
