"""The laws: a reduction of parts is that of the whole, for every operation and the caller's own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numba import njit

import warpladder as wl
from warpladder.errors import InputError, InputTypeError

SPLIT_OPS = (
    *("sum", "prod", "min", "max", "argmin", "argmax", "mean", "var"),
    *("any", "all", "count_nonzero", "logsumexp", "l1", "l2"),
)
elements = st.one_of(st.sampled_from([0.0, -0.0, 1.0, math.nan, math.inf]), st.floats(-50, 50))


@settings(max_examples=60)
@given(hnp.arrays(np.float64, st.integers(1, 50), elements=elements), st.data())
def test_chunks_are_reduced_as_the_whole(values, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, values.size), max_size=4)))
    whole = wl.reduce(values, SPLIT_OPS)
    parts = wl.reduce(iter(np.split(values, cuts)), SPLIT_OPS)
    for op, a, b in zip(SPLIT_OPS, whole, parts, strict=True):
        if op in {"min", "max", "argmin", "argmax", "any", "all", "count_nonzero"}:
            np.testing.assert_array_equal(b, a, op)
        else:
            np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-11, err_msg=op)


@settings(max_examples=30)
@given(hnp.arrays(np.int64, st.integers(1, 40)), st.data())
def test_integers_split_exactly(values, data):
    cut = data.draw(st.integers(0, values.size))
    ops = ("sum", "prod", "min", "max", "argmin", "argmax", "count_nonzero")
    assert wl.reduce(iter(np.split(values, [cut])), ops) == wl.reduce(values, ops)


@settings(max_examples=30)
@given(hnp.arrays(np.float64, st.integers(1, 40), elements=elements), st.data())
def test_a_mask_is_a_choice(values, data):
    mask = data.draw(hnp.arrays(np.bool_, values.size))
    mask[data.draw(st.integers(0, values.size - 1))] = True
    ops = ("sum", "min", "argmax", "mean", "count_nonzero")
    found = wl.reduce(values, ops, where=mask)
    chosen = wl.reduce(values[mask], ops)
    # Which of two zeros is the least is not promised, here as for chunks above, nor is it by NumPy:
    # a mask leaves each number in its lane, and lanes are compared in their order.
    np.testing.assert_array_equal(found.min, chosen.min)
    assert found.count_nonzero == chosen.count_nonzero
    assert found.argmax == np.flatnonzero(mask)[chosen.argmax]
    np.testing.assert_allclose(found[:1], chosen[:1], rtol=1e-12, atol=1e-11)


# Two affine maps composed: associative, not commutative. Packed into one integer.
@njit
def compose(first, second):
    a, b = first % 1009, first // 1009
    c, d = second % 1009, second // 1009
    return (a * c) % 1009 + 1009 * ((b * c + d) % 1009)


AFFINE = wl.AssociativeOp(compose, identity=1)


def composed(values):
    total = 1
    for value in values.tolist():
        total = compose.py_func(total, value)
    return total


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 33, 4095, 4096, 4097, 9001])
def test_custom_operations_keep_the_order(n):
    values = np.random.default_rng(n).integers(0, 1009**2, n)
    assert wl.reduce(values, AFFINE) == composed(values)
    assert wl.reduce(iter(np.array_split(values, 7)), AFFINE) == composed(values)
    mask = values % 3 > 0
    assert wl.reduce(values, AFFINE, where=mask) == composed(values[mask])
    backwards = wl.reduce(values[::-1], AFFINE)
    assert backwards == composed(values[::-1])


def test_custom_operations_along_axes_and_beside_others():
    values = np.random.default_rng(1).integers(0, 1009**2, (6, 50, 4))
    expected = [[composed(values[i, :, j]) for j in range(4)] for i in range(6)]
    answer = wl.reduce(values, ("sum", AFFINE), axis=1)
    assert answer.compose.tolist() == expected
    assert answer.sum.tolist() == values.sum(axis=1).tolist()
    assert wl.reduce(values.T, AFFINE) == composed(values.T.ravel())
    either = wl.AssociativeOp(lambda a, b: a ^ b, identity=False, name="parity")
    assert wl.reduce(np.array([True, True, True]), either) == np.True_
    largest = wl.AssociativeOp(max, identity=-np.inf, name="largest")
    assert wl.reduce(np.arange(5, dtype="f4"), largest) == np.float32(4)
    assert wl.reduce(np.arange(5), largest, dtype="f8") == 4
    assert wl.reduce(values, AFFINE, accuracy="reproducible") == composed(values.ravel())


def test_identities_are_told_apart_by_their_bits():
    def add(a, b):
        return a + b

    zero, below, whole = (wl.AssociativeOp(add, identity=one) for one in (0.0, -0.0, 0))
    assert len({zero, below, whole}) == 3
    assert wl.AssociativeOp(add, identity=0.0) == zero
    signs = [bool(np.signbit(wl.reduce(np.empty(0), op))) for op in (zero, below, whole, below)]
    assert signs == [False, True, False, True]


def test_custom_operations_that_cannot_be():
    with pytest.raises(InputTypeError, match=r"function: .* not int"):
        wl.AssociativeOp(3, identity=0)
    with pytest.raises(InputTypeError, match="identity='a'"):
        wl.AssociativeOp(max, identity="a")
    with pytest.raises(InputError, match=r"identity 0\.5 is no int64"):
        wl.reduce([1, 2], wl.AssociativeOp(max, identity=0.5))
    broken = wl.AssociativeOp(lambda a, b: {a: b}.popitem(), identity=0, name="broken")
    with pytest.raises(InputError, match="op broken: Numba cannot compile it"):
        wl.reduce([1, 2], broken)
    with pytest.raises(InputError, match="float16"):
        wl.reduce(np.ones(2, "f2"), wl.AssociativeOp(max, identity=0))
    with pytest.raises(InputError, match="reproducible"):
        wl.reduce([1.0], wl.AssociativeOp(max, identity=0), accuracy="reproducible")
    with pytest.raises(InputTypeError, match="AssociativeOp"):
        wl.reduce([1.0], max)
