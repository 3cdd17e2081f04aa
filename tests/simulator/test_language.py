"""Python as Numba has it inside kernels: control flow, containers, arrays, types.

Plain functions are run by CPython for the expectation; everything is run by two schedules.
"""

from __future__ import annotations

import collections
import enum
import functools
import itertools
import math
import sys
from types import ModuleType

import numpy as np
import pytest
import simulating
from numba import cuda, float32, float64, int32, int64
from numba.extending import overload
from simulating import asserts_positive, elementwise

from warpladder.device.numba_target import FRONT_END
from warpladder.errors import InputTypeError, UnsupportedKernelError
from warpladder.simulator import simulate


@pytest.fixture(params=["lockstep", "warps-reverse"])
def run(request):
    return functools.partial(simulating.run, schedule=request.param)


# --- control flow ---------------------------------------------------------------------------------


def collatz(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def breaks(n):
    total = 0
    for k in range(n):
        if k == 7:
            break
        total += k
    return total


def continues(n):
    total = 0
    for k in range(n):
        if k % 3 == n % 3:
            continue
        total += k
    return total


def for_else(n):
    for divisor in range(2, n):
        if n % divisor == 0:
            found = divisor
            break
    else:
        found = -n
    return found


def while_else(n):
    k = 0
    while k < n:
        if k * k == n:
            break
        k += 1
    else:
        k = -1
    return k


def nested(n):
    total = 0
    for a in range(n % 5):
        for b in range(a, n % 7):
            c = b
            while c > 0:
                if c == 2 and a == 1:
                    break
                total += a + b * c
                c -= 1
            if b == 5:
                continue
            total += 100
    return total


def continue_outer(n):
    total = 0
    for a in range(6):
        inner = 0
        for b in range(6):
            if (a + b) % 4 == n % 4:
                break
            inner += b
        else:
            total += 1000
            continue
        total += inner
    return total


def early_return(n):
    if n % 4 == 0:
        return n
    for k in range(n):
        if k * k > n:
            return -k
        if k == 3 and n % 5 == 0:
            return 500
    return 1000


def short_circuit_and(n):
    return 100 if n != 0 and 36 % n == 0 else -1


def short_circuit_or(n):
    if n % 2 == 0 or n % 3 == 0 or n > 40:
        return 1
    return 0


def boolean_value(n):
    a = n % 3 or 10
    b = n % 2 and 20
    return a + b


def ternaries(n):
    return 1 if n < 5 else (2 if n < 10 else (3 if n % 2 else 4))


def chained(n):
    return int(3 < n <= 20) + 2 * int(5 < n < 7)


def steps_up(n):
    total = 0
    for k in range(3, n, 4):
        total = 2 * total + k
        total %= 10007
    return total


def steps_down(n):
    total = 0
    for k in range(n, -5, -3):
        total = (total * 7 + k) % 10007
    return total


def varying_steps(n):
    total = 0
    for k in range(n % 3, 20, 1 + n % 5):
        total += k * k
    return total


def last_value(n):
    k = -1
    for k in range(n % 4):  # noqa: B007 - what is tested
        pass
    return k


def swaps(n):
    a, b = 0, 1
    for _ in range(n % 30):
        a, b = b, a + b
    return a


def tuple_indexed(n):
    weights = (n, n + 1, 4 * n, 1 - n, n + 5, -n)
    return weights[n % 6] + weights[-1 - n % 6]


def tuple_built(n):
    pair = (n, n * n)
    a, b = pair
    more = pair + (7,)  # noqa: RUF005 - what is tested
    return a + 2 * b + 3 * more[1] + more[2] + len(more)


def tuple_swapped(n):
    ends = (n, 50)
    if ends[0] < ends[1]:
        ends = (ends[1], ends[0])
    return ends[0] - ends[1]


def enumerated(n):
    total = 0
    for position, weight in enumerate((2, 7, 1)):
        total += (position + n) * weight
    return total


def enumerated_from(n):
    total = 0
    for position, weight in enumerate((2, 7, 1), 5):
        total += (position + n) * weight
    return total


def zipped(n):
    total = 0
    for a, b in zip((1, 2, 3), (n, n + 1, n + 2)):  # noqa: B905 - Numba's has no strict
        total += a * b
    return total


def zipped_ranges(n):
    total = 0
    for a, b in zip(range(n % 7), range(10, 14)):  # noqa: B905 - likewise
        total += a * b
    return total


def minimum_of_three(n):
    return min(n, 20, 3 * n - 5) + max(n, 9) - abs(10 - n)


def divided(n):
    quotient, rest = divmod(n - 20, 7)
    return 100 * quotient + rest


def powers(n):
    return (n - 20) ** 3 + n**2


def bits(n):
    return (n << 3) ^ (n >> 1) & ~n | (n & 5)


def rounded(n):
    return int(round(n / 4)) + int(math.floor(-n / 3)) + int(math.ceil(n / 3)) + int(n / -3)  # noqa: RUF046


FUNCTIONS = [
    collatz, breaks, continues, for_else, while_else, nested, continue_outer, early_return,
    short_circuit_and, short_circuit_or, boolean_value, ternaries, chained, steps_up, steps_down,
    varying_steps, last_value, swaps, tuple_indexed, tuple_built, tuple_swapped, enumerated,
    enumerated_from, zipped, zipped_ranges, minimum_of_three, divided, powers, bits, rounded,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_function_gives_what_cpython_gives(function, run):
    source = np.arange(70)
    target = np.full(70, -(10**9))
    run(elementwise(function), 3, 32, source, target)
    assert target.tolist() == [function(n) for n in range(70)]


def test_a_division_that_short_circuit_keeps_away_is_not_run(run):
    @cuda.jit
    def kernel(table, index, out):
        i = cuda.grid(1)
        # Out of bounds where it is not kept away.
        if index[i] < table.size and table[index[i]] > 0:
            out[i] = table[index[i]]

    index = np.array([0, 5, 2, 1, 99, 3] * 8)
    out = np.zeros(48, dtype=np.int64)
    run(kernel, 3, 16, np.array([7, 0, 9, -1]), index, out)
    assert out.tolist() == [7, 0, 9, 0, 0, 0] * 8


def test_an_early_return_ends_the_thread_only(run):
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        if i % 3 == 0:
            return
        out[i] = i
        if i > 50:
            return
        out[i] += 1000

    out = np.zeros(96, dtype=np.int64)
    run(kernel, 3, 32, out)
    expected = [0 if i % 3 == 0 else i if i > 50 else i + 1000 for i in range(96)]
    assert out.tolist() == expected


def test_a_variable_keeps_its_value_across_divergent_assignments(run):
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        value = 1.5
        if i % 2:
            value = i
        if i % 4 == 0:
            value += 0.25
        out[i] = value

    out = np.zeros(64)
    run(kernel, 1, 64, out)
    assert out.tolist() == [
        (float(i) if i % 2 else 1.5) + (0.25 if i % 4 == 0 else 0) for i in range(64)
    ]


# --- threads --------------------------------------------------------------------------------------

SHAPES = [
    ((5, 1, 1), (7, 1, 1)),
    ((3, 2, 1), (5, 3, 1)),
    ((2, 3, 2), (4, 3, 2)),
    ((1, 1, 3), (1, 2, 33)),
    ((1, 4, 1), (64, 1, 1)),
]


@cuda.jit
def all_indices(out):
    block = cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)
    rank = cuda.threadIdx.x + cuda.blockDim.x * (
        cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z
    )
    row = block * cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z + rank
    x, y, z = cuda.grid(3)
    width, height, depth = cuda.gridsize(3)
    out[row, 0] = cuda.threadIdx.x
    out[row, 1] = cuda.threadIdx.y
    out[row, 2] = cuda.threadIdx.z
    out[row, 3] = cuda.blockIdx.x
    out[row, 4] = cuda.blockIdx.y
    out[row, 5] = cuda.blockIdx.z
    out[row, 6] = x
    out[row, 7] = y
    out[row, 8] = z
    out[row, 9] = width
    out[row, 10] = height
    out[row, 11] = depth
    out[row, 12] = cuda.laneid
    out[row, 13] = cuda.warpsize


@pytest.mark.parametrize(("grid", "block"), SHAPES, ids=str)
def test_indices_of_every_thread(grid, block, run):
    expected = []
    for bz, by, bx in np.ndindex(*grid[::-1]):
        for rank, (tz, ty, tx) in enumerate(np.ndindex(*block[::-1])):
            at = [b * w + t for b, w, t in zip((bx, by, bz), block, (tx, ty, tz), strict=True)]
            size = [g * w for g, w in zip(grid, block, strict=True)]
            expected.append([tx, ty, tz, bx, by, bz, *at, *size, rank % 32, 32])
    out = np.full((len(expected), 14), -1)
    run(all_indices, grid, block, out)
    assert out.tolist() == expected


def test_grid_in_one_and_two_dimensions(run):
    @cuda.jit
    def kernel(one, two):
        i = cuda.grid(1)
        x, y = cuda.grid(2)
        if y == 0:
            one[i] = cuda.gridsize(1)
        width, height = cuda.gridsize(2)
        two[y, x] = x + 100 * y + 10000 * width + 1000000 * height

    one, two = np.zeros(12, np.int64), np.zeros((10, 12), np.int64)
    run(kernel, (3, 2), (4, 5), one, two)
    assert one.tolist() == [12] * 12
    y, x = np.mgrid[:10, :12]
    assert np.array_equal(two, x + 100 * y + 120000 + 10000000)


def test_a_grid_stride_loop_takes_every_element_once(run):
    @cuda.jit
    def kernel(values):
        for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
            values[i] += 1

    values = np.zeros(1003, dtype=np.int32)
    run(kernel, 3, 37, values)
    assert (values == 1).all()


# --- arrays ---------------------------------------------------------------------------------------

DTYPES = [
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.complex64, np.complex128,
]  # fmt: skip


@cuda.jit
def copy_vector(source, target):
    i = cuda.grid(1)
    if i < source.size:
        target[i] = source[i]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_every_dtype_passes_bit_by_bit(dtype, run):
    size = np.dtype(dtype).itemsize
    raw = np.random.default_rng(1).integers(0, 256, 50 * size, dtype=np.uint8)
    source = (raw % 2).view(np.bool_) if dtype is np.bool_ else raw.view(dtype)
    target = np.zeros_like(source)
    run(copy_vector, 2, 32, source, target)
    assert target.tobytes() == source.tobytes()


@pytest.mark.parametrize("dtype", DTYPES[:-2], ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("value", [0, 1, 3, 100])
def test_stores_convert_to_the_dtype_of_the_array(dtype, value, run):
    source, target = np.full(3, value), np.zeros(3, dtype)
    run(copy_vector, 1, 3, source, target)
    assert np.array_equal(target, source.astype(dtype))


@cuda.jit
def double_all(values, out):
    x, y, z = cuda.grid(3)
    if x < values.shape[0] and y < values.shape[1] and z < values.shape[2]:
        out[x, y, z] = 2 * values[x, y, z] + values[-1 - x, -1, -1 - z]


LAYOUTS = {
    "C": lambda: np.arange(60.0).reshape(3, 4, 5),
    "F": lambda: np.asfortranarray(np.arange(60.0).reshape(3, 4, 5)),
    "strided": lambda: np.arange(480.0).reshape(6, 8, 10)[::2, 1::2, ::2],
    "transposed": lambda: np.arange(60.0).reshape(5, 3, 4).transpose(1, 2, 0),
    "reversed": lambda: np.arange(60.0).reshape(3, 4, 5)[::-1, :, ::-1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("target", LAYOUTS)
def test_layouts_of_three_dimensional_arrays(layout, target):
    values, out = LAYOUTS[layout](), LAYOUTS[target]()
    expected = 2 * values + values[::-1, -1:, ::-1]
    simulating.run(double_all, (1, 1, 2), (4, 4, 4), values, out)
    assert np.array_equal(out, expected)


def test_what_lies_between_the_elements_of_a_strided_array_is_left_alone(run):
    @cuda.jit
    def kernel(values):
        values[cuda.grid(1)] = -1

    base = np.arange(20)
    run(kernel, 1, 5, base[3:13:2])
    assert base.tolist() == [-1 if i in range(3, 13, 2) else i for i in range(20)]


def test_zero_and_two_dimensional_arrays(run):
    @cuda.jit
    def kernel(scalar, matrix):
        i, j = cuda.grid(2)
        matrix[i, j] += scalar[()]
        if i == 0 and j == 0:
            scalar[()] = matrix.ndim + 10 * matrix.size + 1000 * matrix.shape[1]

    @cuda.jit
    def untouched(scalar, matrix):
        i, j = cuda.grid(2)
        matrix[i, j] = scalar[()]

    matrix, scalar = np.zeros((4, 8)), np.array(3.5)
    run(untouched, (1, 2), (4, 4), scalar, matrix)
    assert (matrix == 3.5).all()
    run(kernel, 1, 1, scalar, matrix)
    assert matrix[0, 0] == 7
    assert scalar == 2 + 320 + 8000


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0)])
def test_empty_arrays(shape, run):
    @cuda.jit
    def kernel(values, out):
        out[0] = values.size
        out[1] = values.shape[0]
        out[2] = len(values)

    out = np.full(3, -1)
    run(kernel, 1, 1, np.zeros(shape), out)
    assert out.tolist() == [0, shape[0], shape[0]]


def test_rows_and_slices_are_views(run):
    @cuda.jit
    def kernel(matrix, out):
        i = cuda.grid(1)
        row = matrix[i]
        part = row[2:-1]
        backwards = row[::-1]
        column = matrix[:, i]
        every_other = matrix[i, 1::2]
        out[i, 0] = part[0] + 10 * part[-1]
        out[i, 1] = backwards[0]
        out[i, 2] = column[3]
        out[i, 3] = every_other[1] + part.size + every_other.shape[0]
        row[0] = -1

    matrix = np.arange(48).reshape(6, 8)
    before = matrix.copy()
    out = np.zeros((6, 4), dtype=np.int64)
    # Each thread reads a column in which others write: checked in order of no importance here.
    run(kernel, 1, 6, matrix, out, checks=False)
    assert (matrix[:, 0] == -1).all()
    assert np.array_equal(matrix[:, 1:], before[:, 1:])
    for i in range(6):
        part = before[i][2:-1]
        assert out[i, 0] == part[0] + 10 * part[-1]
        assert out[i, 1] == before[i, 7]
        assert out[i, 2] in (before[3, i], -1 if i == 0 else before[3, i])
        assert out[i, 3] == before[i, 3] + 5 + 4


def test_slices_whose_ends_differ_between_threads(run):
    @cuda.jit
    def kernel(values, bounds, out):
        i = cuda.grid(1)
        part = values[bounds[i, 0] : bounds[i, 1] : bounds[i, 2]]
        total = 0
        for k in range(part.size):
            total += (k + 1) * part[k]
        out[i, 0] = part.size
        out[i, 1] = total

    values = np.arange(3, 23)
    rng = np.random.default_rng(3)
    bounds = np.stack([rng.integers(-25, 25, 60), rng.integers(-25, 25, 60),
                       rng.choice([-3, -2, -1, 1, 2, 5], 60)], axis=1)  # fmt: skip
    out = np.zeros((60, 2), dtype=np.int64)
    run(kernel, 2, 30, values, bounds, out)
    for (start, stop, step), (size, total) in zip(bounds, out, strict=True):
        part = values[start:stop:step]
        assert (size, total) == (part.size, (np.arange(1, part.size + 1) * part).sum())


def every_other(values, steps):
    i = cuda.grid(1)
    values[i] = values[:: steps[i]].size


def test_a_slice_without_a_step_ends_the_thread(run):
    values, steps = np.zeros(3), np.array([2, 0, -1])
    run(cuda.jit(every_other), 1, 3, values, steps)
    assert values.tolist() == [2, 0, 3]
    with pytest.raises(ValueError, match=r"line \d+, tid=\[0, 0, 1\].*slice step cannot be zero"):
        run(cuda.jit(every_other, debug=True, opt=False), 1, 3, values, steps)


def test_assignment_to_slices(run):
    @cuda.jit
    def kernel(matrix, row):
        i = cuda.grid(1)
        matrix[i, 1:3] = i
        matrix[i, 3:] = row[0], row[1]

    matrix = np.zeros((4, 5), dtype=np.int64)
    run(kernel, 1, 4, matrix, np.array([70, 80, 90]))
    assert matrix.tolist() == [[0, i, i, 70, 80] for i in range(4)]


def test_a_choice_between_arrays_by_thread(run):
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        chosen = a if i % 3 else b
        out[i] = chosen[i] + chosen.size
        chosen[i] = -1

    a, b, out = np.arange(32), np.arange(100, 140), np.zeros(32, np.int64)
    run(kernel, 1, 32, a, b, out)
    i = np.arange(32)
    assert np.array_equal(out, np.where(i % 3, i + 32, i + 140))
    assert np.array_equal(a, np.where(i % 3, -1, i))
    assert np.array_equal(b[:32], np.where(i % 3, i + 100, -1))


def test_two_arrays_exchanged_in_a_loop(run):
    @cuda.jit
    def kernel(a, b, rounds):
        i = cuda.grid(1)
        for _ in range(rounds[i]):
            b[i] = a[i] + 1
            a, b = b, a
        a[i] += 1000

    a, b = np.arange(40), np.zeros(40, np.int64)
    rounds = np.arange(40) % 5
    run(kernel, 1, 40, a, b, rounds)
    newest = np.where(rounds % 2, b, a)
    assert np.array_equal(newest, np.arange(40) + rounds + 1000)


def test_iteration_over_arrays(run):
    @cuda.jit
    def kernel(matrix, out):
        i = cuda.grid(1)
        total = 0
        for value in matrix[i, : 1 + i % 4]:
            total += value
        for k, value in enumerate(matrix[i]):
            total += k * value
        out[i] = total

    matrix = np.random.default_rng(0).integers(0, 9, (20, 5))
    out = np.zeros(20, np.int64)
    run(kernel, 1, 20, matrix, out)
    assert out.tolist() == [
        row[: 1 + i % 4].sum() + (row * np.arange(5)).sum() for i, row in enumerate(matrix)
    ]


def test_complex_numbers(run):
    @cuda.jit
    def kernel(values, out):
        i = cuda.grid(1)
        z = values[i]
        out[i] = z * z + complex(z.imag, -z.real) - 2 * z

    values = np.array([1 + 2j, -0.5j, 3, 1e3 - 1e-3j])
    out = np.zeros_like(values)
    run(kernel, 1, 4, values, out)
    assert np.allclose(out, values**2 - (1j + 2) * values, rtol=1e-15)


def test_float16_is_rounded_after_each_operation(run):
    @cuda.jit
    def kernel(values, out):
        i = cuda.grid(1)
        out[i] = values[i] * values[i] + values[i]

    values = np.linspace(-3, 3, 77).astype(np.float16)
    out = np.zeros_like(values)
    run(kernel, 1, 77, values, out)
    assert np.array_equal(out, values * values + values)


# --- records --------------------------------------------------------------------------------------

FIELDS = [("tag", "i1"), ("weight", "f8"), ("count", "i2"), ("place", "f4", (2, 3))]


def test_structured_arrays(run):
    dtype = np.dtype(FIELDS, align=True)

    @cuda.jit
    def kernel(records, out):
        i = cuda.grid(1)
        records[i].count += records[i].tag
        records[i]["weight"] = records[i].weight * 2 + records[i].place[1, 2]
        records[i].place[0, 1] = i
        out[i] = records[i].count

    rng = np.random.default_rng(5)
    records = np.zeros(40, dtype)
    records["tag"], records["count"] = rng.integers(0, 99, 40), rng.integers(0, 999, 40)
    records["weight"], records["place"] = rng.random(40), rng.random((40, 2, 3))
    expected = records.copy()
    expected["count"] += expected["tag"]
    expected["weight"] = expected["weight"] * 2 + expected["place"][:, 1, 2]
    expected["place"][:, 0, 1] = np.arange(40)
    out = np.zeros(40, np.int64)
    run(kernel, 2, 20, records, out)
    for name in dtype.names:
        assert np.array_equal(records[name], expected[name]), name
    assert np.array_equal(out, expected["count"])


def test_a_whole_record_is_copied(run):
    dtype = np.dtype([("a", "i4"), ("b", "f8")])

    @cuda.jit
    def kernel(source, target):
        i = cuda.grid(1)
        target[i] = source[source.size - 1 - i]

    source = np.array([(k, k / 8) for k in range(16)], dtype)
    target = np.zeros_like(source)
    run(kernel, 1, 16, source, target)
    assert np.array_equal(target, source[::-1])


@pytest.mark.parametrize("align", [False, True], ids=["packed", "aligned"])
def test_the_field_of_all_records_is_an_array(align, run):
    dtype = np.dtype([("a", "i4"), ("b", "f8")], align=align)

    @cuda.jit
    def kernel(records):
        i = cuda.grid(1)
        weights = records["b"] if False else records.b
        weights[i] = weights[i] + records.a[i]

    records = np.array([(k, 0.5) for k in range(8)], dtype)
    run(kernel, 1, 8, records)
    assert records["b"].tolist() == [k + 0.5 for k in range(8)]


def test_a_record_as_an_argument(run):
    dtype = np.dtype([("scale", "f4"), ("shift", "i8")], align=True)

    @cuda.jit
    def kernel(parameters, out):
        i = cuda.grid(1)
        out[i] = i * parameters.scale + parameters.shift

    out = np.zeros(4)
    run(kernel, 1, 4, np.array([(0.5, 10)], dtype)[0], out)
    assert out.tolist() == [10, 10.5, 11, 11.5]


Point = collections.namedtuple("Point", "x y")


def test_named_tuples_in_and_out_of_device_functions(run):
    @cuda.jit(device=True)
    def mirrored(point):
        return Point(point.y, -point.x)

    @cuda.jit
    def kernel(origin, xs, ys):
        i = cuda.grid(1)
        moved = mirrored(Point(xs[i] - origin.x, ys[i] - origin.y))
        xs[i] = moved.x
        ys[i] = moved.y

    xs, ys = np.arange(10.0), np.arange(10.0) ** 2
    run(kernel, 1, 10, Point(1.5, 2), xs, ys)
    assert np.array_equal(xs, np.arange(10.0) ** 2 - 2)
    assert np.array_equal(ys, 1.5 - np.arange(10.0))


class Colour(enum.Enum):
    RED = 3
    GREEN = 5


class Place(enum.IntEnum):
    HOME = 7
    WORK = 11


def test_members_of_enumerations_by_attribute_and_by_name(run):
    @cuda.jit
    def kernel(numbers, out):
        i = cuda.grid(1)
        colour = Colour["RED"] if numbers[i] > Place.HOME else Colour.GREEN
        out[i] = Place["WORK"] + (colour == Colour.RED) + 2 * (colour is Colour["GREEN"])

    out = np.zeros(3)
    run(kernel, 1, 3, np.array([7, 8, 0]), out)
    assert out.tolist() == [13, 12, 13]


def test_tuples_have_an_order(run):
    @cuda.jit
    def kernel(digits, out):
        i = cuda.grid(1)
        one = digits[i, 0], (digits[i, 1], 1.5)
        other = digits[i, 2], (digits[i, 3], 1.5)
        out[i, 0] = one < other
        out[i, 1] = one >= other
        out[i, 2] = (digits[i, 0],) <= (digits[i, 2], digits[i, 3])

    digits = np.array(list(itertools.product((0, 1), repeat=4)))
    out = np.zeros((16, 3), bool)
    run(kernel, 1, 16, digits, out)
    assert out.tolist() == [
        [(a, b) < (c, d), (a, b) >= (c, d), (a,) <= (c, d)] for a, b, c, d in digits.tolist()
    ]


def test_tuples_of_arrays_and_numbers_as_arguments(run):
    @cuda.jit
    def kernel(parts, extents):
        i = cuda.grid(1)
        if i < extents[0]:
            parts[1][i] = parts[0][i] * extents[1][0]

    source, target = np.arange(10), np.zeros(10)
    run(kernel, 1, 32, (source, target), (10, (2.5, 3)))
    assert np.array_equal(target, np.arange(10) * 2.5)


def test_vector_types(run):
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        pair = cuda.float32x2(i, 0.5)
        wide = cuda.int32x4(pair.x, 2, 3, i + 1)
        out[i] = pair.x + pair.y + wide.w * wide.z

    out = np.zeros(8)
    run(kernel, 1, 8, out)
    assert out.tolist() == [i + 0.5 + (i + 1) * 3 for i in range(8)]


@pytest.mark.numba_cuda
def test_loads_and_stores_with_hints_for_caches(run):
    @cuda.jit
    def kernel(values, table, out):
        i = cuda.grid(1)
        cuda.stcs(out, i, cuda.ldcg(values, i) + cuda.ldca(table, (i % 2, i // 2)))

    values, table, out = np.arange(8), np.arange(8.0).reshape(2, 4), np.zeros(8, np.float32)
    run(kernel, 1, 8, values, table, out)
    assert out.tolist() == [i + table[i % 2, i // 2] for i in range(8)]


# --- constant, local and shared arrays ------------------------------------------------------------

TABLE = np.arange(24, dtype=np.float32).reshape(4, 6) ** 2
TURNED = np.asfortranarray(TABLE)
FACTOR = 3
WEIGHTS = (2, 5, 11)


def test_constant_arrays_in_either_order(run):
    @cuda.jit
    def kernel(out):
        i, j = cuda.grid(2)
        table, turned = cuda.const.array_like(TABLE), cuda.const.array_like(TURNED)
        out[i, j] = table[i, j] - 2 * turned[3 - i, j] + TABLE[0, 1]

    out = np.zeros((4, 6), np.float32)
    run(kernel, 1, (4, 6), out)
    assert np.array_equal(out, TABLE - 2 * TABLE[::-1] + 1)


def test_globals_are_taken_as_constants(run):
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = FACTOR * i + WEIGHTS[1] + len(WEIGHTS)

    out = np.zeros(6)
    run(kernel, 1, 6, out)
    assert out.tolist() == [3 * i + 5 + 3 for i in range(6)]


#: As programs keep what is the same for all of their files.
SETTINGS = ModuleType("settings")
SETTINGS.weights, SETTINGS.pair = WEIGHTS, ((1, 2.5), TABLE)
TABLES = (np.arange(3), TABLE)


def test_tuples_of_modules_and_arrays_in_tuples_are_constants(run):
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        a, b, c = SETTINGS.weights
        total = a + b * c + SETTINGS.weights[i % 3] + SETTINGS.pair[0][1]
        for weight in SETTINGS.weights:
            total += weight
        out[0, i] = total
        out[1, i] = SETTINGS.pair[1][i % 4, 1] + TABLES[0][i % 3] + TABLES[1][1, i % 6]

    out = np.zeros((2, 6))
    run(kernel, 1, 6, out)
    assert out[0].tolist() == [2 + 55 + WEIGHTS[i % 3] + 2.5 + 18 for i in range(6)]
    assert out[1].tolist() == [TABLE[i % 4, 1] + i % 3 + TABLE[1, i] for i in range(6)]


@pytest.mark.parametrize("none", [None, (1, None)])
def test_no_kernel_is_given_none(run, none):
    def kernel(given):
        cuda.syncwarp()

    with pytest.raises(InputTypeError, match=r"argument given.*: no GPU is given what may be"):
        run(kernel, 1, 1, none)


def test_local_arrays_belong_to_one_thread(run):
    @cuda.jit
    def kernel(values, out):
        i = cuda.grid(1)
        scratch = cuda.local.array((2, 3), float64)
        for k in range(6):
            scratch[k // 3, k % 3] = values[i] + k
        total = 0.0
        for k in range(1 + i % 6):
            total += scratch[k // 3, k % 3]
        out[i] = total

    values, out = np.random.default_rng(2).integers(0, 100, 90), np.zeros(90)
    run(kernel, 3, 30, values, out)
    assert out.tolist() == [
        sum(v + k for k in range(1 + i % 6)) for i, v in enumerate(values.tolist())
    ]


def test_shared_arrays_belong_to_one_block(run):
    @cuda.jit
    def kernel(values, out):
        tile = cuda.shared.array((4, 8), int64)
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        i = cuda.blockIdx.x * 32 + y * 8 + x
        tile[y, x] = values[i]
        cuda.syncthreads()
        out[i] = tile[3 - y, 7 - x]

    values = np.arange(160)
    out = np.zeros_like(values)
    run(kernel, 5, (8, 4), values, out)
    assert np.array_equal(out, values.reshape(5, 32)[:, ::-1].ravel())


def test_several_views_of_dynamic_shared_memory(run):
    @cuda.jit
    def kernel(out, counts):
        i = cuda.threadIdx.x
        fixed = cuda.shared.array(3, int32)
        floats = cuda.shared.array(0, float32)
        doubles = cuda.shared.array(0, float64)[16:]
        if i < 3:
            fixed[i] = 7 * i
        floats[i] = i + 0.5
        doubles[i] = 100 * i
        cuda.syncthreads()
        out[cuda.grid(1)] = floats[31 - i] + doubles[i] + fixed[i % 3]
        counts[0] = floats.size
        counts[1] = doubles.size

    out, counts = np.zeros(64), np.zeros(2)
    # 32 floats of 4 bytes, then 32 doubles of 8.
    run(kernel, 2, 32, out, counts, shared=32 * 4 + 32 * 8)
    i = np.arange(64) % 32
    assert np.array_equal(out, 31 - i + 0.5 + 100 * i + 7 * (i % 3))
    assert counts.tolist() == [96, 32]


# --- print, exceptions ----------------------------------------------------------------------------


def test_print_gives_a_line_for_each_thread(capsys):
    @cuda.jit
    def kernel(values):
        i = cuda.grid(1)
        if i % 2:
            print("thread", i, values[i])  # noqa: T201 - what is tested

    simulating.run(kernel, 1, 6, np.array([0.0, 1.5, 0, 2.5, 0, -3]))
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "thread 1 1.500000", "thread 3 2.500000", "thread 5 -3.000000",
    ]  # fmt: skip


def test_print_of_what_numba_takes_for_a_constant(capsys):
    @cuda.jit
    def kernel(values):
        t = cuda.threadIdx.x
        if t == 3:
            print(t, cuda.blockIdx.x, cuda.blockDim.x, 7)  # noqa: T201 - what is tested
        values[t] = t

    simulating.run(kernel, 1, 4, np.zeros(4))
    assert capsys.readouterr().out == "3 0 4 7\n"


def test_print_of_constants_and_thread_indices(capsys):
    @cuda.jit
    def kernel():
        print(34.75, 1e3, -2, True, "100 %", cuda.threadIdx, cuda.blockDim)  # noqa: T201

    simulating.run(kernel, 1, 1)
    assert capsys.readouterr().out == ("34.750000 1000.000000 -2 True 100 % (0, 0, 0) (1, 1, 1)\n")


def test_print_of_star_arguments(capsys):
    @cuda.jit
    def kernel(values):
        pair = values[0], values[1]
        print(*pair)  # noqa: T201
        print(7, *pair)  # noqa: T201

    simulating.run(kernel, 1, 1, np.array([2, 3]))
    assert capsys.readouterr().out == "2 3\n7 2 3\n"


@pytest.mark.numba_cuda
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("cuda.shared.array(4, bfloat16)", "an array of __nv_bfloat16"),
        ("out[0] = np.float32(bfloat16(1.5))", "a conversion to __nv_bfloat16"),
    ],
)
def test_types_that_numpy_lacks_are_refused(statement, words):
    names = {"cuda": cuda, "np": np}
    names["bfloat16"] = pytest.importorskip("numba.cuda.types").bfloat16
    exec(f"def kernel(out):\n    {statement}", names)  # noqa: S102 - a line of this file
    with pytest.raises(UnsupportedKernelError, match=words):
        simulating.run(cuda.jit(names["kernel"]), 1, 1, np.zeros(1))


def test_print_of_more_than_a_gpu_prints_at_a_time(capsys):
    @cuda.jit
    def kernel(values):
        print("of", values)  # noqa: T201

    simulating.run(kernel, 1, 1, (0,) * 31)
    assert capsys.readouterr().out == "of (" + ", ".join("0" * 31) + ")\n"
    with pytest.raises(UnsupportedKernelError, match=r"print\(\) of 33 values, .*at most 32"):
        simulating.run(kernel, 1, 1, (0,) * 32)


@pytest.mark.parametrize("argument", [np.zeros(3), 1j, None, (1, 2j)])
def test_print_of_what_kernels_cannot_print(argument):
    @cuda.jit
    def kernel(value):
        print(value)  # noqa: T201

    with pytest.raises(
        UnsupportedKernelError, match="kernels print numbers, constant text and tuples"
    ):
        simulating.run(kernel, 1, 1, argument)


@pytest.mark.numba_cuda  # Numba's own target finds no type for it, nor for the next.
def test_text_made_of_a_number_is_refused_in_its_words():
    @cuda.jit
    def kernel(values):
        print(f"{values.size}")  # noqa: T201

    with pytest.raises(UnsupportedKernelError, match="text made of int64"):
        simulating.run(kernel, 1, 1, np.zeros(1))


@pytest.mark.numba_cuda
def test_the_greatest_of_an_array_is_refused_in_its_words():
    @cuda.jit
    def kernel(values):
        values[0] = max(values)

    with pytest.raises(UnsupportedKernelError, match=r"max\(\) of array.*write it as a loop"):
        simulating.run(kernel, 1, 1, np.zeros(1))


def test_an_exception_of_a_kernel_in_debug_mode_names_the_thread(run):
    @cuda.jit(debug=True, opt=False)
    def kernel(values):
        i = cuda.grid(1)
        if values[i] < 0:
            raise ValueError
        values[i] = 0

    values = np.array([1, 2, 3, -4, 5, -6, 7, 8])
    with pytest.raises(ValueError, match=r"tid=\[0, 0, 1\] ctaid=\[0, 0, 1\]"):
        run(kernel, 4, 2, values)
    assert values.tolist() == [0, 0, 0, -4, 0, -6, 0, 0]


def test_a_failed_assertion_in_debug_mode(run):
    if sys.version_info >= (3, 14) and FRONT_END.package == "numba-cuda":
        with pytest.raises(UnsupportedKernelError, match="compiles no assert"):
            run(asserts_positive, 1, 3, np.array([1, 2, 3]))
        return
    run(asserts_positive, 1, 3, np.array([1, 2, 3]))
    with pytest.raises(AssertionError, match=r"tid=\[0, 0, 2\]"):
        run(asserts_positive, 1, 3, np.array([1, 2, 0]))


def test_an_exception_in_debug_mode(run):
    @cuda.jit(debug=True, opt=False)
    def kernel(values):
        i = cuda.grid(1)
        if values[i] <= 0:
            raise AssertionError

    with pytest.raises(AssertionError, match=r"tid=\[0, 0, 2\]"):
        run(kernel, 1, 3, np.array([1, 2, 0]))


def test_without_debug_mode_an_exception_ends_the_thread_in_silence(run):
    @cuda.jit
    def kernel(values):
        i = cuda.grid(1)
        if i == 1:
            raise ValueError
        values[i] = 0

    values = np.ones(4)
    run(kernel, 1, 4, values)
    assert values.tolist() == [0, 1, 0, 0]


# --- what is refused ------------------------------------------------------------------------------


def test_a_recursive_device_function_is_refused_by_name():
    @cuda.jit(device=True)
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    @cuda.jit
    def kernel(out):
        out[0] = factorial(5)

    with pytest.raises(Exception, match=r"factorial.*calls itself"):
        simulate(kernel)[1, 1](np.zeros(1))


def test_an_unsupported_construct_is_named_with_its_line():
    @cuda.jit
    def kernel(matrix, out):
        i = cuda.grid(1)
        out[i] = matrix[i].sum()  # not simulated

    try:
        out = np.zeros(2)
        simulate(kernel)[1, 2](np.ones((2, 3)), out)
    except (UnsupportedKernelError, *simulating.TYPING_ERRORS) as refusal:
        # The second where Numba's own target is in use, which does not know the method.
        assert f"line {simulating.line_of(kernel, 'not simulated')}" in str(refusal)  # noqa: PT017
    else:
        assert out.tolist() == [3, 3]


# --- star arguments, defaults and keywords --------------------------------------------------------


def length(*values):
    """Known to kernels only, by its overload."""


@overload(length)
def overload_length(*values):
    known = len(values)  # as its author sees the call

    def implementation(*values):
        return 10 * known + len(values)

    return implementation


def told(first, scale=5, *rest):
    """Likewise."""


@overload(told)
def overload_told(first, scale=5, *rest):
    # A default that nobody overrides comes as the value itself, an argument as its type.
    known = 1 if isinstance(scale, int) else 2

    def implementation(first, scale=5, *rest):
        return 10000 * known + 1000 * first + 100 * scale + 10 * len(rest)

    return implementation


def within(*values):
    """Likewise, of code that Numba puts into its callers by itself."""


@overload(within, inline="always")
def overload_within(*values):
    known = len(values)

    def implementation(*values):
        own = cuda.local.array(1, np.int64)
        own[0] = 10 * known
        return own[0] + len(values)

    return implementation


@cuda.jit(device=True)
def weighed(first, scale=3, *rest):
    return 1000 * first + 100 * scale + len(rest)


@cuda.jit(device=True)
def nested(*values):
    total = weighed(*values) + 100000 * length(*values) + 10000000 * length(7, *values)
    for value in values:
        total += 10 * value
    return total


def test_star_arguments_defaults_and_keywords(run):
    @cuda.jit
    def kernel(x, out):
        out[0] = length()
        out[1] = length(1.0, 2.0, 3.0)
        out[2] = length((1, 2), x[0])
        out[3] = told(1)
        out[4] = told(1, 5)
        out[5] = told(first=1, scale=2)
        out[6] = told(1, 2, 3, 4)
        out[7] = weighed(1)
        out[8] = weighed(scale=2, first=1)
        out[9] = weighed(1, 2, 3, 4)
        out[10] = nested(1, 2, 3, 4)
        out[11] = within(1, 2.0)

    out = np.zeros(12, np.int64)
    run(kernel, 1, 1, np.ones(4, np.int64), out)
    assert out.tolist() == [
        0, 33, 22, 11500, 21500, 21200, 21220, 1300, 1200, 1202,
        1202 + 44 * 100000 + 55 * 10000000 + 10 * (1 + 2 + 3 + 4), 22,
    ]  # fmt: skip


@pytest.mark.parametrize("given", [(), (2,), (2, 3, 4)], ids=str)
def test_defaults_and_star_arguments_of_a_kernel_are_refused_as_on_a_gpu(given):
    @cuda.jit
    def kernel(out, scale=3, *rest):
        out[0] = scale

    with pytest.raises(InputTypeError, match="of a kernel all are given, defaults"):
        simulating.run(kernel, 1, 1, np.zeros(1), *given)


def test_star_arguments_of_functions_that_numba_knows(run):
    @cuda.jit
    def kernel(values, out):
        pair = values[0], values[1]
        out[0] = math.atan2(*pair)
        out[1] = min(*pair)
        out[2] = max(*pair, 5.0)
        out[3] = cuda.atomic.add(values, *(1, 4.0))
        for k in range(*(2, 5)):
            out[4] += k

    values, out = np.array([2.0, 3.0]), np.zeros(5)
    run(kernel, 1, 1, values, out)
    assert out.tolist() == [math.atan2(2, 3), 2, 5, 3, 9]
    assert values.tolist() == [2, 7]


@pytest.mark.numba_cuda
def test_star_arguments_of_a_method(run):
    extending = pytest.importorskip("numba.cuda.extending")
    from numba.cuda import types

    @extending.overload_method(types.Array, "told_within", inline="always")
    @extending.overload_method(types.Array, "told")
    def overload_told_method(self, *values):
        known = len(values)

        def implementation(self, *values):
            return 100 * self.size + 10 * known + len(values)

        return implementation

    @extending.overload_attribute(types.Array, "twice_within", inline="always")
    def overload_twice(self):
        return lambda self: 2 * self.size

    @cuda.jit
    def kernel(x, out):
        out[0] = x.told(1, 2.0, x)
        out[1] = x.told_within(1, 2.0, x)
        out[2] = x.twice_within

    out = np.zeros(3, np.int64)
    run(kernel, 1, 1, np.ones(4), out)
    assert out.tolist() == [433, 433, 8]


# --- constant strings -----------------------------------------------------------------------------

INFINITY = "-Infinity"


def test_numbers_written_as_text(run):
    @cuda.jit
    def kernel(chosen, out):
        best = float("inf")
        if chosen[0]:
            best = float("1e3")
        out[0] = best
        out[1] = float("nan")
        out[2] = float("-inf")
        out[3] = float(INFINITY)
        out[4] = min(float("inf"), 2)
        out[5] = len("four") + bool("") + bool("x")

    out = np.zeros(6)
    run(kernel, 1, 1, np.zeros(1, bool), out)
    np.testing.assert_array_equal(out, [np.inf, np.nan, -np.inf, -np.inf, 2, 5])
    run(kernel, 1, 1, np.ones(1, bool), out)
    assert out[0] == 1000


def test_text_that_is_no_number():
    @cuda.jit
    def kernel(out):
        out[0] = 1
        out[0] = float("ten")

    with pytest.raises(UnsupportedKernelError, match=r"float\('ten'\), which is no number") as said:
        simulate(kernel)[1, 1](np.zeros(1))
    assert kernel.py_func.__qualname__ in str(said.value)
    assert f"line {simulating.line_of(kernel, 'ten')}" in str(said.value)


def test_lists_and_sets_from_outside_are_refused_as_on_a_gpu():
    """Of a list as long as a block each thread would get an element of its own."""
    several, some = [1, 2, 3], {1, 2}

    @cuda.jit
    def of_a_list(out):
        out[cuda.threadIdx.x] = max(several)

    @cuda.jit
    def of_a_set(out):
        out[cuda.threadIdx.x] = 2 in some

    for kernel, name in ((of_a_list, "several"), (of_a_set, "some")):
        with pytest.raises(UnsupportedKernelError, match=f"{name}, a list or set from outside"):
            simulate(kernel)[1, 3](np.zeros(3))


def test_arrays_are_unpacked():
    def luminance(image, rows, out):
        i = cuda.grid(1)
        red, green, blue = image[i]
        first, second = rows
        out[i] = red + 10 * green + 100 * blue + first[i] - second[i]

    image, rows = np.arange(15.0).reshape(5, 3), np.arange(10.0).reshape(2, 5)
    out = np.zeros(5)
    simulate(cuda.jit(luminance), checks=True)[1, 5](image, rows, out)
    np.testing.assert_array_equal(out, image @ [1, 10, 100] - 5)
    strict = cuda.jit(luminance, debug=True, opt=False)
    with pytest.raises(ValueError, match="unpacked into 3 has another length"):
        simulate(strict)[1, 5](image[:, :2].copy(), rows, out)
