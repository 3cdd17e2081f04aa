"""Answers that exist although squares, sums or products on the way to them do not fit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import warpladder as wl
from choosing import large

ENDS = {"i8": (-(2**63), 2**63 - 1), "u8": (0, 2**64 - 1)}
HUGE = float(np.finfo(np.float64).max)


def variance_of(values, ddof=0):
    """Return the exact variance."""
    numbers = values.tolist() if values.dtype.kind in "iu" else [*map(Fraction, values.tolist())]
    n = len(numbers)
    # Without the mean, so that of integers no fraction is made but the last.
    return Fraction(n * sum(v * v for v in numbers) - sum(numbers) ** 2, n * (n - ddof))


def root_of(fraction):
    """Return the root of a fraction, which need not fit float64."""
    numerator, denominator = fraction.numerator << 4400, fraction.denominator
    return Fraction(math.isqrt(numerator // denominator), 1 << 2200)


def whole_numbers(dtype):
    """Yield integers whose squares, or themselves, float64 cannot tell apart."""
    low, high = ENDS[dtype]
    rng = np.random.default_rng(0)
    for n in (1, 2, 31, 33, 1000, 5000):
        yield rng.integers(high - 999, high, n, dtype, endpoint=True)
        yield rng.integers(low, high, n, dtype, endpoint=True)
        yield np.full(n, high - 1, dtype)
    yield rng.permutation(np.repeat(np.array([low, high], dtype), 2500))
    # The mean of the first block is far from the others'.
    yield np.repeat(np.array([low, high, high - 3], dtype), 5000)
    yield np.arange(2**62, 2**62 + 1000).astype(dtype)


def check_whole_numbers(dtype, accuracy, **options):
    for values in whole_numbers(dtype):
        exact = variance_of(values)
        found = wl.reduce(values, ("var", "std"), accuracy=accuracy, **options)
        assert float(found.var) == pytest.approx(float(exact), rel=1e-13), values
        assert float(found.std) == pytest.approx(math.sqrt(exact), rel=1e-13), values


@pytest.mark.parametrize("dtype", ["i8", *large("u8")])
def test_variances_of_large_integers(dtype):
    check_whole_numbers(dtype, "fast")


def test_exact_sums_of_large_integers():
    ops = ("sum", "l1", "l2", "var", "std")
    for values in whole_numbers("i8"):
        numbers = values.tolist()
        found = wl.reduce(values, ops, dtype="f8", accuracy="reproducible")
        exact = variance_of(values)
        assert float(found.var) == pytest.approx(float(exact), rel=1e-13)
        assert float(found.std) == pytest.approx(math.sqrt(exact), rel=1e-13)
        assert found.sum == float(sum(numbers))
        assert found.l1 == float(sum(map(abs, numbers)))
        assert found.l2 == float(root_of(Fraction(sum(v * v for v in numbers))))


@pytest.mark.parametrize("dtype", ["u8", *large("i8")])
def test_variances_of_large_integers_across_memory(dtype):
    for values in whole_numbers(dtype):
        found = wl.reduce(np.stack([values, values[::-1], values], axis=1), "var", axis=0)
        # Differences are from a row's first element.
        assert found.tolist() == pytest.approx([float(variance_of(values))] * 3, rel=1e-11)


# A dtype is how numbers are read, an accuracy how they are added.
@pytest.mark.parametrize(
    ("dtype", "accuracy"),
    large(("i8", "fast"), ("u8", "pairwise"), ("i8", "compensated"), ("u8", "reproducible")),
)
def test_variances_of_large_integers_in_every_way(dtype, accuracy, gpu):
    check_whole_numbers(dtype, accuracy)
    check_whole_numbers(dtype, accuracy, device=gpu)
    for values in whole_numbers(dtype):
        exact = float(variance_of(values))
        for mask in (np.arange(values.size) % 3 > 0, np.arange(values.size) < values.size // 2):
            if not mask.any():
                continue
            for device in ("cpu", gpu):
                found = wl.reduce(values, "var", where=mask, accuracy=accuracy, device=device)
                assert found == pytest.approx(float(variance_of(values[mask])), rel=1e-13)
        crosswise = np.stack([values] * 3, axis=1)
        for device in ("cpu", gpu):
            found = wl.reduce(crosswise, "var", axis=0, accuracy=accuracy, device=device)
            assert found.tolist() == pytest.approx([exact] * 3, rel=1e-11)


def check_there(gpu, op, values, expected, rel=0.0, **options):
    found = wl.reduce(np.asarray(values), op, device=gpu, **options)
    np.testing.assert_allclose(float(found), expected, rtol=rel, atol=0, err_msg=str(values))


NEAR_AND_FAR = (np.arange(2**62, 2**62 + 1000), np.array([2**63 - 1, -(2**63)] * 50))


# By default test_gpu_reduce has extreme squares, and test_numpy_ways products.
@pytest.mark.large
def test_on_a_gpu(gpu):
    """The same states, filled by other kernels."""
    for values in NEAR_AND_FAR:
        check_there(gpu, "var", values, float(variance_of(values)), 1e-13)
    for values in ([1e-200, 3e-200], [1e200, 3e200] * 700, [-HUGE, HUGE] * 9):
        found = wl.reduce(np.array(values), ("std", "prod"), device=gpu)
        exact = float(root_of(variance_of(np.array(values))))
        assert float(found.std) == pytest.approx(exact, rel=1e-14)
    for values, expected in PRODUCTS:
        found = wl.reduce(np.array(values), ("std", "prod"), device=gpu)
        np.testing.assert_array_equal(found.prod, expected, str(values))


@pytest.mark.large
def test_on_a_gpu_in_other_dtypes(gpu):
    for values in NEAR_AND_FAR:
        exact = float(variance_of(values))
        check_there(gpu, "var", values, exact, 1e-13, accuracy="reproducible")
    single = (np.random.default_rng(0).random(300) * 1e-25).astype("f4")
    exact = single.astype("f8").std()
    check_there(gpu, "std", single, exact, 1e-6)
    check_there(gpu, "nanstd", np.append(single, np.float32("nan")), exact, 1e-6)
    check_there(gpu, "mean", np.full(40, 1.7e308), 1.7e308, accuracy="reproducible")
    small = np.full(509, 255, "u1")
    check_there(gpu, "prod", small, np.inf, dtype="f8")
    small[77] = 0
    check_there(gpu, "prod", small, 0, dtype="f8")
    check_there(gpu, "nanprod", [1e200, 1e200, 0, np.nan], 0)
    values, kept = np.array([1e200, 1e200, 0, np.inf]), np.array([True, True, True, False])
    check_there(gpu, "prod", values, 0, where=kept)
    across = np.stack([values[:3]] * 300, axis=1)
    found = wl.reduce(across, ("std", "prod"), axis=0, device=gpu)
    assert (found.prod == 0).all()
    np.testing.assert_allclose(found.std, float(root_of(variance_of(values[:3]))), rtol=1e-14)
    half = np.array([1.5, 2.5, -3], "f2")
    for op, expected in (("sum", 1), ("mean", 1 / 3), ("l1", 7), ("nansum", 1), ("nanmean", 1 / 3)):
        check_there(gpu, op, half, expected, dtype="f8", accuracy="compensated")


# ---- deviations ---------------------------------------------------------------------------------


@pytest.mark.parametrize("accuracy", ["fast", "reproducible"])
def test_deviations_whose_squares_do_not_fit(accuracy):
    rng = np.random.default_rng(1)
    for values in (
        np.array([1e-200, 3e-200]),
        np.array([1e200, 3e200]),
        np.array([-HUGE, HUGE]),
        np.full(1000, HUGE),
        np.full(1000, 1e-310),
        np.array([5e-324, 0, 0]),
        rng.random(9000) * 1e-250,
        rng.random(9000) * 1e250 - 5e249,
        # Blocks in different ranges, of which each adds to the answer or is nothing beside it.
        np.concatenate([np.zeros(5000), np.full(5000, 1e-190)]),
        np.concatenate([np.full(5000, 1e-170), rng.random(5000) * 1e-130]),
        np.concatenate([rng.random(5000) * 1e130, rng.random(5000) * 1e139]),
        np.concatenate([np.full(5000, -HUGE), np.full(20_000, HUGE)]),
        1 + rng.integers(0, 2, 5000) * 2.0**-52,
    ):
        exact = variance_of(values)
        found = wl.reduce(values, ("std", "var"), accuracy=accuracy)
        # Beside subnormal numbers one of these.
        assert float(found.std) == pytest.approx(float(root_of(exact)), rel=1e-12, abs=5e-324)
        fits = exact < Fraction(HUGE)
        assert float(found.var) == pytest.approx(
            float(exact) if fits else math.inf, rel=1e-12, abs=5e-324
        )
        if accuracy == "fast":
            across = wl.reduce(np.stack([values, values], axis=1), "std", axis=0)
            assert across.tolist() == pytest.approx(
                [float(root_of(exact))] * 2, rel=1e-11, abs=5e-324
            )


@settings(max_examples=50)
@given(st.lists(st.integers(-(2**20), 2**20), min_size=2, max_size=40), st.integers(-1040, 1000))
@example([0, 3], -1040)
@example([-1, 1], -600)
def test_deviations_scale_with_the_numbers(numbers, power):
    plain = np.array(numbers, np.float64)
    scaled = wl.reduce(np.ldexp(plain, power), "std")
    expected = float(root_of(variance_of(plain)) * Fraction(2) ** power)
    assert scaled == pytest.approx(expected, rel=1e-14, abs=5e-324)


def test_deviations_of_float32_whose_squares_underflow():
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = (rng.random(rng.integers(2, 40)) * 1e-25).astype("f4")
        exact = values.astype("f8").std()
        found = wl.reduce(values, "std")
        assert found.dtype == np.float32
        assert float(found) == pytest.approx(exact, rel=2.0**-21)
    large = (rng.random(5000) * 3e38).astype("f4")
    assert float(wl.reduce(large, "std")) == pytest.approx(large.astype("f8").std(), rel=2.0**-21)
    assert wl.reduce(large, "var") == np.inf


@pytest.mark.large
def test_deviations_of_float32_across_memory_and_beside_nan():
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = (rng.random(rng.integers(2, 40)) * 1e-25).astype("f4")
        exact = values.astype("f8").std()
        with_nan = np.append(values, np.float32("nan"))
        across = wl.reduce(np.stack([values] * 3, axis=1), "std", axis=0)
        for found in (wl.reduce(with_nan, "nanstd"), *across):
            assert float(found) == pytest.approx(exact, rel=2.0**-21)


def test_a_constant_has_no_deviation():
    for value in (1 / 3, 1e-300, 1e300, 0.1):
        for dtype in ("f4", "f8"):
            with np.errstate(all="ignore"):
                values = np.full(10_007, value, dtype)
            if np.isfinite(values[0]):
                # Rounding of the mean is all there is.
                assert 0 <= wl.reduce(values, "std") <= 2 * np.spacing(values[0])


# ---- means --------------------------------------------------------------------------------------


def test_means_whose_sums_do_not_fit():
    values = np.full(1000, 1.7e308)
    assert wl.reduce(values, "mean", accuracy="reproducible") == 1.7e308
    assert wl.reduce(values, ("sum", "mean"), accuracy="reproducible") == (np.inf, 1.7e308)
    assert wl.reduce(
        np.stack([values, -values]), "mean", axis=1, accuracy="reproducible"
    ).tolist() == [
        1.7e308,
        -1.7e308,
    ]
    # As NumPy's.
    assert wl.reduce(values, "mean") == np.inf
    infinite = np.append(values, -np.inf)
    assert wl.reduce(infinite, "mean", accuracy="reproducible") == -np.inf
    assert np.isnan(wl.reduce(np.append(infinite, np.inf), "mean", accuracy="reproducible"))


# ---- products -----------------------------------------------------------------------------------

#: With products that NumPy makes of all but a few of them.
PRODUCTS = [
    ([1e200, 1e200, 0.0], 0.0),
    ([1e300] * 40 + [0.0] + [1e300] * 40, 0.0),
    ([1e200, 1e200, 1e-200, 1e-200], 1.0),
    ([2.0**-1000] * 300 + [2.0**1000] * 300, 1.0),
    ([2.0**-1074] * 2 + [2.0**1023] * 2 + [2.0**102], 1.0),
    ([1e200, 1e200], np.inf),
    ([-1e200, 1e200], -np.inf),
    ([1e-200, 1e-200], 0.0),
    ([np.inf, 0.0], np.nan),
    ([0.0] * 70 + [np.inf] * 70, np.nan),
    ([np.inf, 1e-200, 1e-200], np.inf),
    ([0.0, np.nan], np.nan),
    ([1e200, 1e200, 0.0, np.nan], np.nan),
]


@pytest.mark.parametrize(("values", "expected"), PRODUCTS)
def test_products_whose_partial_products_do_not_fit(values, expected):
    array = np.array(values)
    np.testing.assert_array_equal(wl.reduce(array, "prod"), expected)
    np.testing.assert_array_equal(wl.reduce(array[::-1].copy(), "prod"), expected)
    across = wl.reduce(np.stack([array, array, array], axis=1), "prod", axis=0)
    np.testing.assert_array_equal(across, [expected] * 3)
    chunks = wl.reduce(iter(np.array_split(array, 3)), "prod")
    np.testing.assert_array_equal(chunks, expected)


def test_products_of_integers_in_float64():
    for n in (2, 31, 32, 33, 509, 5000):
        values = np.full(n, 255, "u1")
        exact = Fraction(255) ** n
        found = wl.reduce(values, "prod", dtype="f8")
        assert found == (pytest.approx(float(exact), rel=n * 2.0**-53) if n < 100 else np.inf)
        for place in {0, n // 2, n - 1}:
            values[place] = 0
            assert wl.reduce(values, "prod", dtype="f8") == 0
            values[place] = 255


@pytest.mark.large
def test_products_that_skip():
    values = np.array([1e200, 1e200, 0.0, np.nan, np.inf])
    assert np.isnan(wl.reduce(values, "nanprod"))
    assert wl.reduce(values[:-1], "nanprod") == 0
    assert wl.reduce(values[[0, 1, 3]], "nanprod") == np.inf
    kept = np.array([True, True, True, False, False])
    assert wl.reduce(values, "prod", where=kept) == 0
    assert wl.reduce(values, "prod", where=kept & (values != 0)) == np.inf


def test_the_sign_of_a_product_of_zero():
    for values in ([-1.0, 0.0], [-1e300, 1e300, 1e300, 0.0], [-1e-300, 1e-300]):
        assert math.copysign(1, wl.reduce(np.array(values), "prod")) == -1


@settings(max_examples=60)
@given(st.lists(st.integers(-1074, 1023), min_size=1, max_size=200), st.booleans())
def test_products_of_powers_of_two_are_exact(powers, negative):
    values = np.ldexp(1.0, np.array(powers))
    values[0] = -values[0] if negative else values[0]
    power = min(max(sum(powers), -1100), 1100)
    expected = np.ldexp(-1.0 if negative else 1.0, power) if power <= 1023 else np.inf
    found = wl.reduce(values, "prod")
    assert found == (-expected if negative and power > 1023 else expected)


@pytest.mark.parametrize("at", [0, 4095, 4096, 12_300, 28_671])
def test_norms_whose_squares_do_not_fit_in_one_block(at):
    """Whatever came before and comes after; twice, as memory is used again."""
    values = np.zeros(7 * 4096)
    for others, number in ((0.0, 1e-200), (1.0, 1e200), (0.0, 1e200), (1e-200, 1.0)) * 2:
        values[:], values[at] = others, number
        np.testing.assert_allclose(wl.reduce(values, "l2"), number, rtol=1e-15)
        rows = np.stack([values, np.ones_like(values)])
        expected = [number, 7**0.5 * 64]
        np.testing.assert_allclose(wl.reduce(rows, "l2", axis=1), expected, rtol=1e-15)


@pytest.mark.parametrize("axis", [0, 1])
def test_norms_of_float32_whose_squares_do_not_fit_it(axis):
    """Alone in a block, beside others, and zeros."""
    for scale in (1e-30, 1e-22, 1.0, 1e22, 1e30):
        values = np.random.default_rng(3).uniform(1, 2, (3, 9000)).astype("f4")
        values[1, :] *= np.float32(scale)
        values[2, :5000] *= np.float32(scale)
        values[2, 5000:] = 0
        expected = np.sqrt(np.sum(values.astype("f8") ** 2, axis=1)).astype("f4")
        found = wl.reduce(values if axis else np.ascontiguousarray(values.T), "l2", axis=axis)
        np.testing.assert_allclose(found, expected, rtol=3e-7)
