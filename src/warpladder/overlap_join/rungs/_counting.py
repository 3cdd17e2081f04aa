"""How the top rungs launch the kernel of `gpu_counters`, and again where counters overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.grids import round_up
from warpladder.device.occupancy import occupancy
from warpladder.overlap_join.gpu_counters.counting import LATER, Shape, counting_kernel
from warpladder.overlap_join.gpu_counters.lists import (
    SPARE,
    build_lists,
    count_ids,
    fill_lists,
    round_up_counts,
    write_postings,
)
from warpladder.overlap_join.gpu_counters.prefix import sum_sums, sum_tiles, sum_within_tiles
from warpladder.overlap_join.gpu_counters.rows import look_at_rows, prepare_rows
from warpladder.overlap_join.measures import COUNT, Rule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.rungs._tasks import Problem

__all__ = ["kernels_with", "partners_with"]

#: Rows that a block of the index has at most: 64 KiB of counters of 8 bits, postings of 16.
MOST_ROWS = (1 << 16) - SPARE
#: Threads of a block, and of one for more rows than these.
FEW, MANY, FROM_ROWS = 256, 1024, 1 << 14
#: Words of counters that a thread scans together, and counters in them.
AT_ONCE, COUNTERS_AT_ONCE = 4, 16


def kernels_with(words: int) -> tuple[Any, ...]:
    """Return what is launched for few rows, signatures having so many words."""
    shape = Shape(threads=FEW, words=words)
    sums = sum_tiles, sum_sums, sum_within_tiles
    indexing = count_ids, round_up_counts, *sums, fill_lists, write_postings
    return (look_at_rows, *indexing, counting_kernel(shape))


def partners_with(device: Device, problem: Problem, words: int) -> NDArray[np.int32]:
    """Return with how many others each row shares as many ids as are asked for.

    Parameters
    ----------
    device, problem
        Where, and of which rows.
    words
        Of the signatures: 32 times as many of the commonest ids have bits in place of lists.

    Returns
    -------
    ndarray, shape (n,), int32
        Additions to counters: half the sum over all ids of the square of how often they occur.
    """
    rows, n = problem.rows, len(problem.rows)
    rule = Rule(COUNT, float(problem.threshold))
    starts, items = device.to_device(rows.starts), device.to_device(rows.items)
    listed = max(rows.universe - 32 * words, 0)
    prepared = prepare_rows(device, starts, items, rule, listed, words)
    of_left, of_right = device.full(n, 0, np.int32), device.full(n, 0, np.int32)
    none, one, table = device.empty(0, np.int32), device.full(1, 0, np.int64), device.empty
    nothing = none, none, one, table(0, np.int64), table(0, np.uint32), 0, 0
    threads = MANY if n > FROM_ROWS else FEW
    for first in range(0, n, MOST_ROWS):
        last = min(first + MOST_ROWS, n)
        of_block = starts[first : last + 1]
        span = int(rows.starts[first]), int(rows.starts[last])
        counters = round_up(last - first + SPARE, COUNTERS_AT_ONCE * threads)
        lists = build_lists(device, of_block, items, span, listed, counters - SPARE)
        bits = prepare_rows(device, of_block, items, rule, listed, words).signatures
        again, again_count = device.empty(last, np.int32), device.full(1, 0, np.int32)

        def count(
            width: int,
            low: int,
            which: Any,
            rows: int,
            again: Any,
            again_count: Any,
            first: int = first,
            block: tuple[Any, ...] = (*lists, of_block, bits),
            counters: int = counters,
        ) -> None:
            shape = Shape(width, threads=threads, words=words)
            resident = occupancy(
                device.properties, threads, shared_bytes=counters
            ).blocks_per_multiprocessor
            blocks = min(rows, resident * device.properties.multiprocessors)
            device.launch(
                counting_kernel(shape), blocks, threads, rows, which, starts, items, *prepared,
                *block, low, counters // 4, counters - SPARE, 1, LATER, -first, first, *rule,
                of_left, of_right, *nothing, again, again_count, shared_bytes=counters,
            )  # fmt: skip

        count(8, 0, none, last, again, again_count)
        many = int(device.to_host(again_count)[0])
        for low in (0, counters // 2) if many else ():
            count(16, low, again[:many], many, none, none)
    partners: NDArray[np.int32] = device.to_host(of_left) + device.to_host(of_right)
    return partners
