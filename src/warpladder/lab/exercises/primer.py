"""Exercises of the primer: threads and their elements, warps, shared memory, counting together."""

from __future__ import annotations

from warpladder.lab.exercises.exercise import Exercise

__all__ = ["EXERCISES"]

EXERCISES = (
    Exercise(
        rung="primer/vector-add-grid",
        idea="the guard at the end of the data",
        asks="""
            A block has 256 threads, and n is seldom a multiple of 256: the last block has threads
            for which there is no element. Keep them off memory that is not theirs.
        """,
        cut="""
            if i < n:
                out[i] = a[i] + b[i]
        """,
        put="""
            out[i] = a[i] + b[i]
        """,
        hints=(
            "What is i in the last thread of the last block, when n = 31? It is 255.",
            "A thread may do nothing at all: let it ask first whether there is an element i.",
            "The elements are those from 0 to n - 1, so the addition stands below `if i < n:`.",
        ),
    ),
    Exercise(
        rung="primer/vector-add-grid-stride",
        idea="a grid-stride loop",
        asks="""
            This grid has a thread for about every fourth element: the kernel as it stands leaves
            the others out. Let each thread walk over the data in steps of the whole grid, so that
            threads side by side always have elements side by side.
        """,
        cut="""
            for i in range(cuda.grid(1), n, cuda.gridsize(1)):
                out[i] = a[i] + b[i]
        """,
        put="""
            i = cuda.grid(1)
            if i < n:
                out[i] = a[i] + b[i]
        """,
        hints=(
            "With 256 threads in the grid, thread 5 has the elements 5, 261, 517 and so on.",
            "`cuda.gridsize(1)` is the number of all threads of the grid.",
            "A range has a start, an end and a step: the thread's number, n, and the grid's size.",
        ),
    ),
    Exercise(
        rung="primer/matrix-add-warp-rows",
        idea="coalesced accesses: a warp along a row",
        asks="""
            The sum is right, but see what the counters say: of every sector that moves, an eighth
            is used. A row of the matrix lies in one piece in memory, and the threads of a warp are
            neighbours along x. As it stands, x is the row. Give each thread its element so that a
            warp reads along a row.
        """,
        cut="""
            column, row = cuda.grid(2)
        """,
        put="""
            row, column = cuda.grid(2)
        """,
        hints=(
            "`cuda.grid(2)` returns this thread's number along x, then that along y.",
            (
                "Which of the two indices in `a[row, column]` must differ between neighbours, so "
                "that what they read lies side by side? The last one."
            ),
        ),
    ),
    Exercise(
        rung="primer/divergence-by-warp",
        idea="a branch on which the threads of a warp agree",
        asks="""
            As the branch stands, neighbouring threads disagree and every warp goes both ways. The
            data are arranged in runs of 32 elements of one kind: the first 32 take the first
            formula, the next 32 the second, and so on. Let the branch follow them.
        """,
        cut="""
            if (i // cuda.warpsize) % 2 == 0:
        """,
        put="""
            if i % 2 == 0:
        """,
        hints=(
            "Which number do all 32 threads of a warp have in common, and the next 32 not?",
            "`cuda.warpsize` is 32; i divided by it, without the remainder, counts the warps.",
            "Ask whether `i // cuda.warpsize` is even.",
        ),
    ),
    Exercise(
        rung="primer/shared-flags",
        idea="a barrier",
        asks="""
            Each thread leaves a flag in shared memory, and thread 0 adds them all up. It does not
            wait for the other warps, though: it may read flags that nobody has written yet. Make
            it wait.
        """,
        cut="""
            cuda.syncthreads()
        """,
        put="",
        hints=(
            "The answer may well come out right; racecheck names the two lines that meet.",
            "All threads of a block must have left their flags before one of them adds.",
            "A barrier of the block: `cuda.syncthreads()`, which all of its threads reach.",
        ),
    ),
    Exercise(
        rung="primer/atomic-count",
        idea="an atomic addition",
        asks="""
            Every thread that found its id counts it in the same place. `count[0] += 1` is a load,
            an addition and a store, and threads that load the same old count store the same new
            one. Let the three be one step.
        """,
        cut="""
            cuda.atomic.add(count, 0, 1)
        """,
        put="""
            count[0] += 1
        """,
        hints=(
            "No barrier helps: the threads stand in many blocks, and a barrier holds for one.",
            "What is wanted is an operation that no other thread can come between: `cuda.atomic`.",
            "`cuda.atomic.add` takes the array, the index in it, and what to add.",
        ),
    ),
    Exercise(
        rung="primer/two-arrays-in-dynamic-shared",
        idea="two arrays in one dynamic allocation",
        asks="""
            Dynamic shared memory is one piece: every `cuda.shared.array(0, ...)` begins at its
            first byte, so the two arrays here lie on top of each other. Put the integers, one for
            each pair of threads, in front, and the floats behind them.
        """,
        cut="""
            winners = cuda.shared.array(0, int32)[:pairs]
            floats = cuda.shared.array(0, float32)[pairs:]
        """,
        put="""
            winners = cuda.shared.array(0, int32)
            floats = cuda.shared.array(0, float32)
        """,
        hints=(
            "An int32 and a float32 have 4 bytes each: place k of one is place k of the other.",
            "A slice of an array is an array, too: `[a:b]` costs nothing.",
            "The integers take the first `pairs` places; the floats are the slice behind them.",
        ),
    ),
)
