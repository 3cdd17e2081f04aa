"""All steps at once: as near to the plain steps as is promised, and refused where that fails."""

from __future__ import annotations

import math
import re
import tracemalloc

import numpy as np
import pytest
from stepping import WEIGHTS

import warpladder as wl
from choosing import by_pairs
from warpladder.advection.forms import Edge, Problem
from warpladder.advection.jump import JumpEngine
from warpladder.advection.plain import PlainEngine
from warpladder.advection.schemes import SCHEMES, rule_of

pytestmark = pytest.mark.usefixtures("plain_engine")


def cells(n, dtype="f8", seed=0):
    return np.random.default_rng(seed + n).standard_normal(n).astype(dtype)


def nothing(_):
    pass


def difference_bound(rule, phi, steps):
    """Return how far plain steps and a jump on a ring may be apart, for each system.

    In the norm that is the root of the sum of squares, for schemes with which no wave grows.
    """
    u = np.finfo(phi.dtype).eps / 2
    total = np.abs(rule.weights.astype(np.float64)).sum(axis=1)
    rounding = steps * len(rule.offsets) * total * u
    rounding += 2.0**-50 * (steps + math.log2(phi.shape[1]) + 1)
    size = np.linalg.norm(phi.astype(np.float64), axis=1)
    return rounding * size


@pytest.mark.parametrize(
    ("scheme", "dtype", "n", "steps"),
    by_pairs([*WEIGHTS], ["f4", "f8"], [1, 2, 3, 32, 33, 1009], [1, 2, 7, 200]),
)
def test_within_the_bound_of_plain_steps(scheme, dtype, n, steps):
    for c in (0.3, -0.8):
        known = SCHEMES[scheme]
        rule = rule_of(known, np.array([c]), np.dtype(dtype), mirrored=c < 0)
        ring = Problem(rule, Edge("periodic"), Edge("periodic"))
        phi = cells(n, dtype)[None]
        plain = PlainEngine().advance(ring, phi, 0, steps, nothing)
        jumped = JumpEngine().advance(ring, phi, 0, steps, nothing)
        assert jumped.dtype == phi.dtype
        apart = np.linalg.norm((jumped - plain).astype("f8"))
        # What is returned is rounded once more to the dtype.
        slack = np.finfo(dtype).eps * np.linalg.norm(phi)
        assert apart <= difference_bound(rule, phi, steps)[0] + slack
        # The bound means something: a wrong weight, or a step too few, is far beyond it.
        if n > 3:
            fewer = PlainEngine().advance(ring, phi, 0, steps - 1, nothing)
            assert np.linalg.norm((jumped - fewer).astype("f8")) > 100 * apart


def test_a_million_steps():
    """The mean stays, and all waves die out."""
    phi = cells(101)
    found = wl.advect(phi, courant=0.3, steps=10**6, method="jump", boundary="periodic").phi
    np.testing.assert_allclose(found, phi.mean(), rtol=0, atol=1e-9)
    phi = cells(128)
    shifted = wl.advect(phi, courant=1, steps=10**6 + 3, scheme="upwind", method="jump",
                        boundary="periodic").phi  # fmt: skip
    np.testing.assert_allclose(shifted, np.roll(phi, (10**6 + 3) % 128), rtol=0, atol=1e-8)


@pytest.mark.parametrize(("c", "scheme"), [(1, "upwind"), (-1, "lax-friedrichs"), (1, "fromm")])
def test_shifts_by_whole_cells_are_exact(c, scheme):
    phi = cells(63, "f4")
    for steps in (0, 5, 2**53 - 3):
        run = wl.advect(phi, courant=c, steps=steps, scheme=scheme, method="jump",
                        boundary="periodic")  # fmt: skip
        np.testing.assert_array_equal(run.phi, np.roll(phi, c * steps % 63))


@pytest.mark.parametrize("boundary", ["periodic", ("dirichlet", 0)], ids=["ring", "line"])
def test_cells_whose_sum_is_no_number(boundary):
    phi = np.pad([1.7e308, 1.7e308, -1.7e308, 3e300], 8)
    how = {"courant": 0.5, "steps": 4, "boundary": boundary}
    with np.errstate(all="raise"):
        found = wl.advect(phi, method="jump", **how).phi
        np.testing.assert_allclose(found, wl.advect(phi, **how).phi, rtol=0, atol=1e293)
        # Of waves that grow beyond all numbers no more is known.
        how = how | {"courant": 9, "steps": 10**4, "allow_unstable": True, "boundary": "periodic"}
        assert not np.isfinite(wl.advect(phi, method="jump", **how).phi).any()


def test_sums_beyond_the_dtype_of_the_cells():
    phi = np.zeros(64, "f4")
    phi[10:20], phi[40:50] = 3.3e38, -3.3e38
    with np.errstate(all="raise"):
        found = wl.advect(phi, courant=0.9, steps=5, scheme="lax-wendroff", boundary="periodic",
                          method="jump").phi  # fmt: skip
    assert found.dtype == np.float32
    assert np.isinf(found).any()


