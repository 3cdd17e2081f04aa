"""What schemes are: their order, their stability, what they conserve, and weights of one's own."""

from __future__ import annotations

import pickle
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepping import SLOPES, WEIGHTS

import warpladder as wl
from warpladder.advection.schemes import SCHEMES, amplification, rule_of

pytestmark = pytest.mark.usefixtures("plain_engine")


def wave(x):
    return np.sin(2 * np.pi * x) + 0.5 * np.cos(4 * np.pi * x)


courants = st.floats(-1, 1)


@pytest.mark.parametrize("scheme", WEIGHTS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@given(courants)
@settings(max_examples=40)
def test_weights_sum_to_exactly_1(scheme, dtype, c):
    known = SCHEMES[scheme]
    rule = rule_of(known, np.array([c]), np.dtype(dtype), mirrored=c < 0 and known.is_upwind)
    assert sum(Fraction(float(w)) for w in rule.weights[0]) == 1
    # And are those of the textbook, but for the unit of the largest.
    speed = abs(Fraction(c)) if known.is_upwind else Fraction(c)
    sign = -1 if known.is_upwind and c < 0 else 1
    for offset, weight in zip(rule.offsets, rule.weights[0], strict=True):
        exact = float(WEIGHTS[scheme](speed)[sign * offset])
        assert abs(float(weight) - exact) <= 4 * np.finfo(dtype).eps


@pytest.mark.parametrize("scheme", WEIGHTS)
def test_order_by_moments(scheme):
    """A scheme of order p carries polynomials up to that degree exactly."""
    for c in (Fraction(1, 3), Fraction(2, 7)):
        weights = WEIGHTS[scheme](c)
        carries = [
            sum(w * offset**power for offset, w in weights.items()) == (-c) ** power
            for power in range(4)
        ]
        order = SCHEMES[scheme].order
        assert carries[: order + 2] == [True] * (order + 1) + [False]


@pytest.mark.parametrize("scheme", WEIGHTS)
def test_the_limit_is_where_waves_begin_to_grow(scheme):
    known = SCHEMES[scheme]

    def growth(c):
        rule = rule_of(known, np.array([c]), np.dtype("f8"), mirrored=False)
        return np.abs(amplification(rule.offsets, rule.weights[0])).max()

    for c in np.linspace(0, known.limit, 11):
        assert growth(c) <= 1 + 1e-12
    assert growth(known.limit * 1.01) > 1 + 1e-6


@pytest.mark.parametrize(
    ("scheme", "order"),
    [*((name, SCHEMES[name].order) for name in WEIGHTS), ("van-leer", 2), ("mc", 2)],
)
def test_observed_order(scheme, order):
    n = 128
    run = wl.advect(wave(np.arange(n) / n), velocity=1, dx=1 / n, courant=0.3, t_end=0.15,
                    scheme=scheme, boundary="periodic")  # fmt: skip
    found = run.convergence(wave, 3)
    assert found.cells == (128, 256, 512)
    # Limiters flatten extrema, which shows in all but the first norm, and there as well.
    assert found.orders[-1].l1 == pytest.approx(order, abs=0.1 if scheme in WEIGHTS else 0.25)
    if scheme in WEIGHTS:
        assert found.orders[-1].linf == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize(
    ("scheme", "order"), [("lax-wendroff", 2), ("beam-warming", 1), ("fromm", 1), ("mc", 1)]
)
def test_observed_order_of_what_comes_in(scheme, order):
    """Both ghosts have the value that is right for the first of them."""
    errors = []
    for n in (128, 256):
        x, dx = np.arange(n) / n, 1 / n
        run = wl.advect(wave(x), velocity=1, dx=dx, courant=0.5, t_end=1, scheme=scheme,
                        boundary=("inflow", lambda time, dx=dx: wave(-dx - time)))  # fmt: skip
        errors.append(np.abs(run.phi - wave(x)).sum() * dx)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.2)


profiles = st.lists(st.floats(-100, 100), min_size=3, max_size=40)
LIMITED = (*SLOPES, "upwind", "lax-friedrichs")


