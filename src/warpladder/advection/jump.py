"""All steps of a linear scheme at once: each wave is multiplied by a power of the scheme's symbol.

On a ring of N cells a step multiplies the wave exp(2 pi i m j / N) by the symbol, the sum of
w[k] exp(2 pi i m o[k] / N). So M steps multiply it by the M-th power, which repeated squaring
finds: a Fourier transform there, and one back, whatever M is.

Cells with ends go on a ring where what lies beyond an end is constant and stays so: then the cells
are laid out with so many constant ones on either side as M steps can look at. It does stay
constant where the scheme does not look from there into the cells (an upwind scheme at the end where
the solution comes in), or where the cells next to it have that same constant, as many as M steps
can carry; and it does not matter where no cell looks beyond (an upwind scheme at the other end).
Elsewhere there is no sound way: ghosts that copy what goes on at an end, or hold against it, are no
waves.

In float64: the plain steps with the same weights, rounded less often. With W the largest sum of
absolute weights, p neighbours and u half a unit in the last place of 1 in the cells' dtype, the
root of the sum of squares of the difference from the plain steps is at most
``(M p W u + 2^-50 (M + log2 N)) |phi|`` in the same norm, if no wave grows; N cells and their norm
are of the ring, with the constant cells that are laid out beyond ends. (Each plain step rounds p
times; rounding is carried on by steps that enlarge nothing.) The second part is what a jump does
itself, and from 2^50 steps on as large as the cells; a jump of more than 2^40 is refused, unless a
step shifts a ring by whole cells: then so do all of them, and nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.advection.forms import Edge, Limited, Problem
from warpladder.device.host_memory import require_memory
from warpladder.errors import InputError

__all__ = ["JumpEngine", "bytes_of_jump"]

_STEPS_INSTEAD = 'method="jump": {}; use method="steps"'
# Complex waves, their powers, and what NumPy's transforms hold beside them; and of cells laid out
# on a line, which is up to an eighth longer, for its factors.
_BYTES_PER_CELL, _BYTES_ON_LINE = 64, 80
# With so many rounding may be 2^-10 of the cells.
_MOST_STEPS = 1 << 40
# Waves are sums of all cells: of larger ones than this they might leave the range of float64.
_MOST_UNSCALED, _SCALE = 2.0**900, 2.0**-512


def bytes_of_jump(offsets: tuple[int, ...], n: int, steps: int, *, is_ring: bool) -> int:
    """Return how many bytes so many steps at once take beside the n cells of a system, at most.

    Examples
    --------
    >>> bytes_of_jump((-1, 0), 1000, 50, is_ring=False)
    84000
    """
    if is_ring:
        return _BYTES_PER_CELL * n
    return _BYTES_ON_LINE * (n + sum(_beyond(offsets, steps)))


class JumpEngine:
    """Advances cells by powers of the symbol, one system after the other."""

    def advance(
        self,
        problem: Problem,
        phi: NDArray[Any],
        first: int,
        steps: int,
        advanced: Callable[[float], None],
    ) -> NDArray[Any]:
        """Return the cells after so many steps, as `forms.Engine` says, equal but for rounding.

        Raises
        ------
        InputError
            The scheme is not linear, a cell is not finite, at an end there is no sound way, or of
            so many steps rounding would leave nothing.
        """
        rule = problem.rule
        if isinstance(rule, Limited):
            raise InputError(
                _STEPS_INSTEAD.format(f"{rule.limiter} is not linear, so that waves do not add up")
            )
        if not np.isfinite(phi).all():
            raise InputError(
                _STEPS_INSTEAD.format("phi has NaN or infinity, which would be carried everywhere")
            )
        result = np.empty_like(phi)
        for system, cells in enumerate(phi):
            weights = rule.weights[system].astype(np.float64)
            if problem.left.kind == "periodic":
                moved = _on_ring(cells, rule.offsets, weights, steps)
            else:
                ends = (
                    _constant(problem.left, cells[0], system, first, steps),
                    _constant(problem.right, cells[-1], system, first, steps),
                )
                moved = _between_constants(cells, rule.offsets, weights, steps, ends)
            # What leaves the range of the cells' dtype is infinite, or 0, as it is step by step.
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                result[system] = moved
            advanced(steps / len(phi))
        return result


def _on_ring(
    cells: NDArray[Any], offsets: tuple[int, ...], weights: NDArray[np.float64], steps: int
) -> NDArray[np.float64]:
    n = len(cells)
    (kept,) = np.nonzero(weights)
    if len(kept) == 1 and weights[kept[0]] == 1:
        return np.roll(cells, -offsets[kept[0]] * steps % n)
    if steps > _MOST_STEPS:
        raise InputError(
            f'steps={steps}: method="jump" takes at most {_MOST_STEPS:,} at once, of more rounding '
            "could be above a thousandth of the cells; give fewer steps"
        )
    require_memory(_BYTES_PER_CELL * n, "phi: the waves of a jump")
    scale = _SCALE if float(np.abs(cells).max()) > _MOST_UNSCALED else 1.0
    # What leaves the range of float64 all the same is infinite, or 0, as it is step by step.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        waves = np.fft.rfft(cells.astype(np.float64) * scale)
        waves *= _power(_symbol(offsets, weights, n), steps)
        return np.asarray(np.fft.irfft(waves, n)) / scale


def _symbol(
    offsets: tuple[int, ...], weights: NDArray[np.float64], n: int
) -> NDArray[np.complex128]:
    """Return by what a step multiplies each wave on a ring of n cells, the longest first.

    Sines and cosines are found once, of angles up to pi, and those of other offsets by products:
    four times as fast as an exponential for each offset, and nearer to the plain steps.
    """
    angles = 2 * np.pi / n * np.arange(n // 2 + 1)
    by_one = np.cos(angles) + 1j * np.sin(angles)
    powers = [np.ones_like(by_one)]
    for _ in range(max(map(abs, offsets))):
        powers.append(powers[-1] * by_one)
    symbol: NDArray[np.complex128] = np.zeros_like(by_one)
    for offset, weight in zip(offsets, weights, strict=True):
        wave = powers[abs(offset)]
        symbol += weight * (wave if offset >= 0 else wave.conj())
    return symbol


def _power(base: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """Return a power by squaring, with a relative error of some ``exponent`` units."""
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result *= base
        exponent >>= 1
        if exponent:
            base = base * base
    return result


def _constant(edge: Edge, own: Any, system: int, first: int, steps: int) -> float:
    """Return what an edge has in each of the steps: a value given, or that of the cell there."""
    if edge.values is None:
        return float(own)
    values = edge.values[first : first + steps, system]
    if not np.array_equal(values, np.full_like(values, values[:1]), equal_nan=True):
        raise InputError(_STEPS_INSTEAD.format("an inflow that changes in time is no wave"))
    return float(values[0]) if len(values) else float(own)


def _between_constants(
    cells: NDArray[Any],
    offsets: tuple[int, ...],
    weights: NDArray[np.float64],
    steps: int,
    ends: tuple[float, float],
) -> NDArray[np.float64]:
    """Advance cells on a line that goes on with a constant at either end."""
    n = len(cells)
    before, behind = _beyond(offsets, steps)
    # What lies beyond an end matters where it is looked at, and is disturbed where it looks in.
    if (before and not np.isfinite(ends[0])) or (behind and not np.isfinite(ends[1])):
        raise InputError(
            _STEPS_INSTEAD.format("what lies beyond an end is not finite, and would be everywhere")
        )
    if before:
        _check_still("left", cells[:behind], behind, ends[0])
    if behind:
        _check_still("right", cells[::-1][:before], before, ends[1])
    needed = bytes_of_jump(offsets, n, steps, is_ring=False)
    require_memory(needed, "phi: cells laid out for a jump")
    # A length of small factors, of which transforms are quick.
    unit = 1 << max((before + n + behind).bit_length() - 4, 0)
    spare = -(before + n + behind) % unit
    line = np.concatenate((np.full(before + spare, ends[0]), cells, np.full(behind, ends[1])))
    start = before + spare
    return _on_ring(line, offsets, weights, steps)[start : start + n]


def _beyond(offsets: tuple[int, ...], steps: int) -> tuple[int, int]:
    """Return how far steps look to the left and to the right; as far they carry to the other."""
    return steps * max(-offsets[0], 0), steps * max(offsets[-1], 0)


def _check_still(end: str, nearest: NDArray[Any], needed: int, constant: float) -> None:
    """Refuse cells near an end that would disturb what lies beyond it."""
    if len(nearest) < needed or not (nearest == constant).all():
        raise InputError(
            _STEPS_INSTEAD.format(
                f"at the {end} end the scheme carries what happens in the cells to the boundary, "
                f"and there is a sound way only where the {needed:,} cells next to it all have its "
                "value"
            )
        )
