"""What is looked for in a launch and what is counted.

Read `options`, then `monitor`, which execution tells of every instruction, `counters`, `races` with
the `clocks` that barriers advance and the `releases` of fences, and `faults`, which says in words
what was found.
"""
