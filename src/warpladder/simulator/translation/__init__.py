"""From Numba's typed IR to a program.

Read `translator` (statements), `expressions`, `calls` with `inlining`, `elements`, `records` and
`attributes`.
"""
