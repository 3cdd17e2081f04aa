"""The primer ladder: the ideas that every other ladder rests on, one small kernel each."""

import warpladder.device.numba_target  # noqa: F401 - before kernels import `numba.cuda`
