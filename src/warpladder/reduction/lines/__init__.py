"""Rows that lie across: each line of memory has an element of many of them.

`line_kernel`   the loop over lines that leaves plain numbers, and no record for each row
`lines`         a fold of such rows, which `parts` takes in place of `loops.columns`
`deviations`    the same for moments
`shared_lines`  one tile gone through by several threads
`by_lines`      what lies otherwise, laid as lines some rows at a time
`short_rows`    rows along memory, turned so that they lie across
`small_panels`  rows across in many small panels, as of many matrices of 3 x 3
"""
