"""The arithmetic that the three pipelines share: enough of it to be worth hiding copies behind."""

from __future__ import annotations

import numpy as np
from numba import cuda

from warpladder.primer.tasks import ROUNDS

__all__ = ["scrambled"]


@cuda.jit(device=True)
def scrambled(word):
    """Return the 32-bit ``word`` after `ROUNDS` steps of Marsaglia's xorshift generator."""
    for _ in range(ROUNDS):
        # Numba widens 32-bit operands to 64 bits; the casts drop what a 32-bit register would.
        word = np.uint32(word ^ (word << 13))
        word = np.uint32(word ^ (word >> 17))
        word = np.uint32(word ^ (word << 5))
    return word
