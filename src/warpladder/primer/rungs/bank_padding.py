"""Padding: one word more in each row, and a column lies across all banks.

Idea: declare the matrix with 33 columns and leave the last one unused. The rows still begin in
shared memory one after the other, but each begins one bank further on than the one before.

Below: rows of 32 words begin in the same bank, and so does every column end up in one.

Expect: word (r, c) is word 33 r + c, in bank (r + c) mod 32. Along a row c runs through all banks;
down a column r does. One matrix takes 32 wavefronts to load instead of 1024, and no conflict is
left, for 128 bytes more of shared memory, 4224 instead of 4096. The kernel is otherwise the same.

Found: a gain, if not of 32 times. On an NVIDIA H200 (2026-11-23), with 2**14 matrices, this takes
77.5 us and `bank-stride-32` 125 us. Without conflicts both have the same bytes to move.

Source: beyond

Question: Would 34 columns do as well? Count the banks that a column meets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, float32

from warpladder.primer.further_tasks import SIDE, TRANSPOSITION
from warpladder.primer.launching import launch
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.further_tasks import Tiles

__all__ = ["RUNG", "run", "transpose"]

#: Words from one row to the next: it has no factor in common with the number of banks.
PITCH = SIDE + 1


@cuda.jit
def transpose(tiles, out):
    """Transpose one matrix, which is the block's."""
    tile = cuda.shared.array((SIDE, PITCH), float32)
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
    name="bank-padding",
    title="Shared memory with padded rows",
    source="beyond",
    run=run,
    task=TRANSPOSITION,
    bound=Bound("dram", "8 bytes per number over the memory bandwidth"),
    kernels=(transpose,),
    predicts=(
        Prediction(
            "shared_load_wavefronts",
            "==",
            Ratio(1, 32),
            1,
            "each of 32 words lies in a bank of its own",
            than="bank-stride-32",
            tolerance=1e-9,
        ),
        Prediction("shared_bank_conflicts", "==", 0, 1, "along rows and down columns alike"),
        Prediction(
            "global_load_sectors",
            "==",
            1,
            1,
            "the matrix in global memory is not padded",
            than="bank-stride-32",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 14,
            (("bank-padding", 0.0775), ("bank-stride-32", 0.125)),
        ),
    ),
)
