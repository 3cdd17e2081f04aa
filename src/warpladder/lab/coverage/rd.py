"""What RD has: a loop, thirteen kernels, three sizes, a library."""

from __future__ import annotations

from warpladder.lab.coverage.item import Item

__all__ = ["ITEMS"]

ITEMS = (
    Item(("RD threads, blocks, and warps",), "what a grid is made of", ("primer/vector-add-grid",)),
    Item(("RD sequential",), "one loop on the CPU"),
    Item(
        ("RD parallel reduction",),
        "passes, each of which leaves a number for every block",
        ("reduction/interleaved-global",),
    ),
    Item(("RD 1",), "interleaved addressing"),
    Item(("RD 2",), "interleaved addressing in shared memory"),
    Item(("RD 3",), "better branching"),
    Item(("RD 4",), "better branching in shared memory: bank conflicts"),
    Item(("RD 5",), "sequential addressing"),
    Item(("RD 6",), "sequential addressing in shared memory"),
    Item(("RD 7",), "the first addition while loading"),
    Item(("RD 8",), "the last warp unrolled"),
    Item(("RD 9",), "all unrolled, for a block size that is known"),
    Item(("RD 10",), "the array reduced to the size of the grid"),
    Item(("RD 11",), "vector types: four numbers with one load"),
    Item(("RD 12",), "shuffles inside warps"),
    Item(("RD 13",), "a library"),
    Item(
        ("RD 2^10", "RD 2^20", "RD 2^30"),
        "all fourteen at three sizes, with copies",
        ("docs/sources.md",),
        "RD's bars are pictures without figures, so that there is nothing of theirs to quote.",
    ),
    Item(
        ("RD comment on copies",),
        "most of the time measured is copies",
        ("docs/sources.md",),
    ),
    Item(("RD final comparison",), "kernels beside the library", ("docs/sources.md",)),
)
