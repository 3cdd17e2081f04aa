"""What the advection ladder computes: steps of the Lax-Friedrichs scheme, and the oracle.

The cells hold numbers drawn at random, between a flat bottom and a flat top: no two neighbours are
alike, so that a neighbour mistaken for another shows. GR's grid has n + 1 points and two ghosts;
here n counts all points but the ghosts, and there may be none. Beyond an end lies what the cell at
the end holds (homogeneous Neumann).

**The formula.** GR writes a step as ``0.5 * ((r + l) - c * (r - l))`` with l and r the neighbours
and c the Courant number. (The slides' formula has ``l - r`` in the second bracket, which would move
the solution the other way; their code is right.) It takes five operations. Multiplied out, l has
the weight a = (1 + c) / 2 and r the weight b = (1 - c) / 2: a product, and a product added to it,
which every GPU does as one operation, rounded once. Two are left::

    new = fma(b, r, a * l)

All rungs write it so. It is not rounded as GR's five are; but all rungs give the same bits, for it
leaves a compiler nothing to choose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warpladder.rung import Inner, Task, Work

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LAX_FRIEDRICHS", "Cells", "fma_exactly"]

_COURANT = 0.8
#: Steps of few cells, and from which number of cells on there are more.
_FEW_STEPS, _MANY_STEPS, _MANY_CELLS = 24, 200, 1 << 17


class Cells(NamedTuple):
    """Cells to be advanced.

    Attributes
    ----------
    phi
        The cells, shape (n,), float32.
    a, b
        Weights of the left and of the right neighbour, float32.
    steps
        How many to take.
    """

    phi: NDArray[np.float32]
    a: np.float32
    b: np.float32
    steps: int


def _make(n: int, seed: int) -> Cells:
    drawn = np.random.default_rng(seed).random(n, np.float32)
    phi = np.clip(np.float32(1.5) * drawn - np.float32(0.25), np.float32(0), np.float32(1))
    steps = _FEW_STEPS if n < _MANY_CELLS else _MANY_STEPS
    return Cells(phi, np.float32((1 + _COURANT) / 2), np.float32((1 - _COURANT) / 2), steps)


def fma_exactly(
    a: np.float32, b: NDArray[np.float32], c: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return ``a * b + c`` rounded once, by float64.

    The product of two float32 is exact in float64; the sum is not, and rounded again to float32 it
    might be off. Rounded to odd, its last bit says that something follows, and the second rounding
    goes where one alone would. (Boldo and Melquiond, 2008.)

    Examples
    --------
    >>> one = np.array([1], np.float32)
    >>> float(fma_exactly(np.float32(2.0**-24), one + one / 2**23, one)[0] - 1) == 2.0**-23
    True
    """
    product, addend = np.float64(a) * b.astype(np.float64), c.astype(np.float64)
    total = product + addend
    with np.errstate(invalid="ignore"):  # of infinities
        share = total - product
        error = (product - (total - share)) + (addend - share)
    is_even = (total.view(np.int64) & 1) == 0
    odd = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    is_off = np.isfinite(error) & (error != 0) & is_even
    rounded: NDArray[np.float32] = np.where(is_off, odd, total).astype(np.float32)
    return rounded


def _oracle(problem: Cells) -> NDArray[np.float32]:
    phi = problem.phi.copy()
    for _ in range(problem.steps if phi.size else 0):
        padded = np.concatenate([phi[:1], phi, phi[-1:]])
        phi = fma_exactly(problem.b, padded[2:], problem.a * padded[:-2])
    return phi


def _work(problem: Cells) -> Work:
    # At the least the cells are read once and written once, whatever the number of steps.
    return Work(problem.phi.size * problem.steps, 2 * problem.phi.nbytes, "float32")


def _inner(dtype: str) -> Inner:
    from numba import cuda

    real = np.dtype(dtype).type
    left, right = real((1 + _COURANT) / 2), real((1 - _COURANT) / 2)

    # The weights are constants, as good as what is given with a launch: neither takes a register.
    @cuda.jit(device=True)
    def step(c, a, b):  # noqa: ARG001 - operations of other tasks have three operands
        return cuda.fma(right, b, left * c)

    return Inner(step, dtype)


LAX_FRIEDRICHS = Task(
    name="so many steps of the Lax-Friedrichs scheme on n cells, float32",
    make=_make,
    oracle=_oracle,
    work=_work,
    unit="cell steps",
    size_word="cells",
    ceiling=_inner,
    # 256 MiB: several times what the caches of any GPU hold.
    default_n=1 << 26,
    # A warp, a block of 256 and tiles of 1,024, each with its neighbours.
    sizes=(0, 1, 2, 31, 32, 33, 97, 255, 257, 1023, 1025, 3001, (1 << 16) + 7),
    simulated=(0, 1, 2, 31, 32, 33, 97, 255, 257, 1023, 1025, 3001),
)
