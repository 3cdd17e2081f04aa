"""Floyd-Warshall on a CPU, blocked: tiles relaxed by tiles, in the vectors that it has.

`blocked`     the three phases, compiled
`tiles`       the innermost relaxations, a tile of the matrix in vector registers
`tile_hops`   next hops of a tile whose distances fell
`diagonal`    the block on the diagonal, by the book
`packing`     operands laid down as tiles read them
`transposed`  parts of a matrix where rows and columns change places
`symmetry`    whether a matrix is that of an undirected graph, so that one triangle is enough
"""
