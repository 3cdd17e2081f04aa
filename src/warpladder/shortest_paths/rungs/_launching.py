"""How the host code of the ladder's rungs sizes its grids and pads its matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["MAX_REGISTERS", "THREADS", "padded", "resident_together", "resident_with"]

#: Threads in a block where nothing asks for another number: eight warps, HB's choice too.
THREADS = 256

#: What a kernel whose blocks wait for one another is compiled for: with 64 registers each, 1024
#: threads, four blocks, are resident on a multiprocessor of any GPU.
MAX_REGISTERS = 64
_THREADS_THAT_FIT = 1024


def resident_together(device: Device) -> int:
    """Return a number of blocks that the device certainly holds at a time.

    Provided that they have `THREADS` threads of at most `MAX_REGISTERS` registers.
    """
    return device.properties.multiprocessors * (_THREADS_THAT_FIT // THREADS)


def resident_with(device: Device, kernel: Any, *nothing_to_do: Any) -> int:
    """Return how many blocks of `THREADS` threads of a kernel the device holds at a time.

    That depends on the registers the kernel was given, which are known when it has been compiled.
    So it is launched once, with arguments by which it has nothing to do.
    """
    device.launch(kernel, 1, THREADS, *nothing_to_do)
    return device.properties.multiprocessors * device.max_active_blocks(kernel, THREADS)


def padded(problem: Weights, width: int, height: int | None = None) -> NDArray[Any]:
    """Return the weights in a larger matrix; the vertices added have no edges."""
    matrix = problem.matrix
    n = len(matrix)
    shape = (n if height is None else height, width)
    result = np.full(shape, problem.no_path, matrix.dtype)
    result[:n, :n] = matrix
    return result
