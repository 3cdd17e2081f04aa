"""The accumulators: compiled loops over the elements of a tile, and the states that they leave.

`states`, `blocks`, `cuts`   what is kept of elements gone by; what stands around each loop
`folds`                      any set of statistics of rows along memory, with `extrema`, `moments`,
                             `exponentials` and `ranges`
`columns`                    the same where rows lie across
`places`, `anywhere`         where an extremum is: in a row, or in another order than it is counted
`truths`, `first_truths`     booleans
`compensated`                sums as if in twice the precision
`exact`                      sums with the same bits in any order, made of `limbs`
"""
