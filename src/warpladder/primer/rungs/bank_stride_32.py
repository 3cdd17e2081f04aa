"""The worst stride for shared memory: a column of a matrix whose rows are 32 words.

Idea: transpose small matrices. Straight from global memory, either the reads or the writes would go
down columns, 32 sectors for each request. Instead a block of 32 x 32 threads reads its matrix row
by row into shared memory, waits, and writes row by row what it reads there column by column.

Below: with a stride of two words, two threads of a warp met at each of 16 banks. A column of this
matrix has a stride of 32 words.

Expect: words 0, 32, 64, ... all lie in bank 0, so a warp's 32 words come one after the other: 32
wavefronts for each request. One matrix takes 32 requests and 1024 wavefronts to load, 992 of them
conflicts; its stores go along rows and take 32. Global memory is read and written in whole sectors,
which is why one does it at all: what would have been 32 sectors are 32 wavefronts on the chip.

Source: RD 4

Question: In which bank does word (r, c) of the matrix lie, and which words of a column share a bank
if the matrix has 31 columns?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, float32

from warpladder.primer.further_tasks import SIDE, TRANSPOSITION
from warpladder.primer.launching import launch
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.further_tasks import Tiles

__all__ = ["RUNG", "run", "transpose"]


@cuda.jit
def transpose(tiles, out):
    """Transpose one matrix, which is the block's."""
    tile = cuda.shared.array((SIDE, SIDE), float32)
    column, row = cuda.threadIdx.x, cuda.threadIdx.y
    number = cuda.blockIdx.x
    tile[row, column] = tiles[number, row, column]
    cuda.syncthreads()
    out[number, row, column] = tile[column, row]


def run(device: Device, problem: Tiles) -> NDArray[np.float32]:
    """Return the transposed matrices."""
    tiles = device.to_device(problem.tiles)
    out = device.empty(problem.tiles.shape, problem.tiles.dtype)
    launch(device, transpose, len(problem.tiles), (SIDE, SIDE), tiles, out)
    return device.to_host(out)


RUNG = Rung(
    name="bank-stride-32",
    title="Shared memory read with a stride of 32 words",
    source="RD 4",
    run=run,
    task=TRANSPOSITION,
    bound=Bound("shared", "32 wavefronts for every 32 numbers, one per clock and multiprocessor"),
    kernels=(transpose,),
    predicts=(
        Prediction("shared_load_wavefronts", "==", 1024, 1, "32 words of one bank, one by one"),
        Prediction("shared_load_requests", "==", 32, 1, "each warp reads one column"),
        Prediction("shared_bank_conflicts", "==", 992, 1, "31 of the 32 passes of each request"),
        Prediction("shared_store_wavefronts", "==", 32, 1, "rows lie across all banks"),
        Prediction("global_load_sectors_per_request", "==", 4, 1, "rows, in whole sectors"),
        Prediction("global_store_sectors_per_request", "==", 4, 1, "rows, in whole sectors"),
    ),
)
