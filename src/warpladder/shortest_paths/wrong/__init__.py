"""Wrong rungs of the shortest-paths ladder: each breaks a rule, and a check must catch it."""

import warpladder.device.numba_target  # noqa: F401 - before kernels import `numba.cuda`
