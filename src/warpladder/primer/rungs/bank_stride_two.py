"""Banks of shared memory: a stride of two, and every pass serves half of a warp.

Idea: shared memory is made of 32 banks. Words of 4 bytes go to the banks in turn, word w to bank w
mod 32, and each bank hands out one word at a time. A request of a warp is served in passes, called
wavefronts, in each of which every bank gives one word; threads that want the same word share it.
Words in different banks need one wavefront, two different words of one bank need two. That is a
bank conflict. Here stereo sound is taken apart: frames of left and right lie in turn, L R L R, and
are to become all left, then all right. Thread t takes the words 2 t and 2 t + 1.

Below: a warp that reverses its elements wants 32 words in a row, one out of each bank, in whatever
order. From a stride of one it goes to a stride of two.

Expect: words 0, 2, ..., 62 lie in the 16 even banks, two in each: two wavefronts. At n = 512, a
block of 8 warps loads twice, 16 requests in 32 wavefronts, 16 conflicts; the 16 stores lie in a row
and meet none. Straight from global memory each such load would move 8 sectors and use half of each;
through shared memory both global accesses move 4 for each request, and all of it is used. So two
wavefronts are a small price here.

Found: the price is small. On an NVIDIA H200 (2026-11-23), at n = 2**24, this takes 70.0 us and
`shared-reverse`, which moves as many bytes and meets no conflict, 64.1 us.

Source: RD 4

Question: How many wavefronts does a request with a stride of three words take, and why not three?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, float32

from warpladder.device.grids import blocks_for
from warpladder.primer.further_tasks import CHANNELS, FRAMES, PIECE
from warpladder.primer.launching import launch
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Values

__all__ = ["RUNG", "run", "take_apart"]


@cuda.jit
def take_apart(values, out, n):
    """Put the even elements of a piece first, the odd ones behind them."""
    piece = cuda.shared.array(PIECE, float32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * PIECE
    length = min(PIECE, n - first)
    for k in range(t, length, FRAMES):
        piece[k] = values[first + k]
    cuda.syncthreads()
    evens = (length + 1) // 2
    if 2 * t < length:
        out[first + t] = piece[2 * t]
    if 2 * t + 1 < length:
        out[first + evens + t] = piece[2 * t + 1]


def run(device: Device, problem: Values) -> NDArray[np.float32]:
    """Return the elements with the channels of each piece taken apart."""
    n = problem.values.size
    values = device.to_device(problem.values)
    out = device.empty(n, problem.values.dtype)
    launch(device, take_apart, blocks_for(n, PIECE), FRAMES, values, out, n)
    return device.to_host(out)


RUNG = Rung(
    name="bank-stride-two",
    title="Shared memory read with a stride of two words",
    source="RD 4",
    run=run,
    task=CHANNELS,
    bound=Bound("dram", "8 n bytes over the memory bandwidth"),
    kernels=(take_apart,),
    predicts=(
        Prediction(
            "shared_load_wavefronts", "==", 32, 512, "32 words out of 16 banks take two passes"
        ),
        Prediction("shared_load_requests", "==", 16, 512, "8 warps load twice"),
        Prediction("shared_bank_conflicts", "==", 16, 512, "one more than needed in each load"),
        Prediction("shared_store_wavefronts", "==", 16, 512, "the stores are words in a row"),
        Prediction("load_utilisation_32", "==", 100, 512, "global memory is read in a row"),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 24,
            (("bank-stride-two", 0.07), ("shared-reverse", 0.0641)),
        ),
    ),
)
