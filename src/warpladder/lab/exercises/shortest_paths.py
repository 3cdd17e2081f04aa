"""Exercises of shortest paths: coalescing, and a min-plus tile."""

from __future__ import annotations

from warpladder.lab.exercises.exercise import Exercise

__all__ = ["EXERCISES"]

EXERCISES = (
    Exercise(
        rung="shortest-paths/strided-cells",
        idea="coalescing: the next thread, not the next step, is next door",
        asks="""
            Each thread has several cells, and as it stands they are a run: one behind the other.
            The distances are right; but the threads of a warp read places far apart, and the
            counters show it. Deal the cells out like cards: with T threads in the grid, thread t
            takes the cells t, t + T, t + 2 T and so on.
        """,
        cut="""
            for cell in range(cuda.grid(1), n * n, cuda.gridsize(1)):
        """,
        put="""
            run_length = (n * n + cuda.gridsize(1) - 1) // cuda.gridsize(1)
            first = cuda.grid(1) * run_length
            for cell in range(first, min(first + run_length, n * n)):
        """,
        hints=(
            "Which cells do threads 0, 1, 2 have in their first step? They should be 0, 1, 2.",
            "The thread's number is `cuda.grid(1)`, that of all threads `cuda.gridsize(1)`.",
            "One range does it: from the thread's number to n * n, in steps of the grid.",
        ),
    ),
    Exercise(
        rung="shortest-paths/blocked-shared",
        idea="a min-plus tile in shared memory",
        asks="""
            A block of 32 x 32 threads relaxes one tile of the matrix through 32 vertices: cell
            (i, j) becomes the least of itself and of `left[y, k] + right[k, x]` for each k of the
            tile. As it stands, nothing is relaxed. Bring tile (row, pivot) into `left` and tile
            (pivot, column) into `right`, an element for each thread, and take all 32 steps there.

            Numba adds in 64 bits: `int32(...)` around the sum makes it one of 32.
        """,
        cut="""
            left[y, x] = dist[i, pivot * TILE + x]
            right[y, x] = dist[pivot * TILE + y, j]
            best = dist[i, j]
            cuda.syncthreads()
            for k in range(TILE):
                # Numba adds in 64 bits; the cast drops what a 32-bit register would.
                best = min(best, int32(left[y, k] + right[k, x]))
        """,
        put="""
            best = dist[i, j]
        """,
        hints=(
            (
                "Thread (x, y) loads `dist[i, pivot * TILE + x]`, row i being its own, and "
                "likewise from row `pivot * TILE + y`, column j being its own."
            ),
            "It then reads what other threads have loaded: a barrier lies between.",
            (
                "Behind the barrier a loop over k in range(TILE), in which best becomes the min "
                "of itself and the sum."
            ),
        ),
    ),
)
