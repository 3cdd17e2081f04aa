"""The GPU engine: what `advect` calls where there is a GPU. Its kernels are in `gpu_tiles`."""

import warpladder.device.numba_target  # noqa: F401 - before kernels import `numba.cuda`
