"""What the functions and methods known to Numba do; `table` has them all.

A handler in the table takes a `Builder` and a `call` and emits operations. `operators`, `floats`
and `mathematics` have the functions of scalars, which need no handler: values in, values out.
"""
