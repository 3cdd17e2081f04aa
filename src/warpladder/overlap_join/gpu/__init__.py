"""The GPU engine: which rows are counted against which, and how pairs get back to the host.

What runs are the kernels of the ladder's top rungs, in `gpu_counters`.

`sides`    rows on the device, or brought there when they are needed
`tuning`   how large blocks are, how narrow counters, what is folded
`index`    blocks of right rows with their inverted indexes
`counting` the launches for a stretch of left rows and a block
`engine`   all together: what `overlap_join` calls
"""

import warpladder.device.numba_target  # noqa: F401 - before kernels import `numba.cuda`
