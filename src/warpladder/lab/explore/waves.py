"""A model of how launches scale with the number of multiprocessors: waves of blocks.

Model: a device with p multiprocessors that hold r blocks each runs p * r blocks at a time. A launch
of b blocks takes ceil(b / (p * r)) waves. All waves are taken to last equally long and launches to
cost nothing; that memory is shared by all multiprocessors is left out. What remains is the one
limit that no device escapes: that there must be blocks for all.
"""

from __future__ import annotations

from collections.abc import Iterable

from warpladder.device.occupancy import occupancy
from warpladder.device.properties import DeviceProperties
from warpladder.lab.launches import Launched

__all__ = ["count_waves", "doubled"]


def count_waves(launches: Iterable[Launched], properties: DeviceProperties) -> int:
    """Return how many waves of blocks the launches take, one after the other.

    How many blocks a multiprocessor holds, `occupancy` says. Registers are left out of account,
    and static shared memory.

    Examples
    --------
    >>> from warpladder.device.properties import properties_of
    >>> launches = 3 * [Launched(None, blocks=100, threads=256, shared_bytes=0)]
    >>> [count_waves(launches, properties_of((9, 0), p)) for p in (1, 12, 13)]
    [39, 6, 3]
    """
    waves = 0
    for launch in launches:
        fits = occupancy(properties, launch.threads, shared_bytes=launch.shared_bytes)
        at_a_time = properties.multiprocessors * fits.blocks_per_multiprocessor
        waves += -(-launch.blocks // at_a_time)
    return waves


def doubled(most: int) -> list[int]:
    """Return 1, 2, 4, ... and ``most``.

    Examples
    --------
    >>> doubled(6), doubled(4), doubled(1)
    ([1, 2, 4, 6], [1, 2, 4], [1])
    """
    below = [1 << power for power in range(most.bit_length()) if 1 << power < most]
    return [*below, most]
