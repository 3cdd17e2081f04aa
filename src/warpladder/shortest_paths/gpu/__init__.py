"""The GPU engine: which kernels close a matrix, and how it gets to the GPU and back.

A matrix is closed by the ladder's top rungs themselves (`one_launch`, `resident_tiles`,
`deep_rounds`, `half_tiles`, `batch_of_blocks`); the code of tiles, which `product` needs too,
is in `gpu_tiles` for both.

`close`        a matrix that is on the device
`whole`        one that is large
`small_rounds` one that is large, of numbers of 8 bytes or with next hops
`halves`       a symmetric one that is large
`strips`       the kernel for its rows and columns, if it is not very large
`transfer`     host matrices there and back, through page-locked memory
`out_of_core`  matrices that do not fit, in bands of rows that pass by
`product`      the kernels for that
`engine`       all together: what `shortest_paths` calls
`resident`     weights that are on the GPU already
`batches`      batches of small graphs in one launch
`hop_counts`   graphs whose edges all have the same length, by breadth-first searches
`level_launches`, `level_kernels`  how these are launched, and what each does
`kernels`      weights taken in, first next hops, answers given out
"""

import warpladder.device.numba_target  # noqa: F401 - before kernels import `numba.cuda`
