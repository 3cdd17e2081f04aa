"""Random expressions give, bit by bit, what Numba's own compiler gives on the CPU.

Text of small functions is generated, compiled by ``numba.njit`` for the expectation and simulated
as a kernel on the same numbers. What is undefined on either side is kept out while generating:
shifts stay within the width, floats are cut to the integer's range before a conversion. What
CUDA defines differently is left out, too: ``min`` and ``max`` of NaN.
"""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numba import cuda
from numba.cuda import libdevice
from simulating import elementwise, run

from choosing import large, only

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
NARROW_AND_WIDE = only({"int8", "uint64", *FLOATS}.__contains__, [*INTEGERS, *FLOATS])
THREADS = 64


def numbers_of(dtype, rng):
    """Return numbers of every size, with the special ones of the dtype among them."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        special = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-3, 3e7, -1e9, 7.25]
        special += [np.inf, -np.inf, np.nan, np.finfo(kind).max, np.finfo(kind).tiny]
        rest = rng.normal(size=THREADS - len(special)) * 10.0 ** rng.integers(
            -3, 6, THREADS - len(special)
        )
        return np.concatenate([special, rest]).astype(kind)
    limits = np.iinfo(kind)
    special = [0, 1, 2, 3, 5, limits.max, limits.max - 1, limits.min, limits.min + 1]
    special += [] if limits.min == 0 else [-1, -2, -7]
    count = THREADS - len(special)
    raw = rng.integers(limits.min, limits.max, count, dtype=kind, endpoint=True)
    # Of all magnitudes, not mostly near the limits.
    raw = raw >> rng.integers(0, limits.bits, count).astype(kind)
    return np.concatenate([np.array(special, dtype=kind), raw])


# --- expressions: pairs of text and kind, "i" or "f" ----------------------------------------------


def as_integer(part):
    text, kind = part
    return text if kind == "i" else f"int64(cut({text}, -1e6, 1e6))"


def kind_of(pair):
    return "f" if "f" in pair[0][1] + pair[1][1] else "i"


def alike(pair):
    """Return two texts of one type: Numba makes floats of a signed and an unsigned integer."""
    name = "int64" if kind_of(pair) == "i" else "float64"
    return f"{name}({pair[0][0]})", f"{name}({pair[1][0]})"


def binary(symbol, pair):
    return f"({pair[0][0]} {symbol} {pair[1][0]})", "f" if symbol == "/" else kind_of(pair)


def bitwise(symbol, pair):
    return f"({as_integer(pair[0])} {symbol} {as_integer(pair[1])})", "i"


def shift(symbol, pair):
    return f"(int64({as_integer(pair[0])}) {symbol} ({as_integer(pair[1])} & 31))", "i"


def chosen(symbol, pair):
    left, right = alike(pair)
    return f"({left} if {pair[0][0]} {symbol} {pair[1][0]} else {right})", kind_of(pair)


def compared(symbol, pair):
    return f"int64({pair[0][0]} {symbol} {pair[1][0]})", "i"


def cut(part, name):
    text, kind = part
    low = "0.0" if name.startswith("u") else "-100.0"
    return (f"{name}(cut({text}, {low}, 100.0))" if kind == "f" else f"{name}({text})"), "i"


def widened(part, name):
    return f"{name}({part[0]})", "f"


def unary(symbol, part):
    text, kind = part
    if symbol == "~":
        return f"(~{as_integer(part)})", "i"
    if symbol == "not":
        return f"int64(not {text})", "i"
    return (f"abs({text})" if symbol == "abs" else f"({symbol}{text})"), kind


def exact(name, part):
    if name in ("floor", "ceil", "trunc"):
        # On the CPU they give integers, on CUDA floats.
        return f"int64(math.{name}(cut(float64({part[0]}), -1e6, 1e6)))", "i"
    return f"math.{name}(float64({part[0]}))", "f"


def extreme(name, pair):
    left, right = alike(pair)
    if kind_of(pair) == "f":
        # Of zeros of both signs either may be taken.
        left, right = f"no_nan({left})", f"no_nan({right})"
        return f"({name}({left}, {right}) + 0.0)", "f"
    return f"{name}({left}, {right})", "i"


def power(part, exponent):
    text, kind = part
    # Of floats, powers are computed by different functions on the two sides.
    return (f"(int64({text}) ** {exponent})", "i") if kind == "i" else (f"({text} * {text})", "f")


def extended(inner):
    pairs = st.tuples(inner, inner)
    arithmetic = st.builds(binary, st.sampled_from(["+", "-", "*", "//", "%", "/"]), pairs)
    comparisons = st.sampled_from(["<", "<=", "==", "!=", ">", ">="])
    return st.one_of(
        arithmetic,
        arithmetic,
        st.builds(bitwise, st.sampled_from(["&", "|", "^"]), pairs),
        st.builds(shift, st.sampled_from(["<<", ">>"]), pairs),
        st.builds(chosen, comparisons, pairs),
        st.builds(compared, comparisons, pairs),
        st.builds(cut, inner, st.sampled_from(INTEGERS)),
        st.builds(widened, inner, st.sampled_from(FLOATS)),
        st.builds(unary, st.sampled_from(["-", "+", "~", "abs", "not"]), inner),
        st.builds(exact, st.sampled_from(["sqrt", "floor", "ceil", "fabs", "trunc"]), inner),
        st.builds(extreme, st.sampled_from(["min", "max"]), pairs),
        st.builds(power, inner, st.sampled_from([0, 1, 2, 3])),
    )


@st.composite
def programs(draw):
    """Draw the dtypes of three arguments, and some expressions of them."""
    dtypes = draw(st.tuples(*[st.sampled_from(INTEGERS + FLOATS)] * 3))
    variables = [
        (n, np.dtype(d).kind.replace("u", "i")) for n, d in zip("abc", dtypes, strict=True)
    ]
    leaves = st.sampled_from([*variables, *variables, ("3", "i"), ("-7", "i"), ("2.5", "f")])
    tree = st.recursive(leaves, extended, max_leaves=6)
    return dtypes, draw(st.lists(tree.filter(lambda part: "(" in part[0]), min_size=3, max_size=3))


@numba.njit
def cut_to(x, low, high):
    return low if not x > low else min(x, high)


@numba.njit
def without_nan(x):
    return x if x == x else 0.5  # noqa: PLR0124 - NaN only


KERNEL = """
def kernel(first, second, third, {outs}):
    i = {index}
    a, b, c = first[i], second[i], third[i]
{stores}
"""


def function_of(parts, index):
    """Return the text of a function that evaluates expressions at one index."""
    outs = ", ".join(f"out{k}" for k in range(len(parts)))
    stores = "\n".join(f"    out{k}[i] = {text}" for k, (text, _) in enumerate(parts))
    return KERNEL.format(outs=outs, index=index, stores=stores)


def compiled(source):
    namespace = {name: getattr(numba, name) for name in (*INTEGERS, *FLOATS)}
    namespace |= {"cuda": cuda, "math": math, "cut": cut_to, "no_nan": without_nan}
    exec(source, namespace)  # noqa: S102 - what is tested
    return namespace["kernel"]


def bits(values):
    """Return numbers as bits, every NaN the same."""
    values = values.copy()
    if values.dtype.kind == "f":
        values[np.isnan(values)] = np.nan
    return values.view(np.int64)


def both(dtypes, parts):
    """Return what Numba gives on the CPU, and what the simulator gives."""
    rng = np.random.default_rng(5)
    arguments = [rng.permutation(numbers_of(dtype, rng)) for dtype in dtypes]
    kinds = [np.int64 if kind == "i" else np.float64 for _, kind in parts]
    expected = [np.zeros(THREADS, kind) for kind in kinds]
    found = [np.zeros(THREADS, kind) for kind in kinds]
    one = numba.njit(compiled(function_of(parts, "0")), error_model="numpy")
    for k in range(THREADS):
        one(*[array[k:] for array in (*arguments, *expected)])
    run(compiled(function_of(parts, "cuda.grid(1)")), 2, THREADS // 2, *arguments, *found)
    return arguments, expected, found


def check(dtypes, parts):
    arguments, expected, found = both(dtypes, parts)
    for (text, _), right, got in zip(parts, expected, found, strict=True):
        wrong = np.flatnonzero(bits(right) != bits(got))
        for k in wrong[:1]:
            values = dict(zip("abc", (array[k] for array in arguments), strict=True))
            pytest.fail(f"{text} of {values!r}: Numba {right[k]!r}, the simulator {got[k]!r}")


@pytest.mark.parametrize("examples", [4, *large(40)])
def test_random_expressions_are_numbas_bit_by_bit(examples):
    @settings(
        # Each compiles twice: what fails is small already, and shrinking it would take minutes.
        max_examples=examples, phases=[Phase.generate], derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )  # fmt: skip
    @given(programs())
    def agree(program):
        check(*program)

    agree()


def pairs_with(*rights):
    """Return every dtype with every one of these; by default with one of three of them."""
    every = [
        ((left, right), (i + j) % 3)
        for i, left in enumerate((*INTEGERS, *FLOATS))
        for j, right in enumerate(rights)
    ]
    return [pair for pair, late in every if not late] + large(*(p for p, late in every if late))


@pytest.mark.parametrize(("left", "right"), pairs_with("int8", "uint64", "float32"))
def test_each_operator_on_pairs_of_dtypes(left, right):
    kinds = [np.dtype(name).kind.replace("u", "i") for name in (left, right)]
    pair = (("a", kinds[0]), ("b", kinds[1]))
    check(
        (left, right, "int64"),
        [
            *[binary(symbol, pair) for symbol in ("+", "-", "*", "/")],
            *[bitwise(symbol, pair) for symbol in ("&", "|", "^")],
            *[shift(symbol, pair) for symbol in ("<<", ">>")],
            *[compared(symbol, pair) for symbol in ("<", "<=", "==", "!=", ">", ">=")],
            extreme("min", pair),
            extreme("max", pair),
        ],
    )


# The sign of the divisor, zero and infinity among it, decides.
@pytest.mark.parametrize(("left", "right"), pairs_with("int8", "uint16", "float32", "float64"))
def test_floor_division_and_remainder(left, right):
    kinds = [np.dtype(name).kind.replace("u", "i") for name in (left, right)]
    pair = (("a", kinds[0]), ("b", kinds[1]))
    check((left, right, "int64"), [binary("//", pair), binary("%", pair)])


@pytest.mark.parametrize("dtype", NARROW_AND_WIDE)
def test_conversions_between_all_dtypes(dtype):
    part = ("a", np.dtype(dtype).kind.replace("u", "i"))
    check(
        (dtype, "int8", "int8"),
        [*[cut(part, to) for to in INTEGERS], *[widened(part, to) for to in FLOATS]],
    )


@pytest.mark.parametrize("dtype", NARROW_AND_WIDE)
def test_functions_of_one_number(dtype):
    part = ("a", np.dtype(dtype).kind.replace("u", "i"))
    check(
        (dtype, "int8", "int8"),
        [
            *[unary(symbol, part) for symbol in ("-", "+", "~", "abs", "not")],
            *[exact(name, part) for name in ("sqrt", "floor", "ceil", "fabs", "trunc")],
            *[power(part, exponent) for exponent in (0, 1, 2, 3)],
        ],
    )


# --- what CUDA defines otherwise than the CPU -----------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
def test_minimum_and_maximum_give_the_number_where_the_other_is_nan(dtype):
    @cuda.jit
    def kernel(a, b, low, high):
        i = cuda.grid(1)
        low[i] = min(a[i], b[i])
        high[i] = max(a[i], b[i])

    a = np.array([1, np.nan, np.nan, 2, -np.inf], dtype)
    b = np.array([np.nan, 1, np.nan, -3, np.nan], dtype)
    low, high = np.zeros((2, 5), dtype)
    run(kernel, 1, 5, a, b, low, high)
    assert np.array_equal(low, np.array([1, 1, np.nan, -3, -np.inf], dtype), equal_nan=True)
    assert np.array_equal(high, np.array([1, 1, np.nan, 2, -np.inf], dtype), equal_nan=True)


# Numba has PTX's min and max of two floats only, and compares one after the other else.
@pytest.mark.parametrize(
    ("chosen", "wanted"),
    [
        (lambda x: max(x, 0), math.nan),
        (lambda x: max(0, x), 0),
        (lambda x: min(x, 0), math.nan),
        (lambda x: max(x, 0.0), 0),
        (lambda x: max(x, np.float32(0)), 0),
        (lambda x: max(x, 1.0, 2.0), math.nan),
        (lambda x: max(1.0, x, 2.0), 2),
        (lambda x: min((x, 1.0)), math.nan),
        (lambda x: max(1.0, x, 2), 2),
    ],
)
def test_minimum_and_maximum_of_nan_and_others(chosen, wanted):
    out = np.zeros(2)
    run(elementwise(chosen), 1, 2, np.full(2, math.nan), out)
    assert np.array_equal(out, [wanted, wanted], equal_nan=True)


# PTX: cvt cuts to the range of a 32- or 64-bit integer, and makes 0 of NaN.
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("target", ["int32", "int64", "uint32", "uint64"])
def test_conversions_of_floats_saturate(dtype, target):
    limits = np.iinfo(target)
    wanted = getattr(numba, target)

    @cuda.jit
    def kernel(values, out):
        i = cuda.grid(1)
        out[i] = wanted(values[i])

    values = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, -0.9, 1.9, -1.9], dtype)
    out = np.zeros(8, target)
    run(kernel, 1, 8, values, out)
    low, high = limits.min, limits.max
    # The PTX manual's rule for NaN; the H200 agrees (see benchmarks/results).
    wide = dtype == "float64" or limits.bits == 64
    nothing = (1 << (limits.bits - 1)) * (-1 if low < 0 else 1) if wide else 0
    assert out.tolist() == [nothing, high, low, high, low, 0, 1, max(-1, low)]


# round() and llrint() are conversions, too: PTX cvt.rni.
@pytest.mark.parametrize("function", [round, libdevice.llrint])
def test_rounding_to_an_integer_saturates(function):
    @cuda.jit
    def kernel(values, out):
        i = cuda.grid(1)
        out[i] = function(values[i])

    values = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 0.5, 1.5, -2.5])
    out = np.zeros(8, np.int64)
    run(kernel, 1, 8, values, out)
    low, high = -(2**63), 2**63 - 1
    assert out.tolist() == [low, high, low, high, low, 0, 2, -2]


# What libdevice's guide says; its signatures in Numba have unsigned numbers as signed ones.
@pytest.mark.parametrize(
    ("name", "bits", "arguments", "wanted"),
    [
        ("umax", 32, (-1, 1), -1),
        ("umin", 32, (-1, 1), 1),
        ("ullmax", 64, (-1, 1), -1),
        ("ullmin", 64, (-1, 1), 1),
        ("umulhi", 32, (-1, 2), 1),
        ("umul64hi", 64, (-1, 2), 1),
        ("mulhi", 32, (-1, 2), -1),
        ("hadd", 32, (2**31 - 1, 2**31 - 3), 2**31 - 2),
        ("hadd", 32, (-3, 0), -2),
        ("sad", 32, (2**31 - 1, -(2**31), 7), 6),
        ("usad", 32, (-1, 1, 7), 5),
        ("usad", 32, (1, -1, 7), 5),
    ],
)
def test_integer_functions_of_libdevice(name, bits, arguments, wanted):
    function = getattr(libdevice, name)

    @cuda.jit
    def of_two(a, b, out):
        out[0] = function(a, b)

    @cuda.jit
    def of_three(a, b, c, out):
        out[0] = function(a, b, c)

    out = np.zeros(1, np.int64)
    given = [np.dtype(f"i{bits // 8}").type(part) for part in arguments]
    run(of_two if len(given) == 2 else of_three, 1, 1, *given, out)
    assert out[0] == wanted


# Where C, whose results CUDA's guide gives, has another one than Python and NumPy.
SPECIAL = {
    math.gamma: ((0.0, math.inf), (-0.0, -math.inf), (-1e-320, -math.inf), (-2.0, math.nan)),
    math.lgamma: ((0.0, math.inf), (-3.0, math.inf)),
    libdevice.logb: ((math.inf, math.inf), (-math.inf, math.inf), (math.nan, math.nan)),
    libdevice.ilogb: ((math.inf, 2**31 - 1), (0.0, -(2**31)), (math.nan, -(2**31))),
    libdevice.round: ((-0.3, -0.0), (-0.5, -1.0), (2.5, 3.0)),
    libdevice.sinpi: (
        (1e308, 0.0), (1e15 + 0.5, 1.0), (-1.25, math.sqrt(0.5)),
        (1 + 2**-50, -math.pi * 2**-50),
    ),
    libdevice.cospi: (
        (0.5, 0.0), (1e308, 1.0), (1e15 + 1, -1.0), (-1.25, -math.sqrt(0.5)),
        (2.5 + 2**-50, -math.pi * 2**-50),
    ),
}  # fmt: skip


@pytest.mark.parametrize("function", SPECIAL, ids=lambda function: function.__name__)
def test_special_values_of_functions(function):
    @cuda.jit
    def kernel(values, out):
        i = cuda.grid(1)
        out[i] = function(values[i])

    values, wanted = np.array(SPECIAL[function]).T.copy()
    out = np.zeros(len(values))
    run(kernel, 1, len(values), values, out)
    assert np.allclose(out, wanted, rtol=2**-51, atol=0, equal_nan=True), out
    assert (np.signbit(out) == np.signbit(wanted)).all(), out


# By hand, from what Numba does for a GPU: Python gives 0.1 for the first and 2.67 for the next.
@pytest.mark.parametrize(
    ("number", "digits", "wanted"),
    [
        (0.15, 1, 0.2),
        (2.675, 2, 2.68),
        (2.5, 0, 2.0),
        (25.0, -1, 20.0),
        (-1.25, 1, -1.2),
        (1e20, 2, 2.0**63 / 100),
        (1e300, 30, 1e300),
        (1e30, -1, 2.0**63 * 10),
        (5e-23, 23, 5.0 / 1e22 / 10.0),
        (-math.inf, 2, -math.inf),
        (math.nan, -2, math.nan),
    ],
)
def test_rounding_to_decimal_places(number, digits, wanted):
    @cuda.jit
    def kernel(values, digits, out):
        i = cuda.grid(1)
        out[i] = round(values[i], digits)

    out = np.zeros(2)
    run(kernel, 1, 2, np.full(2, number), digits, out)
    assert np.array_equal(out, [wanted, wanted], equal_nan=True)


def test_positive_differences():
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        out[i] = libdevice.fdim(a[i], b[i])

    a = np.array([3, 1, math.inf, -math.inf, math.nan, 1])
    b = np.array([1, 3, math.inf, 0, 1, math.nan])
    out = np.zeros(6)
    run(kernel, 1, 6, a, b, out)
    assert np.array_equal(out, [2, 0, 0, 0, math.nan, math.nan], equal_nan=True)


def test_float32_stays_float32():
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        out[i] = a[i] * b[i] + a[i]

    a, b = np.random.default_rng(0).normal(size=(2, 64)).astype(np.float32)
    out = np.zeros(64)
    run(kernel, 2, 32, a, b, out)
    # Each operation rounds on its own: no contraction.
    assert np.array_equal(out, a * b + a)


# What an H100 gives.
@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        ("int8", [2, -2, 2, 4, 127, -128, 0]),
        ("uint8", [2, 0, 2, 4, 255, 0, 0]),
        ("int32", [2, -2, 2, 4, 65504, -(2**31), 0]),
        ("uint64", [2, 0, 2, 4, 65504, 0, 2**63]),
    ],
)
def test_float16_becomes_the_nearest_integer(dtype, wanted):
    @cuda.jit
    def kernel(source, target):
        target[cuda.grid(1)] = source[cuda.grid(1)]

    source = np.array([1.5, -1.5, 2.5, 3.7, 65504, -np.inf, np.nan], np.float16)
    target = np.zeros(7, dtype)
    run(kernel, 1, 7, source, target)
    assert target.tolist() == wanted


@cuda.jit
def complex_arithmetic(a, b, quotient, power):
    i = cuda.grid(1)
    power[i] = a[i] ** b[i]
    quotient[i] = a[i] / b[i]


# What an H100 gives, which computes by Numba's code, not by NumPy's rules.
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_quotients_and_powers(dtype):
    a = np.array([1 - 2.5j, 0, 1j, 1 + 1j, 3 + 4j], dtype)
    b = np.array([1 - 2.5j, 1j, 1j, 2, 0], dtype)
    quotient, power = np.full((2, 5), 7, dtype)
    run(complex_arithmetic, 1, 5, a, b, quotient, power)
    assert quotient.real[:2].tolist() == [1, 0]
    assert quotient[2:4].tolist() == [1, 0.5 + 0.5j]
    # A division by zero ends its thread; so does Python's.
    assert quotient[4] == 7
    assert power[[1, 2, 4]].tolist() == [0, 0, 1]
    assert 0 < power[3].real < 1e-6
    assert abs(power[3].imag - 2) < 1e-6


@pytest.mark.parametrize(("fastmath", "wanted"), [(False, [4, 1, 8]), (True, [np.nan, np.nan, 8])])
def test_fast_powers_have_no_negative_base(fastmath, wanted):
    @cuda.jit(fastmath=fastmath)
    def kernel(a, b, c):
        i = cuda.grid(1)
        c[0, i] = a[i] ** b[i]
        c[1, i] = math.pow(a[i], b[i])

    a, b = np.array([[-2, 0, 2], [2, 0, 3]], np.float32)
    result = np.zeros((2, 3), np.float32)
    run(kernel, 1, 3, a, b, result)
    assert np.array_equal(result, [wanted, wanted], equal_nan=True)
    fast = elementwise(lambda x: libdevice.fast_powf(x, np.float32(2)))
    run(fast, 1, 3, a, result[0])
    assert np.array_equal(result[0], [np.nan, 0, 4], equal_nan=True)
