"""All-pairs shortest paths: the library call, the graph it takes and the answer it gives.

Read in this order: `api` (the call), `intake` (what comes in), `forms`, `graph` and `batch` (what
that becomes), `plan` (dtype and method), `solve` (what makes the answer right), `cpu` (the engine),
`symmetry` (whether half of a matrix will do), `blocked` (its three phases), `tiles` (its innermost
loop), `result` (output). Graphs without weights go another way: `hop_counts` (the engine), `levels`
(its searches), `masks` (their vector steps), for full ones `bit_rows`, for long thin ones
`elimination`, `crowded` (its end), `sweeps` (what finds distances then) and `strips` (its vector
steps), or `queues`, and on a GPU `gpu.hop_counts`; and so do sparse ones with weights: `dijkstra`
(the engine), `by_source` (its searches), `lanes` (their vector steps).
"""
