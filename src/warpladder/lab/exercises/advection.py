"""Exercises of advection: the halo."""

from __future__ import annotations

from warpladder.lab.exercises.exercise import Exercise

__all__ = ["EXERCISES"]

EXERCISES = (
    Exercise(
        rung="advection/tile-with-halo",
        idea="the halo of a tile",
        asks="""
            A block has loaded its own cells into `tile`, at places 1 to 256. Its first cell has a
            left neighbour that belongs to the block before, its last cell a right neighbour that
            belongs to the block behind: the halo. Load both. In `phi` there is always something
            beyond the ends, the ghosts.

            The last block may have fewer cells than threads. Then its last cell is cell n.
        """,
        cut="""
            if t == 0:
                tile[0] = phi[i - 1]
            if t == THREADS - 1 or i == n:
                tile[t + 2] = phi[i + 1]
        """,
        put="",
        hints=(
            "initcheck names the place of the tile that nobody wrote: for whom is it missing?",
            "Thread 0 loads what is to its left, `phi[i - 1]`, into `tile[0]`.",
            (
                "The last thread that has a cell loads what is to its right into `tile[t + 2]`: "
                "thread 255 in a full block, in another one the thread of cell n."
            ),
        ),
    ),
)
