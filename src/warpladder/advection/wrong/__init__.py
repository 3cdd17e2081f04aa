"""Deliberately broken kernels of the advection ladder; the simulator must catch each one."""

import warpladder.device.numba_target  # noqa: F401 - before kernels import `numba.cuda`
