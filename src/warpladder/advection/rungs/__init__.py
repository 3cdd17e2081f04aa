"""The steps of the advection ladder; the order is in `warpladder.advection.ladder`."""

import warpladder.device.numba_target  # noqa: F401 - before kernels import `numba.cuda`
