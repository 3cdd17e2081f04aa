"""The rungs of the shortest-paths ladder, one file each; `_tasks` and `_launching` serve them."""

import warpladder.device.numba_target  # noqa: F401 - before kernels import `numba.cuda`
