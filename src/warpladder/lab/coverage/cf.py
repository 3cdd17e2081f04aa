"""What CF has: seven listings, two tables, three figures, five versions."""

from __future__ import annotations

from warpladder.lab.coverage.item import Item

__all__ = ["ITEMS"]

ITEMS = (
    Item(
        ("CF I", "CF choosing blocks and threads"),
        "warps and blocks: threads a multiple of 32, the largest blocks possible",
        ("explore blocks",),
    ),
    Item(
        ("CF listing 1",),
        "allocate, copy there, launch, copy back, free",
        ("primer/vector-add-grid",),
        "Nothing is freed by hand: an array of a device is freed when nobody has it any more.",
    ),
    Item(("CF figure 1",), "a grid of blocks of threads", ("primer/matrix-add-2d",)),
    Item(
        ("CF II",),
        "work per thread: cells over threads, rounded up, in a grid as large as the GPU",
        ("shortest-paths/consecutive-cells",),
    ),
    Item(
        ("CF listing 2",),
        "macros for two indices",
        (),
        "Arrays of Numba have two indices by themselves: dist[i, k].",
    ),
    Item(("CF A", "CF listing 3"), "sequential on the CPU"),
    Item(("CF B", "CF listing 4"), "sequential on the GPU, one thread"),
    Item(("CF C", "CF listing 5"), "parallel on the GPU, a run of cells for each thread"),
    Item(("CF D", "CF listing 6"), "one launch, a flag for each block"),
    Item(("CF E",), "memory: registers and shared memory"),
    Item(("CF E, listing 7", "CF listing 7"), "D[i,k] in a register, as it stands there"),
    Item(("CF table I",), "a Xeon X5670 at 2.93 GHz, a GTX 960 at 1,127 MHz", ("docs/sources.md",)),
    Item(("CF table II",), "ten runs of four versions at n = 2048", ("docs/sources.md",)),
    Item(("CF figure 2",), "the CPU against the first parallel version", ("docs/sources.md",)),
    Item(("CF figure 3",), "the versions on the GPU", ("docs/sources.md",)),
    Item(
        ("CF discussion",),
        "43 % by one launch, 16.5 % by the register",
        (
            "explore versions",
            "tests/lab/test_explore_sources.py::test_the_table_of_cf_says_what_cf_says_of_it",
        ),
    ),
)
