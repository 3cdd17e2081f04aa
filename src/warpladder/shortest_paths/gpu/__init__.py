"""The GPU engine: which kernels close a matrix, and how it gets to the GPU and back.

The kernels are those of the ladder's top rungs (`warpladder.shortest_paths.rungs`).

`close`        a matrix that is on the device
`transfer`     host matrices there and back, through page-locked memory
`out_of_core`  matrices that do not fit, in bands of rows that pass by
`product`      the kernels for that
`engine`       all together: what `shortest_paths` calls
`resident`     weights that are on the GPU already
`batches`      stacks of small graphs in one launch
`kernels`      weights taken in, first next hops, answers given out
"""

import warpladder.device.numba_target  # noqa: F401 - before kernels import `numba.cuda`
