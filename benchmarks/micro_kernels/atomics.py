"""Atomic operations: those whose traffic is counted, and those only compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import cuda

from micro_kernels.case import BLOCKS, THREADS, Case, numbers

__all__ = ["atomic_results", "counted_atomic_cases"]


@cuda.jit
def atomic_add(counts: Any, ways: Any, amount: Any) -> None:
    """Add, the old value not looked at."""
    cuda.atomic.add(counts, cuda.grid(1) % ways, amount)


@cuda.jit
def atomic_fetch(counts: Any, old: Any, ways: Any) -> None:
    """Add, and keep what was there: a number for each thread, in no order."""
    i = cuda.grid(1)
    old[i] = cuda.atomic.add(counts, i % ways, 1)


@cuda.jit
def atomic_shared(out: Any, ways: Any) -> None:
    """Add in shared memory."""
    counts = cuda.shared.array(32, np.int32)
    t = cuda.threadIdx.x
    if t < 32:
        counts[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(counts, t % ways, 1)
    cuda.syncthreads()
    if t < 32:
        out[cuda.blockIdx.x, t] = counts[t]


@cuda.jit
def atomic_kinds(values: Any, out: Any) -> None:
    """Apply every operation whose end does not depend on the order."""
    i = cuda.grid(1)
    value = values[i]
    cuda.atomic.max(out, 0, value)
    cuda.atomic.min(out, 1, value)
    cuda.atomic.add(out, 2, value)
    cuda.atomic.sub(out, 3, value)


@cuda.jit
def atomic_bits(values: Any, out: Any) -> None:
    """Apply the operations on unsigned integers."""
    value = values[cuda.grid(1)]
    cuda.atomic.and_(out, 0, value)
    cuda.atomic.or_(out, 1, value)
    cuda.atomic.xor(out, 2, value)
    cuda.atomic.inc(out, 3, 12)
    cuda.atomic.dec(out, 4, 12)


@cuda.jit
def atomic_swaps(out: Any, old: Any) -> None:
    """Swap and compare, each thread at its own place."""
    i = cuda.grid(1)
    old[i] = cuda.atomic.exch(out, i, i + 100)
    old[i] += cuda.atomic.cas(out, i, (i // 2) * 2 + 100, -1)


def counted_atomic_cases() -> Iterator[Case]:
    """Yield atomic additions whose traffic is counted."""
    for dtype in ("int32", "int64", "float32", "float64"):
        for ways in (1, 2, 32):
            yield Case(
                f"atomic/{dtype} add on {ways}",
                atomic_add,
                BLOCKS,
                THREADS,
                lambda d=dtype, w=ways: (np.zeros(32, d), w, np.dtype(d).type(3)),  # type: ignore[misc]
            )
    for ways in (1, 2, 32):
        yield Case(
            f"atomic/int32 fetch from {ways}",
            atomic_fetch,
            BLOCKS,
            THREADS,
            lambda w=ways: (np.zeros(32, np.int32), np.full(128, -1, np.int32), w),  # type: ignore[misc]
            unordered=(1,),
        )
        yield Case(
            f"atomic/shared int32 add on {ways}",
            atomic_shared,
            BLOCKS,
            THREADS,
            lambda w=ways: (np.full((BLOCKS, 32), -1, np.int32), w),  # type: ignore[misc]
        )


def atomic_results() -> Iterator[Case]:
    """Yield all kinds of atomic operations, for their results."""
    for dtype in ("int32", "int64", "float32", "float64"):
        yield Case(
            f"atomic/{dtype} kinds",
            atomic_kinds,
            BLOCKS,
            THREADS,
            lambda d=dtype: (numbers(128, d) - np.dtype(d).type(50), np.array([-9, 9, 0, 0], d)),  # type: ignore[misc]
        )
    for dtype in ("uint32", "uint64"):
        yield Case(
            f"atomic/{dtype} bits",
            atomic_bits,
            BLOCKS,
            THREADS,
            lambda d=dtype: (  # type: ignore[misc]
                np.random.default_rng(5).integers(0, 1 << 31, 128).astype(d),
                np.array([(1 << 32) - 1, 0, 0, 5, 5], d),
            ),
        )
    yield Case(
        "atomic/int32 exch and cas",
        atomic_swaps,
        BLOCKS,
        THREADS,
        lambda: (np.arange(128, dtype=np.int32), np.full(128, -1, np.int32)),
    )
