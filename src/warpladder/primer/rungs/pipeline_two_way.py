"""A two-way pipeline: the download of one chunk runs while the next one is computed.

Idea: cut the kernel into chunks, each on a stream of its own: kernel, then download. Streams are
independent of each other, so while the copy engine brings chunk 1 home, the multiprocessors work on
chunk 2. The upload still comes first and as a whole.

Below: in one stream the download waited for the whole kernel, and on the default stream chunks
waited for each other as well.

Expect: 8 launches instead of 1, over the same words and with the same traffic. The time goes from
upload + kernel + download towards upload + the longer of kernel and download.

Found: as expected. On an NVIDIA H200 (2026-11-23), at n = 2**26, it is 10.6 ms from the first copy
to the end of the last, where `pipeline-serial` takes 14.1 ms.

Source: IM pipelines (2 way)

Question: Let the upload take 4 ms, the kernel 2 ms and the download 4 ms, and a chunk its share of
each. How long does this rung take with 8 chunks?
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
    upload = device.stream()
    words = device.to_device(source, stream=upload)
    # The other streams do not wait for this one by themselves.
    upload.synchronize()
    for chunk in chunks_of(n, CHUNKS):
        stream = device.stream()
        part, size = words[chunk], chunk.stop - chunk.start
        launch(device, scramble, blocks_for(size, THREADS), THREADS, part, size, stream=stream)
        device.to_host(part, out=result[chunk], stream=stream)
    device.synchronize()
    return result


RUNG = Rung(
    name="pipeline-two-way",
    title="Chunks: kernels overlap with downloads",
    source="IM pipelines (2 way)",
    run=run,
    task=SCRAMBLE,
    bound=Bound("pcie", "4 n bytes up + the longer of kernel and 4 n bytes down"),
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
            (("pipeline-two-way", 10.6), ("pipeline-serial", 14.1)),
        ),
    ),
)
