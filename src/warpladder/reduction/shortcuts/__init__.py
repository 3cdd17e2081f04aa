"""Short ways through `reduce`: the same plan, loops and bits with fewer steps of Python around.

A call looks here first. Each way is found once for arrays laid out alike, and kept; what none takes
goes the long way through `plan` and `passes`.

`ways`          what all of them are made of
`few`           arrays that make one tile: over everything, or `along` an axis
`many`          C-contiguous arrays of more tiles
`views`         arrays that lie otherwise; `steps` takes axes with others between them
`one_row`       one row by a single call; `boxes` all of an array of several axes; `row_at` each row
`several`       more than one operation
`beside_masks`  calls with a mask
`in_bytes`      booleans as the bytes that they are; `in_floats` float16s as float32s
`afterwards`    options that are done to results
"""
