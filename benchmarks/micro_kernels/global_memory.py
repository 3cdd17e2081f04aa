"""Reads and writes of global memory at strides, offsets, permutations, and scattered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numba import cuda

from micro_kernels.case import BLOCKS, THREADS, Case, filled, numbers

__all__ = ["global_cases"]


@cuda.jit
def global_strided(source: Any, out: Any, stride: Any, offset: Any, step: Any, start: Any) -> None:
    """Read with one stride and offset, write with another."""
    i = cuda.grid(1)
    out[i * step + start] = source[i * stride + offset]


@cuda.jit
def global_guarded(source: Any, out: Any, n: Any) -> None:
    """Copy with a guard that leaves warps partly filled."""
    i = cuda.grid(1)
    if i < n:
        out[i] = source[i]


@cuda.jit
def global_permuted(source: Any, out: Any, factor: Any, shift: Any) -> None:
    """Read and write within runs of 32 elements, out of order."""
    i = cuda.grid(1)
    run = i - i % 32
    out[run + (i * factor) % 32] = source[run + (i * factor + shift) % 32]


@cuda.jit
def global_shared_address(source: Any, out: Any, group: Any) -> None:
    """Read one element by several threads."""
    i = cuda.grid(1)
    out[i] = source[i // group]


@cuda.jit
def global_scattered(source: Any, out: Any, mask: Any, factor: Any, shift: Any) -> None:
    """Read with repeats, write a permutation: both far and wide."""
    i = cuda.grid(1)
    out[(i * factor + shift) & mask] = source[(i * i * factor + 7 * i + shift) & mask]


@cuda.jit
def global_rows(source: Any, out: Any) -> None:
    """Read a matrix by rows, write it by columns."""
    x, y = cuda.grid(2)
    out[x, y] = source[y, x]


def _global_case(dtype: str, stride: int, offset: int, step: int, start: int) -> Case:
    n = THREADS * BLOCKS
    return Case(
        f"global/{dtype} load stride {stride} offset {offset}, store stride {step} offset {start}",
        global_strided,
        BLOCKS,
        THREADS,
        lambda: (
            numbers(n * stride + offset, dtype),
            filled(n * step + start, dtype),
            stride,
            offset,
            step,
            start,
        ),
    )


def global_cases() -> Iterator[Case]:
    """Yield the cases of global memory."""
    strides = (1, 2, 3, 4, 8, 16, 32)
    for dtype in ("uint8", "int16", "float32", "float64", "complex64", "complex128"):
        # The store has the stride that the load has not, from the other end.
        for stride, step in zip(strides, reversed(strides), strict=True):
            yield _global_case(dtype, stride, 0, step, 0)
        for offset in range(1, 9):
            yield _global_case(dtype, 1, offset, 1, 9 - offset)
    for stride, offset in ((2, 1), (2, 7), (3, 5), (4, 3), (5, 0), (7, 2), (9, 4), (33, 1)):
        yield _global_case("float32", stride, offset, stride, offset + 1)
    for n in (1, 7, 8, 9, 20, 31, 33, 63, 65, 100, 127):
        yield Case(
            f"global/float32 guard {n} of {THREADS * BLOCKS}",
            global_guarded,
            BLOCKS,
            THREADS,
            lambda n=n: (numbers(128, "float32"), filled(128, "float32"), n),  # type: ignore[misc]
        )
    for threads in (1, 5, 8, 17, 32, 40, 96):
        yield Case(
            f"global/float32 blocks of {threads}",
            global_strided,
            3,
            threads,
            lambda t=threads: (numbers(3 * t, "float32"), filled(3 * t, "float32"), 1, 0, 1, 0),  # type: ignore[misc]
        )
    for dtype in ("uint8", "float32", "float64"):
        for factor, shift in ((5, 3), (31, 0), (17, 11)):
            yield Case(
                f"global/{dtype} permuted by {factor} i + {shift}",
                global_permuted,
                BLOCKS,
                THREADS,
                lambda d=dtype, f=factor, s=shift: (numbers(128, d), filled(128, d), f, s),  # type: ignore[misc]
            )
        for group in (2, 3, 8, 32, 128):
            yield Case(
                f"global/{dtype} one element for {group} threads",
                global_shared_address,
                BLOCKS,
                THREADS,
                lambda d=dtype, g=group: (numbers(128, d), filled(128, d), g),  # type: ignore[misc]
            )
        for size, factor, shift in ((256, 77, 5), (1024, 397, 11), (8192, 4093, 1)):
            yield Case(
                f"global/{dtype} scattered over {size}",
                global_scattered,
                BLOCKS,
                THREADS,
                lambda d=dtype, n=size, f=factor, s=shift: (  # type: ignore[misc]
                    numbers(n, d),
                    filled(n, d),
                    n - 1,
                    f,
                    s,
                ),
            )
    for width, height in ((32, 4), (16, 8), (8, 8), (10, 6)):
        shape = (height * 2, width * 2)
        yield Case(
            f"global/float32 blocks of {width} x {height}, rows to columns",
            global_rows,
            (2, 2),
            (width, height),
            lambda s=shape: (  # type: ignore[misc]
                numbers(s[0] * s[1], "float32").reshape(s),
                filled(s[0] * s[1], "float32").reshape(s[::-1]),
            ),
        )
