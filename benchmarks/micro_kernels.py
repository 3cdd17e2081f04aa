"""Small kernels on which the simulator is held against a GPU: results, and where counted, counters.

Each kernel that is counted has one load and one store of global memory, or of shared memory, at the
pattern in question, so that the requests, sectors and wavefronts of a launch belong to it. Outputs
are on the device before the launch, so every element can be compared, written or not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

__all__ = ["Case", "arithmetic_cases", "control_cases", "launch_case", "memory_cases"]

Array = NDArray[Any]

#: Threads in a block and blocks in a grid of the memory cases: four warps of different alignment.
THREADS, BLOCKS = 64, 2

#: Elements of a shared tile: a warp at a stride of 33, and eight more for the offset.
TILE = 33 * 32 + 8

FULL = 0xFFFFFFFF


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


# --- global memory --------------------------------------------------------------------------------


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


def _numbers(size: int, dtype: str) -> Array:
    rng = np.random.default_rng(size)
    whole = rng.integers(0, 100, size)
    if np.dtype(dtype).kind == "c":
        return (whole + 1j * rng.integers(0, 100, size)).astype(dtype)
    return whole.astype(dtype)


def _filled(size: int, dtype: str) -> Array:
    return np.full(size, 77, dtype)


def _global_case(dtype: str, stride: int, offset: int, step: int, start: int) -> Case:
    n = THREADS * BLOCKS
    return Case(
        f"global/{dtype} load stride {stride} offset {offset}, store stride {step} offset {start}",
        global_strided,
        BLOCKS,
        THREADS,
        lambda: (
            _numbers(n * stride + offset, dtype),
            _filled(n * step + start, dtype),
            stride,
            offset,
            step,
            start,
        ),
    )


def _global_cases() -> Iterator[Case]:
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
            lambda n=n: (_numbers(128, "float32"), _filled(128, "float32"), n),  # type: ignore[misc]
        )
    for threads in (1, 5, 8, 17, 32, 40, 96):
        yield Case(
            f"global/float32 blocks of {threads}",
            global_strided,
            3,
            threads,
            lambda t=threads: (_numbers(3 * t, "float32"), _filled(3 * t, "float32"), 1, 0, 1, 0),  # type: ignore[misc]
        )
    for dtype in ("uint8", "float32", "float64"):
        for factor, shift in ((5, 3), (31, 0), (17, 11)):
            yield Case(
                f"global/{dtype} permuted by {factor} i + {shift}",
                global_permuted,
                BLOCKS,
                THREADS,
                lambda d=dtype, f=factor, s=shift: (_numbers(128, d), _filled(128, d), f, s),  # type: ignore[misc]
            )
        for group in (2, 3, 8, 32, 128):
            yield Case(
                f"global/{dtype} one element for {group} threads",
                global_shared_address,
                BLOCKS,
                THREADS,
                lambda d=dtype, g=group: (_numbers(128, d), _filled(128, d), g),  # type: ignore[misc]
            )
        for size, factor, shift in ((256, 77, 5), (1024, 397, 11), (8192, 4093, 1)):
            yield Case(
                f"global/{dtype} scattered over {size}",
                global_scattered,
                BLOCKS,
                THREADS,
                lambda d=dtype, n=size, f=factor, s=shift: (  # type: ignore[misc]
                    _numbers(n, d),
                    _filled(n, d),
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
                _numbers(s[0] * s[1], "float32").reshape(s),
                _filled(s[0] * s[1], "float32").reshape(s[::-1]),
            ),
        )


# --- shared memory --------------------------------------------------------------------------------


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


def _shared_cases() -> Iterator[Case]:
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
                lambda d=dtype, s=stride: (_numbers(64, d), _filled(64, d), s, 0),  # type: ignore[misc]
            )
        yield Case(
            f"shared/{dtype} stride 1 offset 5",
            kernel,
            2,
            32,
            lambda d=dtype: (_numbers(64, d), _filled(64, d), 1, 5),  # type: ignore[misc]
        )
        yield Case(
            f"shared/{dtype} stride 2, 20 threads",
            kernel,
            2,
            20,
            lambda d=dtype: (_numbers(40, d), _filled(40, d), 2, 0),  # type: ignore[misc]
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
        for what, numbers in patterns.items():
            yield Case(
                f"shared/{dtype} {what}",
                kernel,
                2,
                32,
                lambda d=dtype, p=numbers: (_numbers(1024, d), _filled(64, d), *p),  # type: ignore[misc]
            )
    for width in (32, 33, 34):
        yield Case(
            f"shared/float32 columns of rows of {width}",
            _make_transpose(width),
            1,
            (32, 32),
            lambda: (
                _numbers(1024, "float32").reshape(32, 32),
                _filled(1024, "float32").reshape(32, 32),
            ),
        )


# --- atomics --------------------------------------------------------------------------------------


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


def _atomic_cases() -> Iterator[Case]:
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


def _atomic_results() -> Iterator[Case]:
    for dtype in ("int32", "int64", "float32", "float64"):
        yield Case(
            f"atomic/{dtype} kinds",
            atomic_kinds,
            BLOCKS,
            THREADS,
            lambda d=dtype: (_numbers(128, d) - np.dtype(d).type(50), np.array([-9, 9, 0, 0], d)),  # type: ignore[misc]
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


def memory_cases() -> list[Case]:
    """Return the cases whose traffic is counted: global memory, shared memory, atomics."""
    return [*_global_cases(), *_shared_cases(), *_atomic_cases()]


# --- control flow and warps -----------------------------------------------------------------------


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


def control_cases() -> list[Case]:
    """Return cases of branches, loops, reductions and exchange within a warp."""
    return [*_control_cases(), *_atomic_results()]


def _control_cases() -> Iterator[Case]:
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
            lambda s=size: (_numbers(s, "float32"), _filled(s, "float32")),  # type: ignore[misc]
        )
    yield Case(
        "control/early return, continue and break",
        early_return,
        2,
        128,
        lambda: (_numbers(n, "int32"), _filled(n, "int64"), 230),
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
            lambda v=values, d=dtype: (v, _filled(2, d)),  # type: ignore[misc]
        )
        yield Case(
            f"warp/{dtype} sum by shuffles",
            warp_sum,
            2,
            128,
            lambda v=values, d=dtype: (v, _filled(8, d)),  # type: ignore[misc]
        )
        yield Case(
            f"warp/{dtype} shuffles",
            shuffles,
            2,
            128,
            lambda v=values, d=dtype: (v, _filled(6 * n, d).reshape(6, n)),  # type: ignore[misc]
            rows=("lane 7", "5 lane + 3", "up 3", "down 5", "xor 9", "lane + 1"),
        )
    yield Case(
        "warp/votes and matches",
        votes,
        2,
        128,
        lambda: (_numbers(n, "int32"), _filled(10 * n, "int64").reshape(10, n)),
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
        lambda: (_numbers(n, "int32"), _filled(3 * n, "int64").reshape(3, n)),
        rows=("count", "and", "or"),
    )


# --- arithmetic -----------------------------------------------------------------------------------


@cuda.jit
def integer_basics(a: Any, b: Any, out: Any) -> None:
    """Compute what wraps, and what never does."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        y = b[i]
        out[0, i] = x + y
        out[1, i] = x - y
        out[2, i] = x * y
        out[3, i] = x & y
        out[4, i] = x | y
        out[5, i] = x ^ y
        out[6, i] = ~x
        out[7, i] = -x
        out[8, i] = abs(x)
        out[9, i] = min(x, y)
        out[10, i] = max(x, y)
        out[11, i] = (x < y) + 2 * (x == y)


