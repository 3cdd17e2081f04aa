"""The rules for a GPU, and the words in which they are written there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from warpladder.device.numba_target import overload, types
from warpladder.reduction.loops import limbs  # noqa: F401 - so that its rules are among all
from warpladder.reduction.rules import LOW_WORD
from warpladder.reduction.scalars import RULES, add_at, as_bits, as_float, difference, mark_at

__all__: list[str] = []


def _means(function: Callable[..., Any], on_gpu: Callable[..., Any]) -> None:
    """Let kernels that call a function compile another one."""
    overload(function, strict=False)(lambda *_: on_gpu)


def bits_of(number: Any) -> Any:
    cell = cuda.local.array(1, np.float64)
    bits = cell.view(np.int64)
    cell[0] = number
    return bits[0]


def number_of(bits: Any) -> Any:
    cell = cuda.local.array(1, np.int64)
    number = cell.view(np.float64)
    cell[0] = bits
    return number[0]


def add_together(array: Any, i: Any, number: Any) -> None:
    cuda.atomic.add(array, i, number)


def mark_together(array: Any, i: Any, bits: Any) -> None:
    cuda.atomic.or_(array, i, bits)


def minus(a: Any, b: Any) -> Any:
    return a - b


def minus_in_halves(a: Any, b: Any) -> Any:
    # Each half is exact, and so is the difference of two.
    high = np.float64(np.int64(a >> 32) - np.int64(b >> 32))
    return high * 2.0**32 + np.float64(np.int64(a & LOW_WORD) - np.int64(b & LOW_WORD))


@overload(difference)
def _difference(a: Any, b: Any) -> Any:  # noqa: ARG001 - Numba reads these names
    return minus_in_halves if isinstance(a, types.Integer) else minus


for _rule in RULES:
    _means(_rule, _rule)
_means(as_bits, bits_of)
_means(as_float, number_of)
_means(add_at, add_together)
_means(mark_at, mark_together)
