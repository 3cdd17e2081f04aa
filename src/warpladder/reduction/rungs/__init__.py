"""The steps of the reduction ladder; the order is in `warpladder.reduction.ladder`."""

import warpladder.device.numba_target  # noqa: F401 - before kernels import `numba.cuda`
