"""Branches, loops, reductions and exchange within a warp."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import cuda

from micro_kernels.case import Case, filled, numbers

__all__ = ["control_flow_cases"]

FULL = 0xFFFFFFFF


@cuda.jit
def diverge(out: Any, period: Any, rounds: Any) -> None:
    """Run one of two loops, by the bit of the thread number that ``period`` selects."""
    i = cuda.grid(1)
    x = np.uint32(i)
    if (i // period) % 2 == 0:
        for _ in range(rounds):
            x = np.uint32(x * 1664525 + 1013904223)
    else:
        for _ in range(rounds):
            x = np.uint32(x ^ (x << 13))
            x = np.uint32(x ^ (x >> 17))
            x = np.uint32(x ^ (x << 5))
    out[i] = x


@cuda.jit
def uneven_loop(out: Any, period: Any) -> None:
    """Go round as often as the thread's number says."""
    i = cuda.grid(1)
    x = np.uint32(i)
    for _ in range(i % period):
        x = np.uint32(x * 1664525 + 1013904223)
    out[i] = x


@cuda.jit
def grid_stride(source: Any, out: Any) -> None:
    """Walk over the data in steps of the grid."""
    for i in range(cuda.grid(1), source.size, cuda.gridsize(1)):
        out[i] = source[i] * 2 + 1


@cuda.jit
def early_return(source: Any, out: Any, n: Any) -> None:
    """Let some threads leave before the work."""
    i = cuda.grid(1)
    if i >= n or source[i] % 3 == 0:
        return
    total = np.int64(0)
    k = np.int64(0)
    while True:
        k += 1
        if k % 2 == 0:
            continue
        total += k * source[i]
        if k > source[i]:
            break
    out[i] = total


@cuda.jit
def straight(out: Any) -> None:
    """Run a long way without a branch."""
    i = cuda.grid(1)
    x = np.uint32(i)
    for _ in range(4):
        x = np.uint32(x * 1664525 + 1013904223)
    out[i] = x


def _make_block_sum(kind: Any) -> Any:
    @cuda.jit
    def block_sum(source: Any, out: Any) -> None:
        tile = cuda.shared.array(128, kind)
        t = cuda.threadIdx.x
        tile[t] = source[cuda.grid(1)]
        cuda.syncthreads()
        step = 64
        while step > 0:
            if t < step:
                tile[t] += tile[t + step]
            cuda.syncthreads()
            step //= 2
        if t == 0:
            out[cuda.blockIdx.x] = tile[0]

    return block_sum


@cuda.jit
def warp_sum(source: Any, out: Any) -> None:
    """Sum over a warp by shuffles."""
    i = cuda.grid(1)
    value = source[i]
    step = 16
    while step > 0:
        value += cuda.shfl_down_sync(FULL, value, step)
        step //= 2
    if i % 32 == 0:
        out[i // 32] = value


@cuda.jit
def shuffles(source: Any, out: Any) -> None:
    """Exchange by every shuffle."""
    i = cuda.grid(1)
    value = source[i]
    lane = i % 32
    out[0, i] = cuda.shfl_sync(FULL, value, 7)
    out[1, i] = cuda.shfl_sync(FULL, value, (lane * 5 + 3) % 32)
    out[2, i] = cuda.shfl_up_sync(FULL, value, 3)
    out[3, i] = cuda.shfl_down_sync(FULL, value, 5)
    out[4, i] = cuda.shfl_xor_sync(FULL, value, 9)
    out[5, i] = cuda.shfl_sync(FULL, value, lane + 1)


@cuda.jit
def votes(source: Any, out: Any) -> None:
    """Vote, match and count bits."""
    i = cuda.grid(1)
    value = source[i]
    out[0, i] = cuda.ballot_sync(FULL, value > 50)
    out[1, i] = cuda.all_sync(FULL, value >= 0)
    out[2, i] = cuda.any_sync(FULL, value > 98)
    out[3, i] = cuda.eq_sync(FULL, value > 50)
    out[4, i] = cuda.match_any_sync(FULL, value % 4)
    mask, agreed = cuda.match_all_sync(FULL, value * 0 + i // 64)
    out[5, i] = mask
    out[6, i] = agreed
    out[7, i] = cuda.activemask()
    out[8, i] = cuda.lanemask_lt()
    out[9, i] = cuda.laneid


@cuda.jit
def block_votes(source: Any, out: Any) -> None:
    """Count and combine over a block."""
    i = cuda.grid(1)
    out[0, i] = cuda.syncthreads_count(np.int32(source[i] > 50))
    out[1, i] = cuda.syncthreads_and(np.int32(source[i] >= 0))
    out[2, i] = cuda.syncthreads_or(np.int32(source[i] > 200))


def control_flow_cases() -> Iterator[Case]:
    """Yield branches, loops, reductions and exchange within a warp."""
    n = 256
    for period in (1, 2, 16, 32, 64):
        yield Case(
            f"control/branch by runs of {period}",
            diverge,
            2,
            128,
            lambda p=period: (np.full(n, 7, np.uint32), p, 16),  # type: ignore[misc]
        )
    for period in (1, 2, 8, 32, 64):
        yield Case(
            f"control/loop of up to {period - 1} rounds",
            uneven_loop,
            2,
            128,
            lambda p=period: (np.full(n, 7, np.uint32), p),  # type: ignore[misc]
        )
    for threads in (32, 20, 33):
        yield Case(
            f"control/no branch, blocks of {threads}",
            straight,
            2,
            threads,
            lambda t=threads: (np.full(2 * t, 7, np.uint32),),  # type: ignore[misc]
        )
    for size in (100, 1000, 4096):
        yield Case(
            f"control/grid stride over {size}",
            grid_stride,
            2,
            128,
            lambda s=size: (numbers(s, "float32"), filled(s, "float32")),  # type: ignore[misc]
        )
    yield Case(
        "control/early return, continue and break",
        early_return,
        2,
        128,
        lambda: (numbers(n, "int32"), filled(n, "int64"), 230),
    )
    rng = np.random.default_rng(3)
    floats = rng.standard_normal(n)
    for dtype in ("int32", "int64", "float32", "float64"):
        kernel = _make_block_sum(getattr(np, dtype))
        values = (floats * 1000).astype(dtype)
        yield Case(
            f"control/{dtype} sum over a block",
            kernel,
            2,
            128,
            lambda v=values, d=dtype: (v, filled(2, d)),  # type: ignore[misc]
        )
        yield Case(
            f"warp/{dtype} sum by shuffles",
            warp_sum,
            2,
            128,
            lambda v=values, d=dtype: (v, filled(8, d)),  # type: ignore[misc]
        )
        yield Case(
            f"warp/{dtype} shuffles",
            shuffles,
            2,
            128,
            lambda v=values, d=dtype: (v, filled(6 * n, d).reshape(6, n)),  # type: ignore[misc]
            rows=("lane 7", "5 lane + 3", "up 3", "down 5", "xor 9", "lane + 1"),
        )
    yield Case(
        "warp/votes and matches",
        votes,
        2,
        128,
        lambda: (numbers(n, "int32"), filled(10 * n, "int64").reshape(10, n)),
        rows=(
            "ballot", "all", "any", "eq", "match_any", "match_all mask", "match_all agreed",
            "activemask", "lanemask_lt", "laneid",
        ),
    )  # fmt: skip
    yield Case(
        "warp/votes of a block",
        block_votes,
        2,
        128,
        lambda: (numbers(n, "int32"), filled(3 * n, "int64").reshape(3, n)),
        rows=("count", "and", "or"),
    )