@pytest.mark.parametrize("scheme", LIMITED)
@given(profiles, courants)
@settings(max_examples=60)
def test_total_variation_never_grows_and_no_new_extremum_comes_up(scheme, values, c):
    phi = np.array(values)
    size = np.abs(phi).max() + 1e-300
    variations = []
    for count in range(4):
        run = wl.advect(phi, courant=c, steps=count, scheme=scheme, boundary="periodic")
        variations.append(run.total_variation)
        # Each step rounds a few times.
        assert run.phi.max() <= phi.max() + 16 * count * size * 2.0**-53
        assert run.phi.min() >= phi.min() - 16 * count * size * 2.0**-53
    assert np.all(np.diff(variations) <= 16 * len(phi) * size * 2.0**-53)


def test_without_a_limiter_new_extrema_do_come_up():
    phi = np.zeros(50)
    phi[20:30] = 1
    run = wl.advect(phi, courant=0.5, steps=5, scheme="lax-wendroff", boundary="periodic")
    assert run.phi.max() > 1.05
    assert run.total_variation > 2.1


@pytest.mark.parametrize("scheme", SCHEMES)
@given(profiles, courants)
@settings(max_examples=30)
def test_mass_is_conserved_on_a_ring(scheme, values, c):
    phi = np.array(values)
    balance = wl.advect(phi, courant=c, steps=10, scheme=scheme, boundary="periodic").mass_balance(
        phi
    )
    # The smallest numbers are rounded by half of the smallest.
    slack = 10 * 16 * 2.0**-53 * (np.abs(phi).max() + 1e-300) * len(phi)
    assert abs(balance.change) <= slack


@pytest.mark.parametrize("c", [0.3, 0.7, 0.9])
def test_mass_does_not_drift_in_float32(c):
    """Weights each rounded by itself make 3e-5 of it in so many steps."""
    phi = np.exp(-np.square((np.arange(64) / 64 - 0.5) / 0.2)).astype("f4")
    balance = wl.advect(phi, courant=c, steps=1000, boundary="periodic").mass_balance(phi)
    assert abs(balance.change) < 2e-6 * balance.before


# ---- weights of one's own --------------------------------------------------------------------


def test_own_weights_are_those_of_a_named_scheme():
    phi = np.random.default_rng(0).standard_normal((2, 33))
    how = {"courant": [0.25, 0.5], "steps": 5, "boundary": "periodic"}
    expected = wl.advect(phi, scheme="upwind", **how).phi
    for own in (
        {-1: lambda c: c, 0: lambda c: 1 - c},
        {0: [0.75, 0.5], -1: [0.25, 0.5]},
    ):
        np.testing.assert_array_equal(wl.advect(phi, scheme=own, **how).phi, expected)
    numbers = wl.advect(
        phi[0], courant=0.25, steps=5, scheme={-1: 0.25, 0: 0.75}, boundary="periodic"
    )
    np.testing.assert_array_equal(numbers.phi, expected[0])


def test_own_weights_of_each_system_where_ends_follow_the_velocity():
    phi, c = wave(np.arange(30).reshape(3, 10) / 10), [0.5, -0.5, 0.25]
    how = {"steps": 3, "boundary": ("inflow", np.cos)}
    expected = wl.advect(phi, courant=c, **how).phi
    own = {-1: [0.75, 0.25, 0.625], 1: [0.25, 0.75, 0.375]}
    np.testing.assert_array_equal(wl.advect(phi, courant=c, scheme=own, **how).phi, expected)


def test_a_run_keeps_the_own_weights_it_began_with():
    phi, weights = wave(np.arange(10) / 10), {-1: np.array([0.75]), 1: 0.25}
    run = wl.advect(phi, courant=0.5, steps=2, scheme=weights)
    expected = run.resume(2).phi
    weights[-1][:], weights[1] = 0, 1
    np.testing.assert_array_equal(run.resume(2).phi, expected)
    # And where another process goes on with it.
    elsewhere = pickle.loads(pickle.dumps(run))  # noqa: S301 - our own
    np.testing.assert_array_equal(elsewhere.resume(2).phi, expected)


