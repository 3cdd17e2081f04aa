"""Explorations: questions of the sources, answered by running what they are about.

`exploration` is the contract, `registry` the list; each exploration is one file of its name. What
several of them need: `measure` (times), `methods` (whole computations of shortest paths, timed),
`side_by_side` (rungs, counted and timed) and `launches` (what a rung launches). `plot` draws.
"""
