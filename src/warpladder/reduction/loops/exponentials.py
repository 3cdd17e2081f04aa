"""Exponentials of a block in code that becomes vectors, which calls of a library's exp do not."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpladder.device.subroutines import subroutine
from warpladder.reduction.loops.blocks import is_kept
from warpladder.reduction.scalars import as_bits, as_float, loose

__all__ = ["exponentials"]


@subroutine(fastmath={"contract"})
def _exp(x: Any) -> Any:
    """Return exp(x) for x <= 0 within 1.5 units in the last place, in code that becomes vectors.

    It is 2^k times the exponential of what is left, at most ln(2) / 2, by its Taylor series.
    """
    rounder = 6755399441055744.0
    shifted = x * 1.4426950408889634 + rounder
    k = shifted - rounder
    r = (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10
    p = 1.6059043836821613e-10
    p = p * r + 2.08767569878681e-9
    p = p * r + 2.505210838544172e-8
    p = p * r + 2.755731922398589e-7
    p = p * r + 2.7557319223985893e-6
    p = p * r + 2.48015873015873e-5
    p = p * r + 1.984126984126984e-4
    p = p * r + 1.388888888888889e-3
    p = p * r + 8.333333333333333e-3
    p = p * r + 4.1666666666666664e-2
    p = p * r + 1.6666666666666666e-1
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    # The lowest bits of the shifted number hold k; what is less than normal numbers counts as 0.
    power = as_float((as_bits(shifted) << 52) + 0x3FF0000000000000)
    return p * power if x > -708.0 else 0.0


@loose
def exponentials(block: Any, marks: Any, masked: Any, skip_nan: Any, peak: Any) -> Any:
    """Return the sum of exp(x - peak) over what counts of a block, none of which is above it."""
    total = 0.0
    for i in range(block.size):
        power = _exp(np.float64(block[i]) - peak)
        total += power if is_kept(block, marks, i, masked, skip_nan) else 0.0
    return total
