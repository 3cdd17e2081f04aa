"""A ladder whose kernels have mistakes."""

from __future__ import annotations

import toy
from numba import cuda

from warpladder.rung import Ladder


@cuda.jit
def misspelt(y, x):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] + x[ii]  # noqa: F821 - the mistake


@cuda.jit
def from_a_list(y, x):
    i = cuda.grid(1)
    twice = [2, 2]
    if i < x.size:
        y[i] = twice[0] * x[i]


def rung(name, kernel):
    return toy.rung(name, toy.running(kernel), kernels=(kernel,), predicts=(toy.claim(32),))


LADDER = Ladder(
    "mistaken",
    "Rungs whose kernels cannot be compiled, or not simulated",
    (rung("misspelt", misspelt), rung("listed", from_a_list)),
)