@cuda.jit
def integer_division(a: Any, b: Any, out: Any) -> None:
    """Divide, by zero and the most negative number too."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        y = b[i]
        out[0, i] = x // y
        out[1, i] = x % y


@cuda.jit
def integer_ratio(a: Any, b: Any, out: Any) -> None:
    """Turn integers into floats."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = x / b[i]
        out[1, i] = np.float32(x)
        out[2, i] = np.float64(x)
        out[3, i] = math.sqrt(x)


@cuda.jit
def integer_shifts(a: Any, b: Any, out: Any) -> None:
    """Shift by what the type has bits for."""
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = a[i] << b[i]
        out[1, i] = a[i] >> b[i]


@cuda.jit
def integer_powers(a: Any, b: Any, out: Any) -> None:
    """Raise to constant and variable powers."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = x**2
        out[1, i] = x**3
        out[2, i] = x ** (b[i] & 7)


@cuda.jit
def integer_bits(a: Any, out: Any) -> None:
    """Count and reverse bits."""
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = cuda.popc(a[i])
        out[1, i] = cuda.clz(a[i])
        out[2, i] = cuda.ffs(a[i])
        out[3, i] = cuda.brev(a[i])


@cuda.jit
def narrowing(a: Any, out: Any) -> None:
    """Cut integers to narrower types."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = np.int8(x)
        out[1, i] = np.uint8(x)
        out[2, i] = np.int16(x)
        out[3, i] = np.uint16(x)
        out[4, i] = np.int32(x)
        out[5, i] = np.uint32(x)
        out[6, i] = np.int64(x)


