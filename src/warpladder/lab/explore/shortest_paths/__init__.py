"""What is asked about shortest paths: each exploration is one file of its name.

What several of them need: `methods` (whole computations, timed) and `side_by_side` (rungs of the
ladder, counted and timed).
"""
