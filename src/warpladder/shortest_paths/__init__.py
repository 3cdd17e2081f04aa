"""All-pairs shortest paths: the library call, the graph it takes and the answer it gives.

Read in this order: `api` (the call), `intake` (what comes in), `forms`, `graph` and `batch` (what
that becomes), `plan` (dtype and method), `solve` (what makes the answer right, with `prepare`,
`structure` and `widening`), `cpu` (the engine), `cpu_tiles.blocked` (its three phases),
`cpu_tiles.tiles` (its innermost loop), `result` and `paths` (output). Graphs without weights, and
sparse ones, go another way, along their edges: `sparse`. Many graphs at once are in `batches`.
"""
