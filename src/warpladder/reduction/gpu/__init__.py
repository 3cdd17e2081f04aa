"""The GPU engine: the same states as on the CPU, filled by kernels.

`words`        the rules, and the words in which they are written on a GPU
`layout`       where the elements of an array on a device lie, as a matrix
`pieces`       how rows are divided among blocks and threads
`walk`         how these go over the rows of a matrix, whatever they accumulate
`folds`        sums, products, extrema, moments and the like
`compensated`  sums as if added in twice the precision
`exact`        exact sums, added in the `windows` of each thread, or its `narrow_windows`
`moments`      means and squared deviations
`custom`       a caller's operation
`parts`        which of these answers a `Part`, and what is left to the host
`finish`       results made by the kernel, where nothing is left to the host, as `made` has them
`routes`       how rows, elements and places of results are found
`prepared`     reductions bound to a layout, to be called again
`stream`       matrices of the host, brought to the device tile by tile
`resident`     arrays that are on a device already
"""

import warpladder.device.numba_target
import warpladder.reduction.gpu.words  # noqa: F401 - before kernels call rules
