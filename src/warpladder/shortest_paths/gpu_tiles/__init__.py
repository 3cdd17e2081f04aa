"""What a block does with a tile in its registers: for the rungs, and for the engine in `gpu`."""

import warpladder.device.numba_target  # noqa: F401 - before kernels import `numba.cuda`
