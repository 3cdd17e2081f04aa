"""A three-way pipeline: one chunk comes, one is computed, one goes, all at the same time.

Idea: give each chunk its own upload too: upload, kernel and download of a chunk go on one stream,
and each chunk has its own stream. A GPU has an engine for copies in, one for copies out, and its
multiprocessors, and the bus carries both directions at once, so three chunks can be on their way.

Below: with one upload for everything, kernels could not begin before the last word was there.

Two things make or break the overlap. Order: all uploads are queued first, so that none stands
behind anything of another chunk, and memory for the chunks is allocated before the first kernel.
Buffers: a chunk keeps its own until the end. Where chunks take turns in a few buffers, because the
data are larger than the GPU's memory, a chunk must not come in before the one that was there before
is out; on one stream per buffer that order comes by itself.

Expect: 8 launches with the same traffic. The time goes towards the longest of upload, kernel and
download, a third of the sum where the three are equal, plus the ends at which the pipeline fills
and drains. If one of them is much longer than the others, it hides them and little is won.

Found: more than half is hidden. On an NVIDIA H200 (2026-11-23), at n = 2**26, it is 6.64 ms from
the first copy to the end of the last, where `pipeline-two-way` takes 10.6 ms and `pipeline-serial`
14.1 ms.

Source: IM pipelines (3 way)

Question: Let upload, kernel and download take 4 ms, 2 ms and 4 ms again. How long does this rung
take with 8 chunks, and why not cut the data into 8,000?
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
    chunks = chunks_of(n, CHUNKS)
    streams = [device.stream() for _ in chunks]
    parts = [
        device.to_device(source[chunk], stream=stream)
        for chunk, stream in zip(chunks, streams, strict=True)
    ]
    for chunk, stream, part in zip(chunks, streams, parts, strict=True):
        size = chunk.stop - chunk.start
        launch(device, scramble, blocks_for(size, THREADS), THREADS, part, size, stream=stream)
        device.to_host(part, out=result[chunk], stream=stream)
    device.synchronize()
    return result


RUNG = Rung(
    name="pipeline-three-way",
    title="Chunks: uploads, kernels and downloads overlap",
    source="IM pipelines (3 way)",
    run=run,
    task=SCRAMBLE,
    bound=Bound("pcie", "the longest of 4 n bytes up, kernel, and 4 n bytes down"),
    kernels=(scramble,),
    predicts=(
        Prediction("launches", "==", 8, 2048, "8 chunks of 256 words"),
        Prediction(
            "global_load_sectors",
            "==",
            1,
            2048,
            "chunks begin on a line, so that cutting adds no traffic",
            than="pipeline-two-way",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 26,
            (("pipeline-three-way", 6.64), ("pipeline-two-way", 10.6), ("pipeline-serial", 14.1)),
        ),
    ),
)
