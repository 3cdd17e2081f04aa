"""Counters in shared memory, and the inverted index that drives them: for rungs and the engine.

`prefix`    running sums on the device
`lists`     the index: for each id the rows that have it, filled up to whole loads
`adding`    one more for each row on a list
`packed`    several counters in a word
`rows`      what has to be known of each row
`counting`  a row's counters: counted up, scanned, and what is found written in order
`checking`  pairs that a filter let through, looked at one by one
`runs`      pairs brought into order
"""

import warpladder.device.numba_target  # noqa: F401 - before kernels import `numba.cuda`
