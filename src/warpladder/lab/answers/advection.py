"""Answers to the questions of the advection ladder."""

from __future__ import annotations

from warpladder.lab.answers.record import Answer
from warpladder.rung import Prediction, Ratio

__all__ = ["ANSWERS"]

ANSWERS = {
    "sequential-cpu": Answer(
        """1 and 0: each cell takes the value that its left neighbour had, so that the wave moves by
        one cell in a step and keeps its shape to the last bit. With smaller numbers it is smeared
        out, which `warpladder explore diffusion` measures."""
    ),
    "cell-per-thread": Answer(
        """5: left and right neighbours together are 34 places in a row, 32 of which fill 4 sectors,
        and two are in a fifth. The other 4 have been brought by the warp's own first load, and the
        fifth is the first of the next warp: the cache has them, or soon will have."""
    ),
    "tile-with-halo": Answer(
        """Thread 231, whose cell is the last. And no: its cells are 8 requests, the last of them
        for 8 threads, and the halo is two more, 10 as ever.""",
        (
            Prediction(
                "global_load_requests", "==", 24 * 4 * 10, 1000, "24 steps, 4 blocks of 10 requests"
            ),
        ),
    ),
    "cells-per-thread": Answer(
        """3: one for the cell, and two for a halo that consists of its left neighbour and, as there
        is nothing to the right, of itself.""",
        (Prediction("global_load_requests", "==", 24 * 37, 1025, "34 and 3 in each of 24 steps"),),
    ),
    "warp-shuffle": Answer(
        """144 and 130. The cells themselves are 128 sectors either way. Here 8 warps load two ends
        each, there a block loads two.""",
        (
            Prediction("global_load_sectors", "==", 24 * 144, 1024, "128 + 8 * 2 in each step"),
            Prediction(
                "global_load_sectors",
                "==",
                Ratio(144, 130),
                1024,
                "the ends of 8 warps, not of one block",
                than="cells-per-thread",
                tolerance=1e-9,
            ),
        ),
    ),
    "steps-per-tile": Answer(
        """512 and 256: with T steps 1,024 - 2 T cells are kept and 2 T are lost. What is lost grows
        with T, and what is gained, T visits to memory made one, grows less and less."""
    ),
    "register-strips": Answer(
        """32: the k-th cells of all strips would lie 32 words apart, all in the same bank. With 33
        words each lane is one bank further than the one before."""
    ),
    "tuned": Answer(
        """A thread has at most 255 registers, and the cells alone would be 256. What does not fit
        goes to local memory, which is memory, and with 255 registers to a thread few warps fit on a
        multiprocessor besides."""
    ),
    "fragile-last-block": Answer(
        """For 1,000 cells both are 233, (999 + 2) % 256 and 999 % 256 + 2. For 1,024 GR's is (1023
        + 2) % 256 = 1 and the right one 1023 % 256 + 2 = 257. Place 1 is the first cell of the
        tile, which is overwritten, and at 257 nobody has written."""
    ),
    "halo-without-barrier": Answer(
        """6: four warps have three seams between them, with a cell on either side. At the ends of a
        block the thread that needs the cell of the halo loads it itself, before it reads it."""
    ),
    "stale-halo": Answer(
        """0.9**24 = 0.08 and 0.1**24 = 1e-24. The second is lost in rounding; the first is an error
        in the second digit of one cell at each seam. With a = b both are 6e-8, as small as
        rounding: such a test passes."""
    ),
}
