"""The steps of the reduction ladder; the order is in `warpladder.reduction.ladder`."""
