"""All-pairs shortest paths: the library call, the graph it takes and the answer it gives.

Read in this order: `api` (the call), `intake` and `graph` (input), `solve` (what makes the answer
right), `cpu` (the engine), `blocked` (its three phases), `tiles` (its innermost loop), `result`
(output).
"""
