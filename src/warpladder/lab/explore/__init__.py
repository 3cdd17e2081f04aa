"""Explorations: questions of the sources, answered by running what they are about.

`exploration` is the contract, `registry` the list; explorations stand in the folder of the
computation that they are about. What several of them need: `measure` (times) and `waves` (a model
of how launches scale). `plot` draws.
"""
