"""The laboratory: rungs are stated, verified, counted, timed and explained here.

`registry` finds the ladders, `own` those of other people. What is asked of a rung: `verify` (is it
right, do its predictions hold), `check` (the simulator's checks), `climb` (how long does it take,
with `bench`, `gpu_timing` and `ceilings`), `explain` and `differences` (its lines beside counters),
`compile` and `sass` (its machine code), `questions` (those with which rungs end). The answers are
drawn by `pictures`, put into one page by `report`, and are plain data in `documents`. `explore` has
the sources' experiments, `exercises` the learner's, `queue` jobs for a cluster.
"""