@cuda.jit
def float_to_integer(a: Any, out: Any) -> None:
    """Turn floats into integers, those that no integer is near to as well."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = np.int32(x)
        out[1, i] = np.int64(x)
        out[2, i] = np.uint32(x)
        out[3, i] = np.uint64(x)
        out[4, i] = int(x)


@cuda.jit
def float_to_narrow(a: Any, out: Any) -> None:
    """Turn floats into integers of fewer than 32 bits."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = np.int8(x)
        out[1, i] = np.uint8(x)
        out[2, i] = np.int16(x)
        out[3, i] = np.uint16(x)


@cuda.jit
def float_basics(a: Any, b: Any, out: Any) -> None:
    """Compute what IEEE 754 rounds in one way."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        y = b[i]
        out[0, i] = x + y
        out[1, i] = x - y
        out[2, i] = x * y
        out[3, i] = x / y
        out[4, i] = -x
        out[5, i] = abs(x)
        out[6, i] = min(x, y)
        out[7, i] = max(x, y)
        out[8, i] = (x < y) + 2 * (x == y) + 4 * (x != y) + 8 * (x >= y)
        out[9, i] = math.sqrt(abs(x))
        out[10, i] = np.float32(x)
        out[11, i] = math.copysign(x, y)


@cuda.jit
def float_fused(a: Any, b: Any, c: Any, out: Any) -> None:
    """Multiply and add with one rounding, asked for."""
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = cuda.fma(a[i], b[i], c[i])


@cuda.jit
def float_contracted(a: Any, b: Any, c: Any, out: Any) -> None:
    """Multiply and add: whether with one rounding or two is up to the compiler."""
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = a[i] * b[i] + c[i]


@cuda.jit
def float_rounding(a: Any, out: Any) -> None:
    """Round to whole numbers."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = math.floor(x)
        out[1, i] = math.ceil(x)
        out[2, i] = math.trunc(x)
        out[3, i] = math.isnan(x) + 2 * math.isinf(x)


@cuda.jit
def float_nearest(a: Any, out: Any) -> None:
    """Round halves to even."""
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = round(a[i])


@cuda.jit
def float_division(a: Any, b: Any, out: Any) -> None:
    """Divide with a whole quotient."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        y = b[i]
        out[0, i] = x // y
        out[1, i] = x % y
        out[2, i] = math.fmod(x, y)


@cuda.jit
def float_powers(a: Any, out: Any) -> None:
    """Raise to whole powers."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = x**2
        out[1, i] = x**3
        out[2, i] = x**-1
        out[3, i] = x**5


