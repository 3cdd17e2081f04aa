"""One file per rung; `warpladder.primer.ladder` has their order."""
