"""What holds of a graph apart from distances: who reaches whom, and cycles.

`components`, `strong_components`  parts that are connected, one way or both
`reachability`                     which pairs have a path
`cycles`, `negative_cycles`        a cycle named by its vertices; whether one is negative, and where
"""
