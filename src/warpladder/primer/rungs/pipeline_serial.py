"""Copy in, compute, copy out: one after the other.

Idea: pin the host's arrays: memory that is page-locked stays where it is, so the copy engine reads
and writes it by itself, at the full rate of the bus, and the host has nothing to do with it. The
call that starts such a copy returns at once, as a launch does. What keeps the order is a stream,
a queue of work: what is put on one stream runs in the order in which it was put, so the host waits
once, at the end.

Below: data in ordinary memory were copied by the driver first, and the host waited for each copy.

Expect: one launch, and a time that is the sum of three: upload + kernel + download. While one of
the three engines works, two have nothing to do. The next rungs do not change any work that the
counters count; they change what happens at the same time, which only the clock shows.

Found: pinned memory pays. On an NVIDIA H200 (2026-11-23), at n = 2**26, it is 14.1 ms from the
first copy to the end of the last, and 108 ms in `pipeline-pageable`; what it takes to pin the
memory is not in it, and makes a single call like this one the slower of the two. Nor is it copying
alone in the other: the pageable copy is the first to touch the pages of the result.

Source: IM pipelines (serial)

Question: Let the upload take 4 ms, the kernel 2 ms and the download 4 ms. How long does this rung
take, and how long must it take at the least, however well the three overlap?
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
    stream = device.stream()
    words = device.to_device(source, stream=stream)
    launch(device, scramble, blocks_for(n, THREADS), THREADS, words, n, stream=stream)
    device.to_host(words, out=result, stream=stream)
    stream.synchronize()
    return result


RUNG = Rung(
    name="pipeline-serial",
    title="Upload, kernel, download, in one stream",
    source="IM pipelines (serial)",
    run=run,
    task=SCRAMBLE,
    bound=Bound("pcie", "4 n bytes up + kernel + 4 n bytes down"),
    kernels=(scramble,),
    predicts=(
        Prediction("launches", "==", 1, 2048, "all of the data in one kernel"),
        Prediction(
            "global_load_sectors",
            "==",
            256,
            2048,
            "2048 words x 4 bytes, each read once: 8192 / 32",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 26,
            (("pipeline-serial", 14.1), ("pipeline-pageable", 108.0)),
        ),
    ),
)
