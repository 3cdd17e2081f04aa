"""What each accuracy promises: bounds beside exact sums, and the same bits whatever the order."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import warpladder as wl
from choosing import large
from warpladder.device.simd import vector_unit
from warpladder.reduction.cpu import jobs
from warpladder.reduction.loops import limbs
from warpladder.reduction.loops.exact import exact_sums
from warpladder.reduction.memory import layout

EXACT_OPS = ("sum", "mean", "var", "std", "l1", "l2")
# Of float32 test_gpu_reduce.py has exact sums by default, beside those of a GPU.
DTYPES = ("f8", *large("f4", "f2"))
any_float = st.floats(allow_nan=False, allow_infinity=False, width=64)
moderate = st.floats(-(2.0**80), 2.0**80, allow_subnormal=False)


def ill_conditioned(n, condition, seed):
    """Return numbers whose absolute values add up to about ``condition`` times their sum."""
    rng = np.random.default_rng(seed)
    half = rng.standard_normal(n // 2) * 2.0 ** rng.uniform(0, math.log2(condition), n // 2)
    values = np.concatenate((half, -half, rng.random(n % 2 + 8)))
    rng.shuffle(values)
    return values


def bits(answer):
    return [np.asarray(found).tobytes() for found in answer]


def rounded(fraction, dtype):
    """Round a fraction to float64 and then to a dtype."""
    try:
        nearest = fraction.numerator / fraction.denominator
    except OverflowError:
        nearest = math.inf if fraction > 0 else -math.inf
    with np.errstate(over="ignore"):
        return np.dtype(dtype).type(nearest)


@pytest.mark.parametrize("condition", [1e3, 1e8, 1e12, 1e15])
@pytest.mark.parametrize("n", [100, 4097, 300_000])
def test_bounds_on_ill_conditioned_sums(n, condition):
    values = ill_conditioned(n, condition, n)
    exact, scale = math.fsum(values), math.fsum(np.abs(values))
    u = 2.0**-53
    bounds = {
        "fast": (4096 + math.log2(n)) * u * scale,
        "pairwise": (512 + math.log2(n)) * u * scale,
        "compensated": u * abs(exact) + 2.0**-90 * scale,
        "reproducible": 0,
    }
    for accuracy, bound in bounds.items():
        found = wl.reduce(values, ("sum", "mean"), accuracy=accuracy)
        assert abs(found.sum - exact) <= bound, accuracy
        assert (
            abs(found.mean - exact / values.size)
            <= (bound + 2 * u * abs(exact)) / values.size + 1e-300
        ), accuracy


def test_compensated_is_right_where_numpy_is_not():
    values = ill_conditioned(100_000, 1e12, 1)
    exact = math.fsum(values)
    assert abs(values.sum() - exact) > 1e-7 * abs(exact)
    assert wl.reduce(values, accuracy="compensated") == pytest.approx(exact, rel=2.3e-16)


@pytest.mark.parametrize("dtype", ["f4", *large("f2")])
def test_compensated_in_float64_for_small_floats(dtype):
    values = (np.random.default_rng(2).standard_normal(50_001) * 100).astype(dtype)
    exact, scale = math.fsum(values), math.fsum(np.abs(values))
    u = np.finfo(dtype).eps / 2
    assert abs(float(wl.reduce(values, accuracy="compensated")) - exact) <= (
        u * abs(exact) + 2.0**-43 * scale
    )


@pytest.mark.large
def test_compensated_beside_other_operations():
    values = ill_conditioned(10_001, 1e10, 4)
    answer = wl.reduce(values, ("sum", "l1", "min", "var"), accuracy="compensated")
    assert answer.l1 == pytest.approx(math.fsum(np.abs(values)), rel=2.3e-16)
    assert answer.min == values.min()
    assert answer.var == pytest.approx(values.var(), rel=1e-12)


def test_compensated_with_masks_and_infinities():
    values = ill_conditioned(10_001, 1e10, 4)
    mask = np.random.default_rng(4).random(values.size) < 0.5
    with_nan = np.where(mask, values, np.nan)
    exact = math.fsum(values[mask])
    for found in (
        wl.reduce(values, where=mask, accuracy="compensated"),
        wl.reduce(with_nan, "nansum", accuracy="compensated"),
        wl.reduce(np.stack([values] * 3), axis=1, where=mask, accuracy="compensated")[1],
    ):
        assert found == pytest.approx(exact, rel=2.3e-16)
    infinite = np.append(values, np.inf)
    assert wl.reduce(infinite, accuracy="compensated") == np.inf
    assert np.isnan(wl.reduce(np.append(infinite, -np.inf), accuracy="compensated"))
    assert wl.reduce(np.full(300, 1e308), accuracy="compensated") == np.inf


def exact_answers(values):
    """Answer in fractions."""
    numbers = [Fraction(float(v)) for v in values]
    n = len(numbers)
    total = sum(numbers, Fraction())
    squares = sum((v * v for v in numbers), Fraction())
    return total, squares, (squares - total * total / n) / n


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("spread", [0, 5, 12, 30, 200, 1000])
def test_reproducible_sums_are_the_exact_ones_rounded(dtype, spread):
    for n in (1, 2, 31, 33, 2047, 2049):
        rng = np.random.default_rng(n + spread)
        with np.errstate(over="ignore", under="ignore"):
            values = (rng.standard_normal(n) * 2.0 ** rng.uniform(-spread, spread, n)).astype(dtype)
        values = np.append(values[np.isfinite(values)], np.dtype(dtype).type(1))
        total, squares, variance = exact_answers(values)
        found = wl.reduce(values, EXACT_OPS, accuracy="reproducible")
        assert found.sum == rounded(total, dtype)
        assert found.l1 == rounded(sum(abs(Fraction(float(v))) for v in values), dtype)
        # Two roundings more.
        unit = float(np.finfo(dtype).eps)
        tiny = float(np.finfo(dtype).smallest_subnormal)
        for name, exact in (("mean", total / values.size), ("var", variance)):
            assert float(getattr(found, name)) == pytest.approx(
                float(rounded(exact, dtype)), rel=2 * unit, abs=tiny
            )
        root = Fraction(math.isqrt(squares.numerator * 4**1200 // squares.denominator), 2**1200)
        assert float(found.l2) == pytest.approx(float(rounded(root, dtype)), rel=2 * unit, abs=tiny)


def test_reproducible_at_the_ends_of_the_range():
    tiny, huge = 5e-324, 1.7976931348623157e308
    for values in (
        [tiny], [-tiny, -tiny], [huge, -huge, tiny], [huge, huge, -huge], [huge, 1.0, -huge],
        [0.0, -0.0], [2.0**1023] * 3 + [-(2.0**1023)] * 2, [2.0**-1022, -(2.0**-1023)],
    ):  # fmt: skip
        for repeats in (1, 700):
            many = np.tile(np.array(values), repeats)
            assert wl.reduce(many, accuracy="reproducible") == rounded(
                exact_answers(values)[0] * repeats, "f8"
            )
    assert wl.reduce([huge, huge], accuracy="reproducible") == np.inf
    assert wl.reduce([huge, huge], "l2", accuracy="reproducible") == np.inf
    # The sum does not fit, the mean does.
    assert wl.reduce([huge, huge], "mean", accuracy="reproducible") == huge
    assert wl.reduce(np.full(1000, -1.7e308), "mean", accuracy="reproducible") == -1.7e308
    assert wl.reduce([huge, huge, np.inf], "mean", accuracy="reproducible") == np.inf
    large = 2.0**600
    assert wl.reduce([3 * large, 4 * large], "l2", accuracy="reproducible") == 5 * large
    assert wl.reduce([3e-320] * 100, "l2", accuracy="reproducible") == pytest.approx(3e-319)


def test_reproducible_with_what_is_no_number():
    for filler in (np.zeros(0), np.ones(5000)):
        for special, expected in (
            ([np.inf], np.inf), ([-np.inf], -np.inf), ([np.inf, -np.inf], np.nan),
            ([np.nan], np.nan), ([np.inf, np.nan], np.nan),
        ):  # fmt: skip
            values = np.concatenate((filler, special, filler))
            found = wl.reduce(values, ("sum", "l1", "l2", "var"), accuracy="reproducible")
            np.testing.assert_equal(float(found.sum), expected)
            size = np.nan if np.isnan(special).any() else np.inf
            np.testing.assert_equal([float(found.l1), float(found.l2)], [size, size])
            assert np.isnan(found.var)
    values = np.array([1.0, np.nan, 2.0])
    assert wl.reduce(values, ("nansum", "nanvar"), accuracy="reproducible") == (3, 0.25)
    # What finds an extremum counts for the others.
    assert wl.reduce(values, ("nanmin", "nanmean"), accuracy="reproducible") == (1, 1.5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reproducible_bits_for_any_order_layout_cores_and_tiles(dtype, monkeypatch):
    rng = np.random.default_rng(8)
    values = (rng.standard_normal(30_030) * 2.0 ** rng.uniform(-9, 4, 30_030)).astype(dtype)
    expected = bits(wl.reduce(values, EXACT_OPS, accuracy="reproducible"))
    shuffled = rng.permutation(values)
    cube = shuffled.reshape(30, 77, 13)
    forms = [
        shuffled,
        shuffled[::-1],
        cube.transpose(2, 0, 1),
        np.repeat(shuffled, 2)[::2],
        shuffled.astype(values.dtype.newbyteorder()),
        iter(np.array_split(shuffled, [1, 2, 33, 5000, 5000, 20_001])),
    ]
    monkeypatch.setattr(layout, "TILE_BYTES", 4096)
    monkeypatch.setattr(layout, "_TILES", 1 << 30)
    for number, form in enumerate(forms):
        monkeypatch.setattr(jobs, "worker_count", lambda n=number % 4 + 1: n)
        assert bits(wl.reduce(form, EXACT_OPS, accuracy="reproducible")) == expected, number
    # A sum of sums along one axis is not exact, but each of them is that of the row.
    rows = wl.reduce(cube, axis=(0, 2), accuracy="reproducible")
    for k, row in enumerate(rows):
        assert row == np.dtype(dtype).type(math.fsum(cube[:, k].ravel()))


@settings(max_examples=60)
@given(hnp.arrays(np.float64, st.integers(0, 70), elements=any_float), st.randoms())
def test_reproducible_equals_fsum(values, random):
    shuffled = values.tolist()
    random.shuffle(shuffled)
    found = wl.reduce(np.array(shuffled, np.float64), accuracy="reproducible")
    assert found == rounded(sum(map(Fraction, shuffled), Fraction()), "f8")


@st.composite
def integers_near_ties(draw):
    """Draw integers of up to 2,150 bits, of which many lie near the middle of two float64."""
    mantissa = draw(st.integers(2**53, 2**54))
    return draw(st.sampled_from((1, -1))) * (
        (mantissa << draw(st.integers(0, 2090))) + draw(st.sampled_from((-1, 0, 1)))
    )


@settings(max_examples=200)
@given(st.one_of(integers_near_ties(), st.integers(-(2**2150), 2**2150), st.integers(-9, 9)))
def test_limbs_are_rounded_once(number):
    row = np.zeros(70, np.int64)
    left = number
    for k in range(68):
        row[k], left = left & 0xFFFFFFFF, left >> 32
    row[68] = left
    expected = rounded(Fraction(number, 2 ** (16 * 69)), "f8")
    # Of many rows by a compiled loop.
    found = exact_sums(np.tile(row, (100, 1)))
    assert (found == expected).all()
    row[69] = limbs.NAN
    assert np.isnan(exact_sums(np.tile(row, (100, 1)))).all()


@settings(max_examples=40)
@given(hnp.arrays(np.float64, st.integers(1, 60), elements=moderate), st.data())
def test_reproducible_is_blind_to_chunks(values, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, values.size), max_size=4)))
    order = data.draw(st.permutations(range(len(cuts) + 1)))
    chunks = np.split(values, cuts)
    whole = wl.reduce(values, EXACT_OPS, accuracy="reproducible")
    parts = wl.reduce((chunks[i] for i in order), EXACT_OPS, accuracy="reproducible")
    assert bits(parts) == bits(whole)


# Of integers of eight bytes test_ranges.py has exact sums, by default too.
@pytest.mark.parametrize("dtype", large("i4", "u8"))
def test_reproducible_for_integers(dtype):
    values = np.random.default_rng(1).integers(-(2**31), 2**31, 5000)
    numbers = values.astype(dtype)
    found = wl.reduce(numbers, ("sum", "mean", "var"), accuracy="reproducible")
    assert found.sum == numbers.sum()
    assert found.mean == pytest.approx(float(numbers.mean(dtype=np.longdouble)), rel=1e-15)
    assert found.var == pytest.approx(float(numbers.var(dtype=np.longdouble)), rel=1e-15)


@pytest.mark.large
@pytest.mark.parametrize(
    ("dtype", "masked", "ops"),
    [
        ("u1", True, ("var",)),
        *large(
            ("u1", True, ("l2",)),
            ("u1", True, ("std", "mean")),
            ("u1", False, ("var", "std", "mean", "l2")),
        ),
        *large(("?", True, ("std", "l2")), ("i4", False, ("std", "l2"))),
        *large(("i4", True, ("var", "mean"))),
    ],
    ids=lambda one: None if not isinstance(one, tuple) else "-".join(one),
)
def test_all_that_count_are_counted_for_exact_sums(dtype, masked, ops):
    """Nothing beside them counts what they divide by, or an extremum that no number exceeds."""
    random = np.random.default_rng(2)
    numbers = random.integers(0, 2 if dtype == "?" else 256, 70_000).astype(dtype)
    where = random.random(numbers.size) < 0.6 if masked else None
    kept = (numbers if where is None else numbers[where]).astype("f8")
    for op in ops:
        exact = math.sqrt(kept @ kept) if op == "l2" else getattr(kept, op)()
        # NumPy's rounding errors, of sums in pairs.
        expected = pytest.approx(exact, rel=1e-13)
        for others in ((), ("min",), ("max", "min"), ("any",)):
            options = {"where": where, "accuracy": "reproducible"}
            if op == "mean":
                options["dtype"] = "f8"
            assert wl.reduce(numbers, (*others, op), **options)[-1] == expected, others


def test_products_of_integers_are_exact_in_any_case():
    values = np.random.default_rng(1).integers(-(2**31), 2**31, 5000)
    assert wl.reduce(values, "prod", accuracy="reproducible") == values.prod()


def error_of_equal_additions(most):
    """Return the largest error, in units of 2^-24, of adding up to so many 0.1 in float32."""
    total, largest = np.float32(0), 0.0
    for count in range(1, most + 1):
        total += np.float32(0.1)
        if count.bit_count() == 1:
            exact = count * float(np.float32(0.1))
            largest = max(largest, abs(float(total) / exact - 1) * 2.0**24)
    return largest


def test_fast_errors_stay_small_on_many_numbers():
    """All roundings go the same way here; of random numbers they mostly cancel.

    Lanes of vectors add up as many numbers each, equal sums of them are doubled exactly: so wide
    vectors, of which a compiler may take several, round least.
    """
    values = np.full(3_000_000, 0.1, np.float32)
    exact = 3_000_000 * float(np.float32(0.1))
    lanes = vector_unit().bytes // values.itemsize
    for accuracy, block in (("fast", 4096), ("pairwise", 512), ("compensated", 1)):
        # Of the float64 sum of blocks, both are rounded once.
        units = error_of_equal_additions(max(block // lanes, 1)) + 1
        found = wl.reduce(values, ("sum", "mean"), accuracy=accuracy)
        assert found.sum == pytest.approx(exact, rel=units * 2.0**-24)
        assert found.mean == pytest.approx(exact / 3_000_000, rel=units * 2.0**-24)
    found = wl.reduce(values, ("sum", "mean"), accuracy="reproducible")
    assert found.sum == np.float32(exact)
    assert found.mean == np.float32(0.1)