@pytest.mark.parametrize("n", [50, 200])
def test_what_lies_beyond_an_end_counts_for_the_bound(n):
    phi = np.full(n, 1e-6)
    how = {"courant": 0.3, "steps": 40, "scheme": "upwind", "boundary": ("dirichlet", 1e6)}
    plain = wl.advect(phi, **how).phi
    apart = np.linalg.norm(wl.advect(phi, method="jump", **how).phi - plain)
    rule = rule_of(SCHEMES["upwind"], np.array([0.3]), np.dtype("f8"), mirrored=False)
    laid_out = np.concatenate((np.full(40, 1e6), phi))[None]
    assert 0 < apart <= difference_bound(rule, laid_out, 40)[0]


def test_so_many_steps_that_rounding_would_be_all():
    phi = cells(64)
    how = {"courant": 0.5, "scheme": "upwind", "method": "jump", "boundary": "periodic"}
    np.testing.assert_allclose(wl.advect(phi, steps=2**40, **how).phi, phi.mean(), atol=1e-3)
    with pytest.raises(wl.InputError, match=r'steps=1099511627777: method="jump" takes at most'):
        wl.advect(phi, steps=2**40 + 1, **how)


@pytest.mark.parametrize("c", [0.6, -0.6])
@pytest.mark.parametrize("scheme", ["upwind", "beam-warming"])
@pytest.mark.parametrize(
    "boundary",
    ["neumann", ("dirichlet", 0.75), ("inflow", lambda _: -1.5)],
    ids=["neumann", "dirichlet", "inflow"],
)
def test_ends_that_the_scheme_does_not_look_back_from(scheme, boundary, c):
    how = {"courant": c, "scheme": scheme, "boundary": boundary}
    for n in (1, 2, 5, 64):
        phi = cells(n)
        for steps in (0, 1, 3, 100):
            plain = wl.advect(phi, steps=steps, **how).phi
            jumped = wl.advect(phi, steps=steps, method="jump", **how).phi
            np.testing.assert_allclose(jumped, plain, rtol=0, atol=2e-13)


@pytest.mark.parametrize("scheme", ["lax-friedrichs", "lax-wendroff", "fromm"])
def test_ends_that_nothing_reaches(scheme):
    phi = np.full(100, 0.25)
    phi[60:], phi[40:60] = -2.0, cells(20)
    how = {"courant": 0.6, "scheme": scheme, "boundary": "neumann"}
    # It looks two cells to the left: what is at 59 comes to the right end after 20 steps.
    most = 20 if scheme == "fromm" else 40
    for steps in (1, most):
        plain = wl.advect(phi, steps=steps, **how).phi
        jumped = wl.advect(phi, steps=steps, method="jump", **how).phi
        np.testing.assert_allclose(jumped, plain, rtol=0, atol=2e-13)
    with pytest.raises(wl.InputError, match=r"at the (left|right) end the scheme carries"):
        wl.advect(phi, steps=most + 1, method="jump", **how)
    with pytest.raises(wl.InputError, match="at the left end"):
        wl.advect(phi, steps=1, method="jump", **{**how, "boundary": ("dirichlet", 0)})


def test_ends_of_two_values_and_many_more_steps_than_cells():
    phi = np.zeros(8)
    run = wl.advect(phi, courant=0.5, steps=1000, scheme="upwind", method="jump",
                    boundary=(("dirichlet", 3), "outflow"))  # fmt: skip
    np.testing.assert_allclose(run.phi, 3, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("phi", "how", "told"),
    [
        ([1, np.nan], {}, 'method="jump": phi has NaN or infinity'),
        ([1, 2], {"scheme": "mc"}, 'method="jump": mc is not linear'),
        ([1, 2], {"boundary": "neumann"}, 'method="jump": at the left end'),
        ([1, 1, 1, 1, 2], {"boundary": "neumann"}, 'method="jump": at the right end'),
        ([1, 2], {"boundary": ("inflow", np.cos), "scheme": "upwind"}, "changes in time"),
        ([1, 2], {"boundary": ("dirichlet", np.inf), "scheme": "upwind"}, "is not finite"),
        ([1, 2], {"boundary": ("dirichlet", np.nan), "scheme": "upwind"}, "is not finite"),
    ],
)  # fmt: skip
def test_refusals(phi, how, told):
    with pytest.raises((wl.InputError, wl.DeviceError), match=re.escape(told)):
        wl.advect(
            phi, **{"courant": 0.5, "steps": 2, "method": "jump", "boundary": "periodic"} | how
        )


def test_snapshots_on_the_way():
    phi = cells(50, "f4")
    how = {"courant": 0.5, "steps": 30, "scheme": "fromm", "boundary": "periodic", "save_every": 8}
    jumped, plain = wl.advect(phi, method="jump", **how), wl.advect(phi, **how)
    assert jumped.saved.tolist() == [0, 8, 16, 24, 30]
    np.testing.assert_allclose(jumped.snapshots, plain.snapshots, rtol=0, atol=1e-5)
    assert "powers of the symbol" in jumped.why


@pytest.mark.parametrize("boundary", ["periodic", "outflow"])
@pytest.mark.parametrize("save_every", [None, 400])
def test_a_plan_has_the_memory_of_waves(boundary, save_every):
    phi = np.zeros(100_000)
    how = {"courant": 0.5, "steps": 1000, "scheme": "upwind", "method": "jump"}
    how |= {"boundary": boundary, "save_every": save_every}
    planned = wl.advect.plan(phi, **how).memory
    tracemalloc.start()
    wl.advect(phi, **how)
    _, taken = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert planned / 1.5 < taken < planned
