"""The steps of the overlap-join ladder; the order is in `warpladder.overlap_join.ladder`."""

import warpladder.device.numba_target  # noqa: F401 - before kernels import `numba.cuda`
