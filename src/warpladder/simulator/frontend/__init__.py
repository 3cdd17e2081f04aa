"""Numba's front end, from either CUDA target: a kernel as typed IR.

Nothing else of the simulator touches Numba's internals. Read `inference`, then `signatures` and
`overloads`.
"""
