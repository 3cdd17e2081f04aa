"""What HB has: a review, an algorithm, a program, spot checks, a study and nine explorations."""

from __future__ import annotations

from warpladder.lab.coverage.item import Item

__all__ = ["ITEMS"]

_GOLDEN = "tests/shortest_paths/test_golden.py"
_NO_FIGURE = "The figure itself is missing in our copy: what the text tells of it is there."

ITEMS = (
    Item(("HB 1.2",), "dynamic programming, recursive and iterative", ("explore subproblems",)),
    Item(("HB figure 1.1",), "a graph without cycles", ("explore subproblems",), _NO_FIGURE),
    Item(
        ("HB 1.2, tables",),
        "the last step, and what must be known for it",
        (
            "explore subproblems",
            f"{_GOLDEN}::test_the_last_step_of_graph2_is_reckoned_as_in_the_text",
        ),
    ),
    Item(("HB spot check 1",), "an order in which predecessors come first"),
    Item(
        ("HB figure 1.2", "HB graph1"),
        "six vertices and their matrix",
        (
            "warpladder make-graph graph1",
            f"{_GOLDEN}::test_graph1_can_be_made",
        ),
    ),
    Item(
        ("HB graph2",),
        "the graph of figure 1.1 as a file",
        ("warpladder make-graph graph2-end",),
        _NO_FIGURE,
    ),
    Item(
        ("HB equation 1.1", "HB equation 1.2"),
        "M_k from M_(k-1)",
        (
            "warpladder paths --trace",
            f"{_GOLDEN}::test_every_matrix_is_the_one_hb_prints",
        ),
    ),
    Item(
        ("HB spot check 2",),
        "the matrix M_1",
        (
            "warpladder paths --trace",
            f"{_GOLDEN}::test_the_second_matrix_differs_from_the_first_in_two_entries",
        ),
    ),
    Item(("HB 1.4",), "a processor for each entry, n steps", ("shortest-paths/launch-per-k",)),
    Item(("HB 1.4.1, copies",), "copy, launch, copy back", ("primer/vector-add-grid",)),
    Item(
        ("HB spot check 3",),
        "the four pairs without a way in M_5",
        (
            "warpladder paths --trace",
            f"{_GOLDEN}::test_the_four_pairs_without_a_path_in_m5_are_in_row_c",
        ),
    ),
    Item(("HB fwStepK",), "the kernel: a block shares the entry of its row"),
    Item(("HB figure 1.3",), "the memories of a GPU", ("primer/shared-flags", "primer/registers")),
    Item(
        ("HB 1.4.2, synchronisation",),
        "a kernel for each step, one behind the other",
        (
            "shortest-paths/launch-per-k",
            "shortest-paths/steps-without-barrier",
        ),
    ),
    Item(("HB figure 1.4",), "grids and blocks", ("primer/matrix-add-2d",)),
    Item(
        ("HB 1.4.2, shapes",),
        "1,000 by 1,000 entries in blocks of several shapes",
        (
            "shortest-paths/row-blocks",
            "shortest-paths/column-blocks",
            "primer/matrix-add-warp-rows",
        ),
    ),
    Item(("HB figure 1.5",), "blocks that are rows, blocks that are columns", ("explore columns",)),
    Item(
        ("HB 1.4.3",),
        "warps, segments, and rows that begin at one",
        (
            "shortest-paths/padded-rows",
            "explore pitch",
        ),
    ),
    Item(("HB 2.1",), "is CUDA there?", ("warpladder doctor",)),
    Item(
        ("HB figure 2.1", "HB 2.2.1"),
        "the file format",
        (
            "warpladder paths",
            "tests/formats/test_good_files.py",
        ),
    ),
    Item(("HB figure 2.2",), "directed and undirected cycles", ("warpladder make-graph cycle",)),
    Item(
        ("HB 2.2.2",),
        "the program run, its matrices printed, its errors told",
        ("warpladder paths",),
    ),
    Item(
        ("HB spot check 4",),
        "M_0 to M_6 as printed",
        (
            "warpladder paths --trace",
            f"{_GOLDEN}::test_every_matrix_is_the_one_hb_prints",
        ),
    ),
    Item(
        ("HB 2.2.3",),
        "a job for a queue of a cluster",
        (),
        ("No command writes or submits jobs yet."),
    ),
    Item(
        ("HB 2.3", "HB figure 2.3", "HB figure 2.4", "HB table of cards"),
        ("the study of scalability: cycles, ten runs, copies subtracted, two ratios"),
        (),
        ("HB's cards are not at hand, and their times are pictures."),
    ),
    Item(("HB exploration 1",), "does the order of blocks matter?"),
    Item(("HB exploration 2",), "is the barrier needed?"),
    Item(("HB exploration 3",), "pitched allocation"),
    Item(("HB exploration 4",), "columns instead of rows"),
    Item(("HB exploration 5",), "is CUDA worth the trouble?"),
    Item(("HB exploration 6",), "how does the time grow?"),
    Item(("HB exploration 7",), "jumps in the curve"),
    Item(("HB exploration 8",), "the path itself"),
    Item(("HB exploration 9",), "strong scaling"),
    Item(("HB 3.1",), "fw.c: the kernel and its steps", ("shortest-paths/padded-rows",)),
    Item(
        ("HB 3.2", "HB 3.3"),
        "fwHelpers: reading a graph, printing a matrix",
        (
            "warpladder paths",
            "tests/formats/test_good_files.py",
        ),
    ),
    Item(("HB 4",), "answers to the spot checks", (_GOLDEN, "explore subproblems")),
)