def test_own_weights_far_away():
    """Five points, of fourth order: Lagrange's polynomial through them."""
    points = (-2, -1, 0, 1, 2)

    def weight(k):
        return lambda c: float(np.prod([(-c - j) / (k - j) for j in points if j != k]))

    phi = wave(np.arange(64) / 64)
    run = wl.advect(phi, velocity=1, dx=1 / 64, courant=0.5, t_end=0.5, boundary="periodic",
                    scheme={k: weight(k) for k in points})  # fmt: skip
    assert run.convergence(wave, 3).orders[-1].l2 == pytest.approx(4, abs=0.05)
    phi = np.arange(9.0)
    shift = wl.advect(phi, courant=4, steps=1, scheme={-4: 1, 4: 0}, boundary="periodic").phi
    np.testing.assert_array_equal(shift, np.roll(phi, 4))


@pytest.mark.parametrize(
    ("scheme", "kind", "told"),
    [
        ({-1: 0.5, 0: 0.4}, wl.InputError, "the weights sum to 0.9, not 1"),
        ({-1: 0.75, 0: 0.25}, wl.InputError, "carry the solution by 0.75 cells a step, and the"),
        ({0: 0.5, 1: 1, 2: -0.5}, wl.InputError, "carry the solution by 0 cells a step"),
        # Centred differences, which grow for any dt.
        ({-1: 0.25, 0: 1, 1: -0.25}, wl.InputError, "a wave grows by a factor of 1.118"),
        ({-1: 0.75 + 1e-8, 0: -2e-8, 1: 0.25 + 1e-8}, wl.InputError, "by a factor of 1.00000004 a"),
        ({0: 1}, wl.InputError, "the offsets [0] must be 2 to 5, from -4 to 4"),
        ({-5: 0.5, 0: 0.5}, wl.InputError, "the offsets [-5, 0] must be"),
        (dict.fromkeys(range(-2, 4), 1 / 6), wl.InputError, "must be 2 to 5"),
        ({-0.5: 0.5, 0: 0.5}, wl.InputTypeError, "the offsets [-0.5, 0] must be whole numbers"),
        ({-1: "a", 0: 0.5}, wl.InputTypeError, "the weight at offset -1 must be a number"),
        ({-1: lambda _: None, 0: 0.5}, wl.InputTypeError, "the weight at offset -1 must be a"),
        ({-1: np.inf, 0: 0.5}, wl.InputError, "the weight at offset -1 is not finite"),
        ({-1: 1.7e308, 0: -1.7e308}, wl.InputError, "or too large for sums of weights"),
        ({-1: [0.5, 0.5], 0: 0.5}, wl.InputTypeError, "one for each of 1 systems"),
        ({-1: np.array(0.5 + 1j), 0: 0.5}, wl.InputTypeError, "the weight at offset -1 must be a"),
        ({-1: "0.5", 0: 0.5}, wl.InputTypeError, "the weight at offset -1 must be a number"),
        ({-1: np.ma.array([0.5], mask=[True]), 0: 0.5}, wl.InputTypeError, "offset -1 must be a"),
    ],
)  # fmt: skip
def test_own_weights_that_are_refused(scheme, kind, told):
    with pytest.raises(kind, match=re.escape(told)):
        wl.advect(np.ones(8), courant=0.5, steps=1, scheme=scheme)


def test_what_does_not_solve_the_equation_is_computed_if_asked_for():
    phi = np.array([0.0, 8, 0, 0])
    run = wl.advect(phi, courant=0.5, steps=2, scheme={-1: 0.5, 0: 0.25}, boundary="periodic",
                    allow_unstable=True)  # fmt: skip
    np.testing.assert_array_equal(run.phi, [0, 0.5, 2, 2])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "scheme", ["lax-wendroff", "mc", {-1: 1e-300, 1: 1e-310}, {0: 0, 1: 1e300}]
)
def test_weights_that_the_dtype_does_not_have_are_taken_without_a_warning(scheme, dtype):
    run = wl.advect(np.ones(4, dtype), courant=1e200, steps=1, scheme=scheme, allow_unstable=True)
    assert run.phi.dtype == dtype


def test_the_system_is_named():
    with pytest.raises(wl.InputError, match=r"the weights of system 1 carry the solution by 0\.25"):
        wl.advect(np.ones((2, 8)), courant=[0.25, 0.5], steps=1, scheme={-1: 0.25, 0: 0.75})
