"""One launch that is compared, and what the cases have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCKS", "THREADS", "Array", "Case", "filled", "launch_case", "numbers", "per_element"]

Array = NDArray[Any]

#: Threads in a block and blocks in a grid of the memory cases: four warps of different alignment.
THREADS, BLOCKS = 64, 2


@dataclass(frozen=True)
class Case:
    """One launch.

    Attributes
    ----------
    name
        Unique; ``group/what``.
    kernel, grid, block
        What is launched.
    arguments
        Makes the arguments; arrays go to the device and come back.
    ulps
        How far floats may be apart, in units of the last place; 0 asks for equal bits.
    expected
        Why results may differ, by the name of the row, ``""`` where there are none: where there is
        no one right answer.
    rows
        Names of what the rows of the last array hold.
    unordered
        Positions of arguments whose elements are compared sorted.
    """

    name: str
    kernel: Any
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    arguments: Callable[[], tuple[Any, ...]]
    ulps: int = 0
    expected: Mapping[str, str] = field(default_factory=dict)
    rows: tuple[str, ...] = ()
    unordered: tuple[int, ...] = ()


def launch_case(device: Any, case: Case) -> list[Array]:
    """Launch a case once and return all its arrays, as they are afterwards."""
    given = case.arguments()
    arrays = [position for position, one in enumerate(given) if isinstance(one, np.ndarray)]
    passed = list(given)
    for position in arrays:
        passed[position] = device.to_device(given[position])
    device.launch(case.kernel, case.grid, case.block, *passed)
    device.synchronize()
    results = []
    for position in arrays:
        host = device.to_host(passed[position])
        results.append(np.sort(host.ravel()) if position in case.unordered else host)
    return results


def numbers(size: int, dtype: str) -> Array:
    """Return whole numbers below 100, the same for the same size."""
    rng = np.random.default_rng(size)
    whole = rng.integers(0, 100, size)
    if np.dtype(dtype).kind == "c":
        return (whole + 1j * rng.integers(0, 100, size)).astype(dtype)
    return whole.astype(dtype)


def filled(size: int, dtype: str) -> Array:
    """Return an output that no kernel has written to yet."""
    return np.full(size, 77, dtype)


def per_element(
    name: str,
    kernel: Any,
    inputs: tuple[Array, ...],
    rows: tuple[str, ...],
    result: str,
    *,
    ulps: int = 0,
    expected: Mapping[str, str] | None = None,
) -> Case:
    """Return a case in which a thread computes all rows of one element."""
    n = inputs[0].size
    return Case(
        f"arithmetic/{inputs[0].dtype} {name}",
        kernel,
        -(-n // 128),
        128,
        lambda: (*inputs, filled(len(rows) * n, result).reshape(len(rows), n)),
        ulps=ulps,
        expected=expected or {},
        rows=rows,
    )
