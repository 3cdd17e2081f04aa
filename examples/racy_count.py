"""Count the even numbers of an array, and lose most of them.

Every thread that finds an even number adds one to the same place. ``total[0] += 1`` is a load, an
addition and a store; two threads that load the same total store the same sum, and one of the two is
lost. The simulator's racecheck names the line, and both threads.
"""

from __future__ import annotations

import numpy as np
from numba import cuda

from warpladder.errors import KernelFaultError
from warpladder.simulator import simulate


@cuda.jit
def count_even(numbers, total):
    """Add one to the total for each even number."""
    i = cuda.grid(1)
    if i < numbers.size and numbers[i] % 2 == 0:
        total[0] += 1


def main() -> None:
    """Run it as fast as it goes, then with all checks."""
    total = np.zeros(1, dtype=np.int64)
    simulate(count_even)[4, 64](np.arange(256), total)
    print(f"128 of 256 numbers are even; the kernel counted {total[0]}.")
    try:
        simulate(count_even, checks=True)[4, 64](np.arange(256), np.zeros(1, dtype=np.int64))
    except KernelFaultError as fault:
        print(fault)


if __name__ == "__main__":
    main()
