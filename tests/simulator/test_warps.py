"""What the threads of a warp do together: shuffles, votes, matches, masks; and bit functions.

The expectation is written lane by lane in Python.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numba import cuda, int32
from simulating import SCHEDULES, run

from choosing import by_pairs
from warpladder.errors import KernelFaultError

FULL = 0xFFFFFFFF


# --- shuffles -------------------------------------------------------------------------------------


@cuda.jit
def shuffle_idx(mask, values, operand, out):
    i = cuda.threadIdx.x
    if mask >> (i % 32) & 1:
        out[i] = cuda.shfl_sync(mask, values[i], operand[i])


@cuda.jit
def shuffle_up(mask, values, operand, out):
    i = cuda.threadIdx.x
    if mask >> (i % 32) & 1:
        out[i] = cuda.shfl_up_sync(mask, values[i], operand[i])


@cuda.jit
def shuffle_down(mask, values, operand, out):
    i = cuda.threadIdx.x
    if mask >> (i % 32) & 1:
        out[i] = cuda.shfl_down_sync(mask, values[i], operand[i])


@cuda.jit
def shuffle_xor(mask, values, operand, out):
    i = cuda.threadIdx.x
    if mask >> (i % 32) & 1:
        out[i] = cuda.shfl_xor_sync(mask, values[i], operand[i])


# Where each lane reads, by the CUDA programming guide; outside of the warp it keeps its own value.
SHUFFLES = {
    "idx": (shuffle_idx, lambda _, operand: operand % 32),
    "up": (shuffle_up, lambda lane, operand: lane - operand),
    "down": (shuffle_down, lambda lane, operand: lane + operand),
    "xor": (shuffle_xor, lambda lane, operand: lane ^ operand),
}


def shuffled(source_of, mask, threads, values, operand):
    """Return what each thread gets, None where that is undefined or no thread takes part."""
    result = []
    for i in range(threads):
        lane = i % 32
        source = source_of(lane, int(operand[i]))
        place = i - lane + source
        if not mask >> lane & 1:
            result.append(None)
        elif not 0 <= source < 32:
            result.append(values[i])
        else:
            there = mask >> source & 1 and place < threads
            result.append(values[place] if there else None)
    return result


@pytest.mark.parametrize(
    ("kind", "threads", "mask", "schedule"),
    by_pairs(
        list(SHUFFLES),
        [32, 64, 45],
        [FULL, 0x0000FFFF, 0xF0F00FF1],
        ["lockstep", "warps-reverse"],
    ),
)
def test_shuffles_lane_by_lane(kind, threads, mask, schedule):
    kernel, source_of = SHUFFLES[kind]
    rng = np.random.default_rng(threads)
    values = rng.integers(0, 1000, threads)
    checked = 0
    for operand in (np.full(threads, 1), np.full(threads, 16), rng.integers(0, 32, threads)):
        out = np.full(threads, -1)
        launch = (kernel, 1, threads, np.int64(mask), values, operand, out)
        expected = shuffled(source_of, mask, threads, values, operand)
        defined = [k for k, value in enumerate(expected) if value is not None]
        taking_part = sum(mask >> (k % 32) & 1 for k in range(threads))
        if len(defined) == taking_part:
            run(*launch, schedule=schedule)
        else:
            with pytest.raises(KernelFaultError, match="is undefined") as caught:
                run(*launch, schedule=schedule)
            assert caught.value.check == "synccheck"
            run(*launch, schedule=schedule, checks=("memcheck", "racecheck", "initcheck"))
        assert [out[k] for k in defined] == [expected[k] for k in defined]
        checked += len(defined)
    assert checked > 8


def test_a_source_lane_is_taken_modulo_the_width_of_a_warp():
    values, out = np.arange(32), np.full(32, -1)
    run(shuffle_idx, 1, 32, np.int64(FULL), values, np.arange(32) + 35, out)
    assert np.array_equal(out, (np.arange(32) + 35) % 32)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_shuffles_of_every_dtype_keep_all_bits(dtype):
    raw = np.random.default_rng(7).integers(0, 256, 32 * np.dtype(dtype).itemsize, dtype=np.uint8)
    values = raw.view(dtype)
    out = np.zeros_like(values)
    run(shuffle_xor, 1, 32, np.int64(FULL), values, np.full(32, 5), out)
    assert out.tobytes() == values[np.arange(32) ^ 5].tobytes()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_warp_sum_by_shuffles(schedule):
    @cuda.jit
    def kernel(values, sums):
        i = cuda.grid(1)
        total = values[i]
        step = 16
        while step > 0:
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
            step //= 2
        if i % 32 == 0:
            sums[i // 32] = total

    values = np.random.default_rng(1).integers(-99, 99, 4 * 96)
    sums = np.zeros(12, np.int64)
    run(kernel, 4, 96, values, sums, schedule=schedule)
    assert np.array_equal(sums, values.reshape(12, 32).sum(axis=1))


def test_both_halves_of_a_warp_shuffle_apart_in_two_branches():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        if i < 16:
            out[i] = cuda.shfl_xor_sync(0x0000FFFF, i, 15)
        else:
            out[i] = 100 + cuda.shfl_xor_sync(0xFFFF0000, i, 1)

    out = np.zeros(32, np.int64)
    run(kernel, 1, 32, out)
    assert out.tolist() == [15 - i if i < 16 else 100 + (i ^ 1) for i in range(32)]


# --- votes ----------------------------------------------------------------------------------------


@cuda.jit
def votes(mask, chosen, out):
    i = cuda.threadIdx.x
    if mask >> (i % 32) & 1:
        out[i, 0] = cuda.all_sync(mask, chosen[i])
        out[i, 1] = cuda.any_sync(mask, chosen[i])
        out[i, 2] = cuda.eq_sync(mask, chosen[i])
        out[i, 3] = cuda.ballot_sync(mask, chosen[i])


PATTERNS = {
    "none": np.zeros(96, bool),
    "all": np.ones(96, bool),
    "one": np.arange(96) == 40,
    "all but one": np.arange(96) != 70,
    "odd": np.arange(96) % 2 == 1,
    "first half": np.arange(96) % 32 < 16,
    "top lane": np.arange(96) % 32 == 31,
}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("threads", [96, 71])
@pytest.mark.parametrize("mask", [FULL, 0x0000FFFF, 0x80000001], ids=hex)
def test_votes(pattern, threads, mask):
    chosen = PATTERNS[pattern][:threads]
    out = np.full((threads, 4), -1)
    run(votes, 1, threads, np.int64(mask), chosen, out)
    for first in range(0, threads, 32):
        members = [k for k in range(first, min(first + 32, threads)) if mask >> (k - first) & 1]
        says = [bool(chosen[k]) for k in members]
        ballot = sum(1 << (k - first) for k in members if chosen[k])
        expected = [int(all(says)), int(any(says)), int(len(set(says)) == 1), ballot]
        for k in members:
            found = out[k].tolist()
            # Numba types a ballot as int32: bit 31 is its sign.
            found[3] &= FULL
            assert found == expected, k


# --- matches --------------------------------------------------------------------------------------


@cuda.jit
def matches(mask, values, any_out, all_out, agreed):
    i = cuda.threadIdx.x
    if mask >> (i % 32) & 1:
        any_out[i] = cuda.match_any_sync(mask, values[i])
        who, yes = cuda.match_all_sync(mask, values[i])
        all_out[i] = who
        agreed[i] = yes


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("threads", [64, 50])
@pytest.mark.parametrize("mask", [FULL, 0x00FF00FF], ids=hex)
@pytest.mark.parametrize("kinds", [1, 3])
def test_matches(dtype, threads, mask, kinds):
    values = np.random.default_rng(4).integers(0, kinds, threads).astype(dtype)
    any_out, all_out, agreed = np.full((3, threads), -1)
    run(matches, 1, threads, np.int64(mask), values, any_out, all_out, agreed)
    for first in range(0, threads, 32):
        members = [k for k in range(first, min(first + 32, threads)) if mask >> (k - first) & 1]
        everyone = sum(1 << (k - first) for k in members)
        same = len({float(values[k]) for k in members}) == 1
        for k in members:
            alike = sum(1 << (j - first) for j in members if values[j] == values[k])
            assert any_out[k] & FULL == alike
            assert all_out[k] & FULL == (everyone if same else 0)
            assert agreed[k] == same


# --- masks ----------------------------------------------------------------------------------------


def test_activemask_names_the_lanes_on_the_same_path():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        out[i, 0] = cuda.activemask()
        if i % 3 == 0:  # noqa: SIM114 - two paths
            out[i, 1] = cuda.activemask()
        elif i % 3 == 1:
            out[i, 1] = cuda.activemask()
        else:
            out[i, 1] = 0
        out[i, 2] = cuda.activemask()

    out = np.full((40, 3), -1)
    run(kernel, 1, 40, out)
    full = [FULL] * 32 + [0xFF] * 8
    assert (out[:, 0] & FULL).tolist() == full
    assert (out[:, 2] & FULL).tolist() == full
    for i in range(40):
        alike = [k for k in range(i - i % 32, min(40, i - i % 32 + 32)) if k % 3 == i % 3]
        expected = 0 if i % 3 == 2 else sum(1 << (k % 32) for k in alike)
        assert out[i, 1] & FULL == expected


def test_activemask_shrinks_as_lanes_leave_a_loop():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        for k in range(i % 4):
            out[i, k] = cuda.activemask()

    out = np.zeros((32, 3), np.int64)
    run(kernel, 1, 32, out)
    for i in range(32):
        for k in range(i % 4):
            assert out[i, k] & FULL == sum(1 << j for j in range(32) if j % 4 > k)


def test_lane_numbers_and_the_mask_of_lower_lanes():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x + cuda.blockDim.x * cuda.threadIdx.y
        out[i, 0] = cuda.laneid
        out[i, 1] = cuda.lanemask_lt()

    out = np.zeros((55, 2), np.int64)
    run(kernel, 1, (11, 5), out)
    assert out[:, 0].tolist() == [i % 32 for i in range(55)]
    assert (out[:, 1] & FULL).tolist() == [(1 << (i % 32)) - 1 for i in range(55)]


# --- syncwarp -------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_syncwarp_orders_the_lanes_of_a_warp(schedule):
    @cuda.jit
    def kernel(values):
        tile = cuda.shared.array(64, int32)
        i = cuda.threadIdx.x
        tile[i] = values[i]
        cuda.syncwarp()
        step = 16
        while step > 0:
            other = tile[i - i % 32 + (i + step) % 32]
            cuda.syncwarp()
            tile[i] += other
            cuda.syncwarp()
            step //= 2
        values[i] = tile[i]

    values = np.random.default_rng(8).integers(0, 1000, 64).astype(np.int32)
    expected = np.repeat(values.reshape(2, 32).sum(axis=1), 32)
    run(kernel, 1, 64, values, schedule=schedule)
    assert np.array_equal(values, expected)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_syncwarp_of_half_a_warp(schedule):
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(32, int32)
        i = cuda.threadIdx.x
        if i < 16:
            tile[i] = 10 * i
            cuda.syncwarp(0x0000FFFF)
            out[i] = tile[15 - i]
        else:
            tile[i] = i
            cuda.syncwarp(0xFFFF0000)
            out[i] = tile[16 + (i + 1) % 16]

    out = np.zeros(32, np.int64)
    run(kernel, 1, 32, out, schedule=schedule)
    assert out.tolist() == [10 * (15 - i) if i < 16 else 16 + (i + 1) % 16 for i in range(32)]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_two_branches_of_an_if_meet_at_their_syncwarps(schedule):
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(32, int32)
        i = cuda.threadIdx.x
        if i % 2:
            tile[i] = i
            cuda.syncwarp()
            out[i] = tile[i - 1]
        else:
            tile[i] = 100 + i
            cuda.syncwarp()
            out[i] = tile[i + 1]

    out = np.zeros(32, np.int64)
    run(kernel, 1, 32, out, schedule=schedule)
    assert out.tolist() == [100 + i - 1 if i % 2 else i + 1 for i in range(32)]


# --- bits -----------------------------------------------------------------------------------------

WORDS = [0, 1, 2, 3, 0x80000000, 0xFFFFFFFF, 0x12345678, 0x00010000, 0x7FFFFFFF, 6]
LONGS = [*WORDS, 1 << 63, (1 << 64) - 1, 1 << 32, 0x0123456789ABCDEF, 3 << 40]


@pytest.mark.parametrize(
    ("dtype", "width", "numbers"),
    [(np.uint32, 32, WORDS), (np.int32, 32, WORDS), (np.uint64, 64, LONGS), (np.int64, 64, LONGS)],
)
def test_bit_functions(dtype, width, numbers):
    @cuda.jit
    def kernel(values, unsigned, popc, clz, ffs, brev):
        i = cuda.grid(1)
        popc[i] = cuda.popc(values[i])
        clz[i] = cuda.clz(values[i])
        ffs[i] = cuda.ffs(values[i])
        brev[i] = cuda.brev(unsigned[i])  # of unsigned numbers only, in Numba

    unsigned = np.array(numbers, dtype=f"u{width // 8}")
    popc, clz, ffs = np.zeros((3, len(numbers)), np.int64)
    brev = np.zeros(len(numbers), unsigned.dtype)
    run(kernel, 1, len(numbers), unsigned.view(dtype), unsigned, popc, clz, ffs, brev)
    texts = [f"{number:0{width}b}" for number in numbers]
    assert popc.tolist() == [text.count("1") for text in texts]
    assert clz.tolist() == [width - number.bit_length() for number in numbers]
    assert ffs.tolist() == [(number & -number).bit_length() for number in numbers]
    assert brev.tolist() == [int(text[::-1], 2) for text in texts]


def test_selp_chooses():
    @cuda.jit
    def kernel(test, out):
        i = cuda.grid(1)
        out[i] = cuda.selp(test[i], i, -i)

    test = np.arange(10) % 3 == 0
    out = np.zeros(10, np.int64)
    run(kernel, 1, 10, test, out)
    assert out.tolist() == [i if i % 3 == 0 else -i for i in range(10)]


def nearest(value, dtype):
    """Return the float nearest to an exact fraction, ties to even."""
    guess = dtype(float(value))
    around = [guess, np.nextafter(guess, dtype(-np.inf)), np.nextafter(guess, dtype(np.inf))]
    bits = f"u{np.dtype(dtype).itemsize}"
    return min(around, key=lambda x: (abs(Fraction(float(x)) - value), int(x.view(bits)) & 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fma_rounds_once(dtype):
    @cuda.jit
    def kernel(a, b, c, out):
        i = cuda.grid(1)
        out[i] = cuda.fma(a[i], b[i], c[i])

    rng = np.random.default_rng(11)
    a, b = rng.normal(size=(2, 256)).astype(dtype)
    # Cancelled almost wholly in the first half, far smaller in the second: the cases where two
    # roundings differ from one.
    c = np.where(np.arange(256) < 128, -(a * b), np.ldexp(a * b, -24)).astype(dtype)
    tie = np.finfo(dtype).eps
    a[-2:], b[-2:], c[-2:] = 1 + tie, 1, [tie / 2, -tie / 4]
    out = np.zeros(256, dtype)
    run(kernel, 8, 32, a, b, c, out)
    exact = [
        Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        for x, y, z in zip(a, b, c, strict=True)
    ]
    assert out.tolist() == [float(nearest(value, dtype)) for value in exact]
    assert np.count_nonzero(out != a * b + c) > 20


def test_fma_of_infinities_and_nan():
    @cuda.jit
    def kernel(a, b, c, out):
        i = cuda.grid(1)
        out[i] = cuda.fma(a[i], b[i], c[i])

    a = np.array([math.inf, math.inf, 0.0, -0.0, 1e308])
    b = np.array([2.0, 0.0, math.inf, 1.0, 1.0])
    c = np.array([-math.inf, 1.0, 1.0, -0.0, math.inf])
    out = np.zeros(5)
    run(kernel, 1, 5, a, b, c, out)
    assert np.array_equal(out, [np.nan, np.nan, np.nan, -0.0, np.inf], equal_nan=True)
    assert math.copysign(1, out[3]) == -1
