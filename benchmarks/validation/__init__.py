"""The simulator held against a GPU, a module for each question; `validate_simulator.py` asks them.

`parts` runs them, each in a process of its own; `results`, `launches` (with `ncu` and `counters`),
`occupancy` and `pipelines` are the questions; `report` puts the answers into one small document.
"""
