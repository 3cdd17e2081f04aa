"""The least and the largest number of a block of floats, and whether one is NaN.

Two at a time, one of either half, there are half as many comparisons that each wait for what is
kept; so it is faster where numbers come from the caches. From memory it depends on the machine
which is: halves are read as two streams. Of 64 MB of float32 in rows of 4,096, by one thread, one
core of an EPYC (Zen 4) found the largest in 4.2 ms so, and in 1.9 one at a time; that of a Xeon in
2.9 to 4.6, and in 5.5.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from warpladder.device.arithmetic import max_number, maximum, min_number, minimum
from warpladder.reduction.scalars import loose, strict

__all__ = [
    "BY_TWOS_FROM",
    "beyond_a_line",
    "extrema_by_twos",
    "extrema_with_nan",
    "most_bytes_by_twos",
]

BY_TWOS_FROM = 256
"""Numbers of a block from which two are taken at a time (`benchmarks/choices.py`:
`extrema-by-twos`)."""

_LINE_BYTES = 64
# What is larger does not lie in the second-level cache of such a core.
_MOST_ON_ZEN = 1 << 19


@cache
def most_bytes_by_twos() -> int:
    """Return up to how many bytes of a tile two numbers are taken at a time.

    Examples
    --------
    >>> most_bytes_by_twos() >= 1 << 19
    True
    """
    import llvmlite.binding as llvm
    from numba import config

    name = config.CPU_NAME or llvm.get_host_cpu_name()
    return _MOST_ON_ZEN if name.startswith("znver") else 1 << 62


@strict
def beyond_a_line(data: Any, at: Any) -> Any:
    """Return how many elements before this one a line of the caches begins.

    Vectors that end in another line are read at less than the rate: the largest of 131,072 int16
    in the second-level cache took 5.4 us where NumPy's allocation began between lines, and 3.9
    where it did not; blocks of which all but the first begin with a line take 4.2 and 4.1.
    """
    return (data.ctypes.data + at * data.itemsize) % _LINE_BYTES // data.itemsize


@loose
def extrema_by_twos(block: Any) -> Any:
    """Return the least and the largest number, and whether there is a NaN: then they are not."""
    low = high = last = block[block.size - 1]
    are_nan = last != last  # noqa: PLR0124 - NaN is not itself
    half = block.size // 2
    few, others = block[:half], block[half : 2 * half]
    for i in range(half):
        a, b = few[i], others[i]
        low, high = min_number(low, min_number(a, b)), max_number(high, max_number(a, b))
        are_nan |= (a != a) | (b != b)  # noqa: PLR0124 - NaN is not itself
    return low, high, are_nan


@loose
def extrema_with_nan(block: Any) -> Any:
    """Return the least and the largest number, NaN where one is."""
    low = high = block[0]
    for i in range(block.size):
        low, high = minimum(low, block[i]), maximum(high, block[i])
    return low, high
