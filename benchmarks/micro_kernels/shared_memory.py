"""Reads and writes of shared memory at strides, by several threads, and by columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import cuda

from micro_kernels.case import Case, filled, numbers

__all__ = ["shared_cases"]

#: Elements of a shared tile: a warp at a stride of 33, and eight more for the offset.
TILE = 33 * 32 + 8


def _make_shared_strided(kind: Any) -> Any:
    @cuda.jit
    def shared_strided(source: Any, out: Any, stride: Any, offset: Any) -> None:
        tile = cuda.shared.array(TILE, kind)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        tile[t * stride + offset] = source[i]
        cuda.syncthreads()
        # The neighbour's element: the same pattern, and nothing the thread has in a register.
        out[i] = tile[(t ^ 1) * stride + offset]

    return shared_strided


def _make_shared_pattern(kind: Any) -> Any:
    @cuda.jit
    def shared_pattern(
        source: Any, out: Any, group: Any, stride: Any, square: Any, offset: Any
    ) -> None:
        tile = cuda.shared.array(1024, kind)
        t = cuda.threadIdx.x
        for k in range(t, 1024, cuda.blockDim.x):
            tile[k] = source[k]
        cuda.syncthreads()
        out[cuda.grid(1)] = tile[((t // group) * stride + t * t * square + offset) & 1023]

    return shared_pattern


def _make_transpose(width: int) -> Any:
    @cuda.jit
    def shared_transpose(source: Any, out: Any) -> None:
        tile = cuda.shared.array((32, width), np.float32)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        tile[y, x] = source[y, x]
        cuda.syncthreads()
        out[y, x] = tile[x, y]

    return shared_transpose


def shared_cases() -> Iterator[Case]:
    """Yield the cases of shared memory."""
    few = (1, 2, 3, 4, 5, 8, 16, 17, 32, 33)
    for dtype, strides in (
        ("float32", tuple(range(1, 34))),
        ("float64", tuple(range(1, 34))),
        ("complex128", few),
        ("complex64", few),
        ("int16", few),
        ("uint8", few),
    ):
        kernel = _make_shared_strided(getattr(np, dtype))
        for stride in strides:
            yield Case(
                f"shared/{dtype} stride {stride}",
                kernel,
                2,
                32,
                lambda d=dtype, s=stride: (numbers(64, d), filled(64, d), s, 0),  # type: ignore[misc]
            )
        yield Case(
            f"shared/{dtype} stride 1 offset 5",
            kernel,
            2,
            32,
            lambda d=dtype: (numbers(64, d), filled(64, d), 1, 5),  # type: ignore[misc]
        )
        yield Case(
            f"shared/{dtype} stride 2, 20 threads",
            kernel,
            2,
            20,
            lambda d=dtype: (numbers(40, d), filled(40, d), 2, 0),  # type: ignore[misc]
        )
    patterns = {
        "one element for all": (32, 1, 0, 3),
        "one element for 2, stride 1": (2, 1, 0, 0),
        "one element for 2, stride 32": (2, 32, 0, 0),
        "one element for 4, stride 33": (4, 33, 0, 0),
        "one element for 8, stride 64": (8, 64, 0, 0),
        "squares": (1, 0, 1, 0),
        "scattered, 37 squares": (1, 5, 37, 11),
        "scattered, 101 squares": (1, 19, 101, 500),
        "scattered, 211 squares": (1, 71, 211, 1),
    }
    for dtype in ("float32", "float64", "uint8", "complex128"):
        kernel = _make_shared_pattern(getattr(np, dtype))
        for what, pattern in patterns.items():
            yield Case(
                f"shared/{dtype} {what}",
                kernel,
                2,
                32,
                lambda d=dtype, p=pattern: (numbers(1024, d), filled(64, d), *p),  # type: ignore[misc]
            )
    for width in (32, 33, 34):
        yield Case(
            f"shared/float32 columns of rows of {width}",
            _make_transpose(width),
            1,
            (32, 32),
            lambda: (
                numbers(1024, "float32").reshape(32, 32),
                filled(1024, "float32").reshape(32, 32),
            ),
        )
