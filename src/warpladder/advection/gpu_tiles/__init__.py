"""Cells that take many steps between two visits to memory: for the top rung and the engine.

`cells`   one cell: a stencil's sum, or the formula of a scheme with a limiter
`sweeps`  all cells of a strip, in place
`strips`  the kernel: strips of consecutive cells in the registers of a warp's lanes
`whole`   the kernel for systems so small that a block has all of one
`plan`    how long strips are, and how many steps a launch takes
`passes`  the launches of a run, one after the other
"""

import warpladder.device.numba_target  # noqa: F401 - before kernels import `numba.cuda`
