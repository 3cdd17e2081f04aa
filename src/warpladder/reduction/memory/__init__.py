"""Where elements lie, and copies of those that no loop can run along.

`layout`         any array, axis and mask as the rows of a matrix, cut into tiles (`tile`)
`levels`         rows that are no regular matrix: side by side in groups, these in groups of groups
`spans`          sides of a matrix cut into runs of indices
`turn`           axes backwards or in another order, without a move
`copies`         the elements of each row put together in a buffer
`turned_copies`  copies against the order of memory, by `squares` of elements
`singles`        elements that lie alone, put together
`halves`         float16s widened
`at_hand`        buffers that lie ready for the next call
"""
