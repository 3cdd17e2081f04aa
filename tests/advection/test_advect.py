"""The call: its bits beside exact fractions, its boundaries, its arguments and what it refuses."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepping import SLOPES, WEIGHTS, steps

import warpladder as wl
from choosing import by_pairs, large, only
from warpladder.advection import prepared, running
from warpladder.advection.cpu import CpuEngine
from warpladder.advection.plain import PlainEngine
from warpladder.simulator import SimulatedDevice

pytestmark = pytest.mark.usefixtures("plain_engine")

SCHEMES = (*WEIGHTS, *SLOPES)
UPWIND = ("upwind", "beam-warming", "fromm", *SLOPES)


def cells(n, dtype="f8", seed=0):
    return np.random.default_rng(seed + n).standard_normal(n).astype(dtype)


def same(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_by_hand():
    phi = np.array([0.0, 1, 1, 0, 0, 0])
    # 3/4 of the left neighbour and 1/4 of the right one; ghosts are copies of the ends.
    same(wl.advect(phi, courant=0.5, steps=1).phi, np.array([0.25, 0.25, 0.75, 0.75, 0, 0]))


def test_as_grs_program_has_it():
    """Lax-Friedrichs in five operations a cell, and ghosts that are copied; its n is 100."""
    n, u, dx, dt = 101, 1.5, 0.01, 0.005
    x = np.arange(n) * dx
    start = np.exp(-np.square((x - 0.4) / 0.1))
    phi, cu = start.copy(), u * dt / dx
    for _ in range(60):
        wide = np.concatenate((phi[:1], phi, phi[-1:]))
        left, right = wide[:-2], wide[2:]
        phi = 0.5 * ((right + left) - cu * (right - left))
    run = wl.advect(start, velocity=u, dx=dx, dt=dt, steps=60)
    np.testing.assert_allclose(run.phi, phi, rtol=0, atol=60 * 4 * 2.0**-53)
    # The hill has moved to the right, by u t.
    assert x[run.phi.argmax()] == pytest.approx(0.4 + 1.5 * 0.3, abs=0.02)


# The limiter as test_cpu_engine.py compiles it; eight bytes are compiled here alone.
COMPILED = (("lax-friedrichs", "f8"), ("mc", "f4"))
BOUNDARIES = {
    "neumann": ("neumann", "copy", "copy"),
    "periodic": ("periodic", "periodic", "periodic"),
    "dirichlet": (("dirichlet", 0.625), 0.625, 0.625),
    "pair": ((("dirichlet", -2), "outflow"), -2, "copy"),
}


@pytest.mark.parametrize(
    ("scheme", "boundary", "dtype", "c"),
    by_pairs(
        SCHEMES,
        [*BOUNDARIES],
        ["f4", "f8"],
        [Fraction(1, 4), Fraction(-3, 4), Fraction(1, 2), Fraction(0)],
    ),
)
def test_the_bits_of_the_formula(scheme, boundary, dtype, c):
    given_, left, right = BOUNDARIES[boundary]
    for n, count in ((1, 3), (2, 3), (3, 2), (31, 2), (33, 2)):
        phi = cells(n, dtype)
        run = wl.advect(phi, courant=float(c), steps=count, scheme=scheme, boundary=given_)
        same(run.phi, steps(phi, c, scheme, left, right, count))


@pytest.mark.parametrize("engine", [CpuEngine, *large(PlainEngine)])
@pytest.mark.parametrize(
    ("scheme", "dtype"), only(lambda *one: one in COMPILED, SCHEMES, ["f4", "f8"])
)
def test_the_engine_that_runs_has_these_bits(monkeypatch, engine, scheme, dtype):
    monkeypatch.setattr(prepared, "_cpu_engine", lambda: (engine(), "as asked"))
    phi = cells(33, dtype)
    for c, (given_, left, right) in zip(
        (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(0)),
        BOUNDARIES.values(),
        strict=True,
    ):
        run = wl.advect(phi, courant=float(c), steps=4, scheme=scheme, boundary=given_)
        same(run.phi, steps(phi, c, scheme, left, right, 4))


def test_rounding_to_float32_is_of_the_exact_sum():
    """Where a product and a sum rounded one after the other would differ."""
    phi = cells(64, "f4", seed=3)
    run = wl.advect(phi, courant=0.3125, steps=20, scheme="fromm", boundary="periodic")
    same(run.phi, steps(phi, Fraction(5, 16), "fromm", "periodic", "periodic", 20))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("scheme", [name for name in SCHEMES if name != "beam-warming"])
def test_at_courant_number_1_all_is_carried_by_whole_cells(scheme, direction, dtype):
    phi = cells(37, dtype)
    run = wl.advect(phi, courant=direction, steps=50, scheme=scheme, boundary="periodic")
    expected = np.roll(phi, 50 * direction)
    if scheme in SLOPES:
        # phi[i] - (phi[i] - phi[i-1]) is rounded.
        np.testing.assert_allclose(run.phi, expected, rtol=0, atol=50 * np.finfo(dtype).eps * 3)
    else:
        same(run.phi, expected)


def test_whole_cells_where_rounding_is_in_the_way():
    """0.7 x 0.1 / 0.07 is not 1 in floats."""
    assert 0.7 * 0.1 / 0.07 != 1
    phi = cells(11)
    run = wl.advect(phi, velocity=0.7, dt=0.1, dx=0.07, steps=3, scheme="upwind",
                    boundary="periodic")  # fmt: skip
    same(run.phi, np.roll(phi, 3))
    same(wl.advect(phi, courant=-2, steps=2, scheme="beam-warming", boundary="periodic").phi,
         np.roll(phi, -4))  # fmt: skip


@pytest.mark.parametrize("boundary", ["neumann", "inflow"])
@pytest.mark.parametrize("scheme", ["lax-friedrichs", "fromm", "superbee"])
def test_each_system_has_its_own_velocity(scheme, boundary):
    phi = np.stack([cells(29, seed=seed) for seed in range(5)])
    courant = np.array([0.5, -0.25, 0.0, -1.0, 0.75])
    how = {"steps": 7, "scheme": scheme,
           "boundary": ("inflow", np.cos) if boundary == "inflow" else boundary}  # fmt: skip
    together = wl.advect(phi, courant=courant, **how)
    for row, c, alone in zip(together.phi, courant, phi, strict=True):
        same(row, wl.advect(alone, courant=c, **how).phi)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_left_is_the_mirror_of_right(scheme):
    phi = cells(40)
    right = wl.advect(phi, courant=0.7, steps=9, scheme=scheme).phi
    left = wl.advect(phi[::-1], courant=-0.7, steps=9, scheme=scheme).phi[::-1]
    # Sums are made from left to right in both.
    np.testing.assert_allclose(left, right, rtol=0, atol=0 if scheme in SLOPES else 1e-14)


# ---- boundaries ------------------------------------------------------------------------------


def inflow(time):
    return np.sin(40 * time) + 2


@pytest.mark.parametrize("c", [1, -1])
def test_an_inflow_comes_in_where_the_solution_does(c):
    phi = cells(20)
    run = wl.advect(phi, courant=c, dt=0.01, steps=12, scheme="upwind",
                    boundary=("inflow", inflow))  # fmt: skip
    entered = [inflow(step * 0.01) for step in range(12)]
    expected = np.concatenate((entered[::-1], phi[:8]) if c > 0 else (phi[12:], entered))
    same(run.phi, expected)


def test_values_and_functions_of_each_system():
    phi = np.zeros((3, 4))
    how = {"courant": 1, "steps": 2, "scheme": "upwind"}
    run = wl.advect(phi, boundary=("dirichlet", [1, 2, 3]), **how)
    same(run.phi, np.array([[1.0, 1, 0, 0], [2, 2, 0, 0], [3, 3, 0, 0]]))
    run = wl.advect(phi, boundary=("inflow", lambda t: [t, 1 + t, 5]), **how)
    same(run.phi, np.array([[1.0, 0, 0, 0], [2, 1, 0, 0], [5, 5, 0, 0]]))


def test_a_pair_is_left_and_right_whatever_the_velocity():
    phi = np.zeros((2, 4))
    run = wl.advect(phi, courant=[1, -1], steps=1, scheme="upwind",
                    boundary=(("dirichlet", 7), ("inflow", lambda _: 9)))  # fmt: skip
    same(run.phi, np.array([[7.0, 0, 0, 0], [0, 0, 0, 9]]))


def test_many_steps_of_values_are_laid_out_in_stretches(monkeypatch):
    from warpladder.advection import running

    phi = cells(5)
    how = {"courant": 0.5, "steps": 23, "boundary": ("inflow", inflow)}
    whole = wl.advect(phi, **how).phi
    monkeypatch.setattr(running, "_VALUES_AT_ONCE", 4)
    same(wl.advect(phi, **how).phi, whole)


# ---- what comes in ---------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["i4", "?", "f2", "u1"])
def test_other_numbers_become_float64(dtype):
    phi = np.array([0, 1, 1, 0], dtype)
    same(wl.advect(phi, courant=0.5, steps=3).phi,
         wl.advect(phi.astype("f8"), courant=0.5, steps=3).phi)  # fmt: skip


def test_any_layout():
    phi = cells(60).reshape(3, 20)
    expected = wl.advect(phi, courant=0.5, steps=3).phi
    for other in (
        np.asfortranarray(phi),
        phi.astype(">f8"),
        phi.tolist(),
        np.repeat(phi, 2, 1)[:, ::2],
    ):
        same(wl.advect(other, courant=0.5, steps=3).phi, expected)


def test_what_was_given_is_left_alone():
    phi = cells(20)
    before = phi.copy()
    for count in (0, 1, 2):
        found = wl.advect(phi, courant=0.5, steps=count, scheme="mc").phi
        same(phi, before)
        assert not np.shares_memory(found, phi)
    same(wl.advect(phi, courant=0.5, steps=0).phi, phi)


@pytest.mark.parametrize("scheme", ["lax-friedrichs", "van-leer"])
def test_nan_and_infinity_spread_as_the_scheme_carries_them(scheme):
    phi = np.zeros(30)
    phi[10], phi[20] = np.nan, np.inf
    found = wl.advect(phi, courant=0.5, steps=2, scheme=scheme).phi
    reach = 2 if scheme == "lax-friedrichs" else 4
    spoilt = np.flatnonzero(~np.isfinite(found))
    assert spoilt.size
    assert all(min(abs(i - 10), abs(i - 20)) <= reach for i in spoilt)
    assert np.isnan(found[10 if scheme == "lax-friedrichs" else 11])


BOUNDARIES_TO_CUT = ["neumann", "periodic", ("dirichlet", 1), ("inflow", inflow)]


@given(
    st.integers(1, 40), st.integers(0, 30), st.sampled_from(SCHEMES),
    st.floats(-1, 1), st.sampled_from(BOUNDARIES_TO_CUT),
)  # fmt: skip
@settings(max_examples=60)
def test_a_run_is_the_same_in_any_pieces(n, count, scheme, c, boundary):
    phi = cells(n, "f4")
    how = {"courant": c, "dt": 0.01, "scheme": scheme, "boundary": boundary}
    whole = wl.advect(phi, steps=count, **how)
    first = wl.advect(phi, steps=count // 3, **how)
    same(first.resume(count - count // 3).phi, whole.phi)
    pieces = wl.advect(phi, steps=count, save_every=4, **how)
    same(pieces.phi, whole.phi)


# ---- the course ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "c", "dx", "dt", "count"),
    [
        ({"courant": 0.5, "steps": 3}, 0.5, 1, 1, 3),
        ({"courant": -0.5, "dx": 0.1, "steps": 3}, -0.5, 0.1, 1, 3),
        ({"courant": 0.5, "t_end": 4}, 0.5, 1, 1, 4),
        ({"velocity": 2, "dx": 0.5, "dt": 0.125, "steps": 3}, 0.5, 0.5, 0.125, 3),
        ({"velocity": 2, "dx": 0.1, "dt": 0.01, "t_end": 0.3}, 0.2, 0.1, 0.01, 30),
        ({"velocity": -2, "dx": 0.5, "courant": 0.5, "steps": 3}, -0.5, 0.5, 0.125, 3),
        (
            {"velocity": 2, "dx": np.array(0.5), "courant": np.array(0.5), "t_end": np.array(1)},
            0.5,
            0.5,
            0.125,
            8,
        ),
        # 8.5 steps of 0.125 would end there.
        ({"velocity": 2, "dx": 0.5, "courant": 0.5, "t_end": 1.0625}, 17 / 36, 0.5, 1.0625 / 9, 9),
        ({"velocity": 2, "dx": 0.5, "courant": 0.5, "t_end": 1}, 0.5, 0.5, 0.125, 8),
        ({"velocity": 2, "dx": 0.5, "steps": 10, "t_end": 1}, 0.4, 0.5, 0.1, 10),
        ({"velocity": 0, "dx": 0.5, "dt": 1, "steps": 1}, 0, 0.5, 1, 1),
        ({"courant": 0.5, "t_end": 0}, 0.5, 1, 1, 0),
    ],
)
def test_what_is_missing_follows(how, c, dx, dt, count):
    run = wl.advect(np.ones(4), **how)
    assert (run.courant, run.dt) == (pytest.approx(c), pytest.approx(dt))
    assert (run.dx, run.steps) == (dx, count)
    assert run.velocity == pytest.approx(c * dx / dt)
    assert run.time == pytest.approx(count * dt)


GOOD = {"courant": 0.5, "steps": 1}


@pytest.mark.parametrize(
    ("phi", "how", "kind", "told"),
    [
        ([], GOOD, wl.InputError, "phi: shape (0,) has no cells; give at least one"),
        (np.ones((2, 2, 2)), GOOD, wl.InputError, "phi: shape (2, 2, 2); cells have one dimension"),
        (3.0, GOOD, wl.InputError, "phi: shape ()"),
        ({1.0}, GOOD, wl.InputTypeError, "phi: set is no array of numbers; give an array or"),
        ([1j], GOOD, wl.InputTypeError, "phi: dtype complex128 is not taken"),
        (["a"], GOOD, wl.InputTypeError, "phi: dtype <U1 is not taken"),
        ([[1], [2, 3]], GOOD, wl.InputTypeError, "phi: cannot be read as an array"),
        (np.ma.masked_equal([1, 2], 2), GOOD, wl.InputTypeError, "phi: some cells are masked"),
        ([np.ma.masked_equal([1], 1)], GOOD, wl.InputTypeError, "phi: some cells are masked"),
        ([1], {"steps": 1}, wl.InputError, "courant=None: give the Courant number, or velocity"),
        ([1], {"courant": 0.5}, wl.InputError, "steps=None: give steps, or t_end"),
        ([1], {"courant": "x", "steps": 1}, wl.InputTypeError, "courant='x' must be a number"),
        ([1], {"courant": np.ma.masked_equal([1], 1), "steps": 1}, wl.InputTypeError, "a number"),
        ([1], {"courant": np.nan, "steps": 1}, wl.InputError, "courant=nan must be finite"),
        ([1], {"courant": [1, 1], "steps": 1}, wl.InputError, "courant: its shape is (2,)"),
        ([1], {"velocity": 1, "dt": 1, "steps": 1}, wl.InputError, "dx=None: beside a velocity"),
        ([1], {"velocity": 1, "dx": 1, "steps": 1}, wl.InputError, "dt=None: give dt; or courant"),
        ([1], {"velocity": 1, "dx": 1, "dt": 1, "courant": 1, "steps": 1}, wl.InputError,
         "courant=1 does not go with velocity, dx and dt"),
        ([1], {"velocity": 0, "dx": 1, "courant": 1, "steps": 1}, wl.InputError,
         "velocity=0: nothing moves"),
        ([1], {"velocity": 1, "dx": 1, "courant": -1, "steps": 1}, wl.InputError,
         "courant=-1: beside a velocity"),
        ([1], {**GOOD, "dx": 0}, wl.InputError, "dx=0 must be above 0"),
        ([1], {**GOOD, "dt": True}, wl.InputTypeError, "dt=True must be a number"),
        ([1], {**GOOD, "steps": -1}, wl.InputError, "steps=-1 must not be below 0"),
        ([1], {**GOOD, "steps": 1.0}, wl.InputTypeError, "steps=1.0 must be a whole number"),
        ([1], {**GOOD, "steps": np.array([3])}, wl.InputTypeError, "steps=array([3]) must be a"),
        ([1], {**GOOD, "save_every": np.array(2.0)}, wl.InputTypeError, "must be a whole number"),
        ([1], {**GOOD, "t_end": 1}, wl.InputError, "t_end=1.0 does not go with steps=1"),
        ([1], {"courant": 0.5, "t_end": -1}, wl.InputError, "t_end=-1.0 is before the start"),
        ([1], {"courant": 0.5, "dt": 0.1, "t_end": 0.25}, wl.InputError,
         ("t_end=0.25 is 2.5 steps of dt=0.1; the nearest whole ones are t_end=0.2 and "
          "t_end=0.30000000000000004, and dt=0.08333333333333333 hits it in 3 steps")),
        ([1], {"courant": 0.5, "dt": 1e-320, "t_end": 1}, wl.InputError,
         "dt=1e-320: with dx=1.0 this makes a Courant number or a velocity that float64 does not"),
        ([1], {"velocity": 1e308, "dx": 1e-300, "courant": 1e-10, "t_end": 1}, wl.InputError,
         "courant=1e-10: with dx=1e-300 and the largest velocity, 1e+308, it makes dt=0.0"),
        ([1], {"velocity": 1e-300, "dx": 1e300, "courant": 0.5, "t_end": 1}, wl.InputError,
         "it makes dt=inf"),
        ([1], {"velocity": 1e300, "dx": 1e-300, "dt": 1, "steps": 1}, wl.InputError, "dt=1.0: "),
        ([1], {"velocity": 1, "dx": 1, "steps": 10**9, "t_end": 1e-320}, wl.InputError, "dt=0.0: "),
        ([1], {"courant": 0.5, "t_end": 1e300}, wl.InputError,
         "t_end=1e+300 is 1e+300 steps of dt=1.0, and no more than 9,007,199,254,740,992"),
        ([1], {"velocity": 1, "dx": 1, "courant": 1e-320, "t_end": 1}, wl.InputError,
         "t_end=1.0 is inf steps of"),
        ([1], {"courant": 0.5, "t_end": 10**400}, wl.InputError, "must be finite"),
        ([1], {"courant": 0.5, "steps": 10**400}, wl.InputError,
         "steps: there are more than 9,007,199,254,740,992"),
        ([1], {"courant": 0.5, "steps": 2**53 + 1, "save_every": 2**62, "method": "jump"},
         wl.InputError, "steps: there are more than"),
        ([1], {**GOOD, "save_every": 10**400}, wl.InputError, "save_every: there are more than"),
        ([1], {**GOOD, "scheme": "leapfrog"}, wl.InputError, "scheme='leapfrog' is not known"),
        ([1], {**GOOD, "boundary": "sticky"}, wl.InputError, "boundary='sticky' is not known"),
        ([1], {**GOOD, "boundary": ("periodic", "neumann")}, wl.InputError,
         'boundary: "periodic" joins both ends'),
        ([1], {**GOOD, "boundary": ("dirichlet", "a")}, wl.InputTypeError, "must be a number"),
        ([1], {**GOOD, "boundary": ("dirichlet", np.ma.masked_equal([1], 1))}, wl.InputTypeError,
         "must be a number"),
        (np.ones(2, "f4"), {**GOOD, "boundary": ("dirichlet", 1e300)}, wl.InputError,
         "boundary: [1.e+300] beyond an end is no number of float32"),
        (np.ones(2, "f4"), {**GOOD, "boundary": ("inflow", lambda _: -1e300)}, wl.InputError,
         "boundary: -1e+300 beyond an end at time 0.0 is no number of float32"),
        ([1], {**GOOD, "boundary": ("inflow", lambda _: np.ma.masked)}, wl.InputTypeError,
         "returned masked at time 0.0"),
        ([1], {**GOOD, "boundary": ("inflow", 1.0)}, wl.InputTypeError, "a function of time"),
        ([1], {**GOOD, "boundary": ("inflow", lambda _: "a")}, wl.InputTypeError, "at time 0.0"),
        ([1], {**GOOD, "boundary": ("inflow", lambda _: [])}, wl.InputError, "0 numbers"),
        ([1], {**GOOD, "boundary": ("inflow", lambda _: [1, 2])}, wl.InputError,
         "2 numbers at time 0.0; one is needed, or one for each of 1 systems"),
        ([1], {**GOOD, "boundary": ("inflow", lambda _: [1, [2]])}, wl.InputTypeError, "[1, [2]]"),
        ([1], {**GOOD, "method": "leap"}, wl.InputError, "method='leap' is not known"),
        ([1], {**GOOD, "device": "tpu"}, wl.InputError, "device='tpu' is not known"),
        ([1], {**GOOD, "progress": 1}, wl.InputTypeError, "progress=1 cannot be called"),
        ([1], {**GOOD, "save_every": 0}, wl.InputError, "save_every=0 must be at least 1"),
        ([1], {**GOOD, "save_every": 1.5}, wl.InputTypeError, "save_every=1.5 must be a whole"),
        ([1], {**GOOD, "out": "a.txt"}, wl.InputError, "its name must end in .npz or .zarr"),
        ([1], {**GOOD, "out": 3}, wl.InputTypeError, "out=3 must be the path of a file"),
        ([1], {**GOOD, "out": "/nowhere/a.npz"}, wl.InputError, "there is no folder"),
        ([1], {**GOOD, "allow_unstable": "yes"}, wl.InputTypeError, "allow_unstable='yes'"),
    ],
)  # fmt: skip
def test_refusals(phi, how, kind, told):
    with pytest.raises(kind, match=re.escape(told)):
        wl.advect(phi, **how)


def test_cells_that_are_missing():
    """NumPy would make NaNs of them, which spread."""
    pa = pytest.importorskip("pyarrow")
    for phi in (pa.array([1.0, None]), pa.table({"a": [1, 2], "b": [3, None]})):
        with pytest.raises(wl.InputTypeError, match=r"phi: some are missing \(null or NA\); drop"):
            wl.advect(phi, **GOOD)
    assert wl.advect(pa.array([1.0, 2]), **GOOD).phi.tolist() == [1.25, 1.25]
    two, missing = np.ones((2, 3)), pa.array([1.0, None])
    for how in (
        {"boundary": ("dirichlet", missing)},
        {"boundary": ("inflow", lambda _: missing)},
        {"courant": missing},
    ):
        with pytest.raises(wl.InputTypeError, match="one for each"):
            wl.advect(two, **GOOD | how)
    with pytest.raises(wl.InputTypeError, match="an array of as many numbers is needed"):
        wl.advect(np.ones(2), **GOOD).exact(lambda _: missing)


def told_dt(refusal):
    return float(re.search(r"stable dt is (\S+);", str(refusal.value))[1])


@pytest.mark.parametrize(("scheme", "most"), [("upwind", 1), ("beam-warming", 2), ("mc", 1)])
def test_an_unstable_course_is_refused_with_the_largest_stable_dt(scheme, most):
    how = {"velocity": -3, "dx": 0.3, "steps": 2, "scheme": scheme}
    told = rf"courant=-{most * 1.5}: {scheme} is stable up to {most} only; the largest stable dt "
    with pytest.raises(wl.InputError, match=rf"{told}is \S+; allow_unstable=True") as refusal:
        wl.advect(np.ones(5), dt=0.15 * most, **how)
    assert told_dt(refusal) == pytest.approx(most * 0.1)
    wl.advect(np.ones(5), dt=0.1 * most, **how)
    assert wl.advect(np.ones(5), dt=0.15 * most, allow_unstable=True, **how).steps == 2


def test_the_largest_stable_dt_that_is_told_is_stable():
    for velocity in np.random.default_rng(1).uniform(1.01, 9, 20).tolist():
        how = {"velocity": velocity, "dx": 0.1, "steps": 1}
        with pytest.raises(wl.InputError, match=r"courant=[1-9]") as refusal:
            wl.advect(np.ones(5), dt=0.1, **how)
        assert wl.advect(np.ones(5), dt=told_dt(refusal), **how).courant == 1
    # Not that 1 is above 1.
    with pytest.raises(wl.InputError, match=r"courant=1\.0000000000002"):
        wl.advect(np.ones(5), courant=1 + 2e-13, steps=1)


@pytest.mark.parametrize(
    "t_end", [1 + 2e-13, 1 - 2e-13, float(np.cumsum(np.full(1000, 0.001))[-1])]
)
def test_no_step_is_longer_than_the_courant_number_says(t_end):
    run = wl.advect(np.ones(5), velocity=1, dx=0.001, courant=1, t_end=t_end)
    assert (run.steps, run.courant <= 1) == (1000, True)
    assert run.time == pytest.approx(t_end, rel=1e-12)


def test_the_system_that_is_too_fast_is_named():
    with pytest.raises(wl.InputError, match=r"courant=1\.25 of system 1: lax-friedrichs"):
        wl.advect(np.ones((2, 5)), courant=[0.5, 1.25], steps=1)


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cpu", "phi: the cells and what is kept of them take"),
        (SimulatedDevice(), r"save_every: 1,073,741,825 snapshots .* take .*; simulated .* free"),
    ],
)
def test_too_large(device, message, monkeypatch):
    paused = wl.advect(np.zeros(1 << 20), courant=0.5, steps=0, device=device)
    # Of 2**30 steps the list alone takes seconds on a CPU and took minutes on a machine with a GPU.
    monkeypatch.setattr(running, "saved_steps", lambda *_, **__: pytest.fail("steps are listed"))
    with pytest.raises(wl.TooLargeError, match=message):
        wl.advect(np.zeros(1 << 20), courant=0.5, steps=1 << 30, save_every=1, device=device)
    with pytest.raises(wl.TooLargeError, match=r"save_every: 1,073,741,825 snapshots .* take"):
        paused.resume(1 << 30, save_every=1)


@pytest.mark.parametrize("cell", [0.0, 0])
def test_a_copy_that_is_too_large(cell):
    # It takes no memory as it is.
    huge = np.broadcast_to(cell, 1 << 50)
    for ask in (wl.advect, wl.advect.plan):
        with pytest.raises(wl.TooLargeError, match="phi: copies of its cells as float64 take"):
            ask(huge, courant=0.5, steps=1)


def test_plan():
    found = wl.advect.plan(np.zeros((2, 1000), "f4"), courant=0.5, steps=10, save_every=5)
    assert (found.systems, found.cells, found.steps, found.cell_steps) == (2, 1000, 10, 20_000)
    assert (found.snapshots, found.result_memory, found.engine) == (3, 4 * 8000, "cpu")
    assert found.memory == 6 * 8000 + 3 * 8
    assert "20,000 cell-steps" in str(found)
    huge = wl.advect.plan(np.zeros(1 << 20), courant=0.5, steps=1 << 30, save_every=1)
    assert huge.memory > 2**50


def test_what_progress_raises_passes_through():
    told = []
    wl.advect(np.ones((4, 8)), courant=0.5, steps=8, method="jump", boundary="periodic",
              progress=told.append)  # fmt: skip
    assert told == [0.25, 0.5, 0.75, 1.0]
    # Of what is soon done, too, and of systems that are computed one sign after the other.
    told.clear()
    wl.advect(np.ones((3, 8)), courant=[0.5, -0.5, 0.1], steps=6, scheme="upwind", save_every=3,
              progress=told.append)  # fmt: skip
    assert told == sorted(told)
    assert told[-1] == 1

    def stop(_):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        wl.advect(np.ones(8), courant=0.5, steps=8, method="jump", boundary="periodic",
                  progress=stop)  # fmt: skip