@cuda.jit
def float_pow(a: Any, b: Any, out: Any) -> None:
    """Raise to any power."""
    i = cuda.grid(1)
    if i < a.size:
        out[0, i] = a[i] ** b[i]
        out[1, i] = math.pow(a[i], b[i])


@cuda.jit
def transcendental(a: Any, out: Any) -> None:
    """Compute functions that no standard rounds."""
    i = cuda.grid(1)
    if i < a.size:
        x = a[i]
        out[0, i] = math.exp(x)
        out[1, i] = math.log(abs(x))
        out[2, i] = math.sin(x)
        out[3, i] = math.cos(x)
        out[4, i] = math.tanh(x)
        out[5, i] = math.atan(x)
        out[6, i] = math.log1p(abs(x))
        out[7, i] = math.expm1(x)
        out[8, i] = math.erf(x)
        out[9, i] = math.hypot(x, x + 1)


def _integers(dtype: str) -> tuple[Array, Array]:
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    edges = {low, low + 1, high, high - 1, high // 2, 0, 1, 2, 3, 7, 10, 97, 100}
    edges |= {-k for k in (1, 2, 3, 7, 10, 97, 100)} if low < 0 else set()
    one = np.array(sorted(edges), dtype)
    a, b = (part.ravel() for part in np.meshgrid(one, one))
    more = np.random.default_rng(1).integers(low, high, (2, 200), dtype, endpoint=True)
    return np.concatenate([a, more[0]]), np.concatenate([b, more[1]])


def _floats(dtype: str) -> tuple[Array, Array]:
    limits = np.finfo(dtype)
    edges = [
        0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.25, 127.5, 255.9, 300.0, 32767.5, 65536.0,
        float(limits.max), float(limits.tiny), float(limits.smallest_subnormal),
        float(limits.eps), 2.0**31, 2.0**32, 2.0**63, 2.0**64, 1e10, 1e20, math.inf,
    ]  # fmt: skip
    with np.errstate(over="ignore"):
        one = np.array([*edges, *(-edge for edge in edges), math.nan], dtype)
    a, b = (part.ravel() for part in np.meshgrid(one, one))
    rng = np.random.default_rng(2)
    more = rng.standard_normal((2, 500)) * 10.0 ** rng.integers(-10, 10, (2, 500))
    return np.concatenate([a, more[0].astype(dtype)]), np.concatenate([b, more[1].astype(dtype)])


def _per_element(
    name: str,
    kernel: Any,
    inputs: tuple[Array, ...],
    rows: tuple[str, ...],
    result: str,
    *,
    ulps: int = 0,
    expected: Mapping[str, str] | None = None,
) -> Case:
    n = inputs[0].size
    return Case(
        f"arithmetic/{inputs[0].dtype} {name}",
        kernel,
        -(-n // 128),
        128,
        lambda: (*inputs, _filled(len(rows) * n, result).reshape(len(rows), n)),
        ulps=ulps,
        expected=expected or {},
        rows=rows,
    )


def arithmetic_cases() -> list[Case]:
    """Return cases of integer and float arithmetic at the edges of the types."""
    cases: list[Case] = []
    for dtype in ("int32", "int64", "uint8", "int8", "uint32", "uint64"):
        a, b = _integers(dtype)
        bits = 8 * np.dtype(dtype).itemsize
        # Numba computes with 64 bits, where the most negative number has no quotient by -1.
        fits = ~((bits == 64) & (a == np.iinfo(dtype).min) & (b.astype(np.int64) == -1))
        fits &= b != 0
        shift = (np.abs(b.astype(np.int64)) % bits).astype(dtype)
        cases += [
            _per_element("basics", integer_basics, (a, b), (
                "+", "-", "*", "&", "|", "^", "~", "neg", "abs", "min", "max", "compare",
            ), "int64"),
            _per_element("division", integer_division, (a[fits], b[fits]), ("//", "%"), "int64"),
            _per_element(
                "division by zero, or with no quotient", integer_division, (a[~fits], b[~fits]),
                ("//", "%"), "int64",
                expected=dict.fromkeys(("//", "%"), "there is no quotient"),
            ),
            _per_element(
                "to floats", integer_ratio, (a[b != 0], b[b != 0]),
                ("/", "float32", "float64", "sqrt"), "float64",
            ),
            _per_element("shifts", integer_shifts, (a, shift), ("<<", ">>"), "int64"),
            _per_element("powers", integer_powers, (a, b), ("2", "3", "0 to 7"), "int64"),
        ]  # fmt: skip
    for dtype in ("uint32", "uint64", "int32", "int64"):
        a, b = _integers(dtype)
        cases.append(
            _per_element("bits", integer_bits, (a,), ("popc", "clz", "ffs", "brev"), "int64")
        )
    a, b = _integers("int64")
    kinds = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")
    cases.append(_per_element("narrowing", narrowing, (a,), kinds, "int64"))
    cases.append(
        _per_element(
            "shifts beyond the width", integer_shifts, (a, b), ("<<", ">>"), "int64",
            expected=dict.fromkeys(("<<", ">>"), "LLVM leaves shifts beyond the width open"),
        )
    )  # fmt: skip
    for dtype in ("float32", "float64"):
        cases += _float_cases(dtype)
    return cases


def _float_cases(dtype: str) -> list[Case]:
    a, b = _floats(dtype)
    near = np.random.default_rng(4).standard_normal((3, 2000)).astype(dtype)
    # Sums that cancel show a second rounding.
    near[2, ::2] = -(near[0, ::2] * near[1, ::2])
    every = tuple(np.concatenate(pair) for pair in ((a, near[0]), (b, near[1]), (b[::-1], near[2])))
    modest = np.random.default_rng(6).uniform(-20, 20, 2000).astype(dtype)
    positive = np.abs(modest) + np.finfo(dtype).eps
    return [
        _per_element("basics", float_basics, (a, b), (
            "+", "-", "*", "/", "neg", "abs", "min", "max", "compare", "sqrt", "float32",
            "copysign",
        ), "float64"),
        _per_element("fma", float_fused, every, ("fma",), "float64"),
        _per_element(
            "a b + c", float_contracted, every, ("a b + c",), "float64",
            expected={"a b + c": "NVVM contracts a product and a sum to one fma"},
        ),
        _per_element(
            "to integers", float_to_integer, (a,), ("int32", "int64", "uint32", "uint64", "int"),
            "int64",
        ),
        _per_element(
            "to narrow integers", float_to_narrow, (a,), ("int8", "uint8", "int16", "uint16"),
            "int64",
            expected=dict.fromkeys(
                ("int8", "uint8", "int16", "uint16"),
                "LLVM leaves open what does not fit the integer: NVVM may keep more bits",
            ),
        ),
        _per_element(
            "to whole numbers", float_rounding, (a,), ("floor", "ceil", "trunc", "is"), "float64"
        ),
        _per_element("to nearest", float_nearest, (a[np.abs(a) < 1e9],), ("round",), "float64"),
        _per_element(
            "whole quotients", float_division, (a, b), ("//", "%", "fmod"), "float64",
            expected=dict.fromkeys(
                ("//", "%"), "a sequence of operations, which NVVM may contract to fma"
            ),
        ),
        _per_element("whole powers", float_powers, (a,), ("2", "3", "-1", "5"), "float64"),
        _per_element(
            "powers", float_pow, (positive, modest[::-1].copy()), ("**", "pow"), "float64", ulps=8
        ),
        _per_element("functions", transcendental, (modest,), (
            "exp", "log", "sin", "cos", "tanh", "atan", "log1p", "expm1", "erf", "hypot",
        ), "float64", ulps=8),
    ]  # fmt: skip
