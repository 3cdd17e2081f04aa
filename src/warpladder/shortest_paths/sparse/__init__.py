"""Searches along edges, for graphs that have few of them, or edges of few lengths.

`arcs`           edges in compressed rows, out of each vertex and into it
`orders`         orders of vertices in which neighbours are near each other
`hop_counts`     distances that are counted steps: which of these searches a graph takes
                 `levels`       512 at a time, level by level, a bit each in `masks`
                 `bit_rows`     over rows of bits, where there are many of all arcs
                 `queues`       one at a time, where the graph is long and thin
                 `elimination`  vertices taken out one after another, to `crowded` ones at the end,
                                then two `sweeps` over `strips` of distances
`level_hops`     next hops from such distances
`whole_lengths`  whether edges are a few whole steps long
`dijkstra`       from 32 sources at a time: the loops in `by_source`, their vectors in `lanes`
"""
