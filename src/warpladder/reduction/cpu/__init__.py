"""The CPU engine: who goes through which elements, and what comes of their states.

`engine`         how a matrix is cut into tiles, and who goes through them
`jobs`           tiles dealt out to threads; `cascade` merges what comes of them, in order
`shared_rows`    one tile gone through by several threads, with the bits that one leaves
`apart`, `runs`  rows whose elements lie apart, alone or in runs (`run_kernel` is their loop)
`grouped_rows`   rows in groups, as those of a box whose edges are cut off
`in_groups`      rows that make no one matrix, where they lie
`line_results`   results made by the loop over lines itself
`short_places`   places of extrema in short rows; `column_places` in few columns
`finishers`      results made of states as `Plan.finish` does, with fewer steps
"""
