"""What IM has: a problem, six experiments, two cases of synchronisation, ways to overlap."""

from __future__ import annotations

from warpladder.lab.coverage.item import Item

__all__ = ["ITEMS"]

ITEMS = (
    Item(
        ("IM device specification",),
        "a GTX 1080 Ti: 28 multiprocessors of 128 cores",
        ("warpladder doctor",),
    ),
    Item(
        ("IM programming flow", "IM launching a kernel"),
        "copy, launch, copy back",
        ("primer/vector-add-grid",),
    ),
    Item(
        ("IM problem statement",),
        "four rows of related ids, and the answer for two in common",
        ("warpladder overlap", "tests/formats/test_sets.py"),
        "Its table leaves out row 4, which shares 10 and 17 with row 3; ours has the pair.",
    ),
    Item(("IM row against chunk",), "first experiment: one row, a thread for each other row"),
    Item(("IM 2-D grid",), "second experiment: a block for each pair, a thread for each id"),
    Item(("IM upper triangle",), "third experiment: each pair once"),
    Item(("IM unroll",), "third experiment: the loop unrolled"),
    Item(
        ("IM unsynchronised increment",),
        "results that vary from launch to launch",
        ("overlap-join/id-per-thread",),
    ),
    Item(("IM shared flags",), "fourth experiment: flags in shared memory, a barrier"),
    Item(("IM atomics",), "fifth experiment: atomic additions"),
    Item(("IM coalesced access",), "sixth experiment: rows in one array"),
    Item(
        ("IM experiments' table",),
        "seconds for 1,000 to 50,000 rows",
        ("docs/sources.md", "benchmarks/gpu_overlap_join.py"),
        "The curves of its last experiment are pictures without figures.",
    ),
    Item(
        ("IM equation",),
        "time grows with the square of the rows",
        ("docs/sources.md",),
    ),
    Item(
        ("IM 50,000 rows",),
        "a result of n * n numbers does not fit",
        ("docs/sources.md", "overlap-join/signatures"),
    ),
    Item(("IM learnings",), "multiples of 32, a block size found by trying"),
    Item(
        ("IM case 1",),
        "threads of one block update one record: shared memory and a barrier",
        ("primer/shared-flags",),
    ),
    Item(
        ("IM case 2",),
        "threads of several blocks update one record: atomics",
        ("primer/atomic-count",),
    ),
    Item(
        ("IM pipelines (serial)", "IM pipelines (2 way)", "IM pipelines (3 way)"),
        "copies and kernels one behind the other, and overlapped",
    ),
    Item(
        ("IM concurrency", "IM concurrency (kernels)", "IM concurrency (default stream)"),
        "streams: when copies and kernels overlap, and when they do not",
    ),
    Item(
        ("IM pinned memory",),
        "page-locked memory, without which copies do not overlap",
        ("explore concurrency",),
    ),
)
