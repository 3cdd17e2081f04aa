"""What NumPy's reductions take, taken here: `keepdims`, `initial`, `out`, `ptp`, ufuncs."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import warpladder as wl
from choosing import large
from warpladder.errors import InputError, InputTypeError
from warpladder.reduction import answers
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import make_plan

FOUR = ("sum", "prod", "min", "max")
AXES = (None, 0, -1, (0, 2), (0, 1, 2), ())


def cube(dtype):
    """Return 60 numbers whose product fits, in another order along each axis."""
    ranks = np.random.default_rng(1).permutation(60).reshape(3, 4, 5)
    return ((ranks % 7 - 3) / (1 if dtype[0] == "i" else 2)).astype(dtype)


def host(found):
    return found.copy_to_host() if hasattr(found, "copy_to_host") else found


# ---- keepdims --------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", AXES)
def test_keepdims(axis):
    values = cube("f4")
    # The folds of test_reduce.test_axes_across_memory_in_many_tiles and test_one_operation.
    ops = ("sum", "max", "var")
    found = list(wl.reduce(values, ops, axis=axis, keepdims=True))
    if axis is None:
        ops += ("argmax",)
        found.append(wl.reduce(values, "argmax", axis=axis, keepdims=True))
    for op, one in zip(ops, found, strict=True):
        expected = getattr(np, op)(values, axis=axis, keepdims=True)
        assert one.shape == expected.shape
        np.testing.assert_allclose(one, expected, rtol=1e-6, atol=1e-6)


def test_keepdims_of_what_has_few_axes():
    assert wl.reduce(np.float32(3), keepdims=True).shape == ()
    assert wl.reduce([1.0, 2.0], keepdims=True).tolist() == [3]
    assert wl.reduce(np.empty((0, 3)), axis=0, keepdims=True).tolist() == [[0, 0, 0]]
    assert wl.reduce(np.empty((3, 0)), axis=0, keepdims=True).shape == (1, 0)


@pytest.mark.parametrize("order", ["C", "F"])
def test_keepdims_of_files(tmp_path, order):
    path, values = tmp_path / "a.npy", cube("f4")
    np.save(path, np.asarray(values, order=order))
    # Not ordered, in the order of a file; ordered, as an array; over an axis.
    for op, axis in (("sum", None), ("argmax", None), ("sum", 1)):
        found = wl.reduce(path, op, axis=axis, keepdims=True)
        expected = getattr(np, op)(values, axis=axis, keepdims=True)
        np.testing.assert_array_equal(found, expected)
        assert found.shape == expected.shape


# ---- initial ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "axis", "masked"),
    [
        *product(["f4"], AXES, [False]),
        *product(["f4"], [1], [True]),
        *large(("i4", (0, 2), False), ("f4", None, True)),
        *large(*product(["i4"], AXES, [True]), *product(["f8"], AXES, [False, True])),
    ],
)
def test_initial(dtype, axis, masked):
    values = cube(dtype)
    options = {"where": values > -1} if masked else {}
    for initial in (2, -4, 2.5) if dtype == "f4" else (2, -4):
        found = wl.reduce(values, FOUR, axis=axis, initial=initial, **options)
        for op, one in zip(FOUR, found, strict=True):
            expected = getattr(np, op)(values, axis=axis, initial=initial, **options)
            # A few whole numbers and halves: nothing is rounded.
            np.testing.assert_array_equal(one, expected, f"{op} {initial}")
            assert one.dtype == expected.dtype


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i8", "u1", "u8", "?"])
def test_initial_of_nothing(dtype):
    """There is a result, and it is this number."""
    nothing = np.empty((0, 2), dtype)
    for op, initial in product((*FOUR, "nanmax", "nansum"), (0, 1)):
        expected = getattr(np, op)(nothing, axis=0, initial=initial)
        found = wl.reduce(nothing, op, axis=0, initial=initial)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
    mask = np.zeros((2, 3), bool)
    found = wl.reduce(np.ones((2, 3), "f4"), FOUR, axis=1, where=mask, initial=3, keepdims=True)
    assert [one.tolist() for one in found] == [[[3], [3]]] * 4


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_of_negative_zeros(dtype):
    """As NumPy's without ``initial``; with one of -0.0 NumPy keeps the sign, which is told."""
    for count in (1, 2, 9, 5000):
        zeros = np.full(count, -0.0, dtype)
        for options in ({}, {"initial": -0.0}, {"accuracy": "reproducible"}):
            assert not np.signbit(wl.reduce(zeros, **options))
        assert np.signbit(np.sum(zeros, initial=-0.0))


def test_initial_at_the_ends_of_a_dtype():
    top, low = np.iinfo(np.uint64).max, np.iinfo(np.int64).min
    assert wl.reduce(np.empty(0, "u8"), "max", initial=top) == top
    assert wl.reduce(np.empty(0, "u8"), "sum", initial=2.0**63) == 2**63
    assert wl.reduce(np.empty(0, "u8"), FOUR, initial=top) == (top,) * 4
    assert wl.reduce(np.array([3], "i8"), FOUR, initial=low) == (low + 3, low, low, 3)
    assert wl.reduce(np.empty(0, "i8"), dtype="f8", initial=0.5) == 0.5


@pytest.mark.parametrize(
    ("values", "op", "initial", "expected"),
    [
        ([1.0, np.nan], "sum", 1, np.nan),
        ([1.0, np.nan], "max", 9, np.nan),
        ([1.0], "max", np.nan, np.nan),
        ([1.0], "sum", -np.inf, -np.inf),
        ([np.inf], "sum", -np.inf, np.nan),
        ([np.inf], "prod", 0, np.nan),
        ([0.0], "prod", np.inf, np.nan),
        ([1e300, 1e300], "prod", 1e-300, 1e300),
        ([1e-300, 1e-300], "prod", 1e300, 1e-300),
        ([np.nan, np.nan], "nanmax", 2, 2),
        ([np.nan, 3], "nanmax", 2, 3),
        ([np.nan, 3], "nansum", 2, 5),
    ],
)
def test_initial_and_what_is_no_number(values, op, initial, expected):
    # In one pass, which is compiled once.
    ops = ("nansum", "nanmax") if op.startswith("nan") else FOUR
    found = getattr(wl.reduce(np.array(values), ops, initial=initial), op)
    np.testing.assert_array_max_ulp(found, expected, 2)


doubles = st.floats(allow_nan=True, allow_infinity=True)


@settings(max_examples=60)
@given(hnp.arrays(np.float64, st.integers(0, 12), elements=doubles), doubles)
@example(np.array([1.0, 2.0**-1074]), -1.0)
@example(np.array([1e308, 1e308]), -1e308)
def test_initial_is_an_element_that_comes_first(values, initial):
    """To exact sums and extrema to the last bit."""
    whole = np.append([initial], values)
    found = wl.reduce(values, accuracy="reproducible", initial=initial)
    np.testing.assert_array_equal(found, wl.reduce(whole, accuracy="reproducible"))
    found, expected = wl.reduce(values, FOUR, initial=initial), wl.reduce(whole, FOUR)
    np.testing.assert_array_equal((found.min, found.max), (expected.min, expected.max))


@settings(max_examples=60)
@given(hnp.arrays(np.int64, st.integers(0, 12)), st.integers(-(2**63), 2**63 - 1))
def test_initial_among_integers(values, initial):
    whole = np.append(np.array([initial]), values)
    assert wl.reduce(values, FOUR, initial=initial) == wl.reduce(whole, FOUR)


def test_initial_of_accuracies_and_own_operations():
    values = np.array([1.0, 1e-20, 2.0**60])
    assert wl.reduce(values, accuracy="compensated", initial=-(2.0**60)) == 1
    assert wl.reduce(values, accuracy="compensated", initial=np.inf) == np.inf
    # What is lost of either sum is more than half a unit of both.
    least = np.array([1.0, 2.0**-54])
    assert wl.reduce(least, accuracy="compensated", initial=2.0**-53) == 1 + 2.0**-52
    rows = np.arange(6.0).reshape(2, 3)
    found = wl.reduce(rows, accuracy="reproducible", axis=1, initial=0.25)
    assert found.tolist() == [3.25, 12.25]
    # Not commutative: the last of all, the first of all.
    last, first = (
        wl.AssociativeOp(function, -1, name="end")
        for function in (lambda a, b: b if b >= 0 else a, lambda a, b: a if a >= 0 else b)
    )
    chunks = [np.arange(5), np.arange(5, 9)]
    assert wl.reduce(iter(chunks), last, initial=77) == 8
    assert wl.reduce(iter(chunks), first, initial=77) == 77


# ---- out -------------------------------------------------------------------------------------


def test_out():
    values = cube("f4")
    for axis, keepdims in ((None, False), (None, True), (1, False), ((0, 2), True)):
        expected = np.sum(values, axis=axis, keepdims=keepdims)
        out = np.full(expected.shape, np.nan, "f4")
        assert wl.reduce(values, axis=axis, keepdims=keepdims, out=out) is out
        np.testing.assert_array_equal(out, expected)
    # A part of a larger array, and the values' own memory.
    wide = np.zeros((3, 8), "f4")
    wl.reduce(values, "max", axis=1, out=wide[:, 1:6])
    np.testing.assert_array_equal(wide[:, 1:6], values.max(axis=1))
    assert not wide[:, [0, 6, 7]].any()
    expected = values.sum(axis=0)
    wl.reduce(values, axis=0, out=values[1])
    np.testing.assert_array_equal(values[1], expected)


def test_out_of_several_operations():
    values = cube("f4")
    memory = np.empty((2, 3, 4), "f4")
    outs = memory[0], np.empty((3, 4), "f4"), memory[1]
    found = wl.reduce(values, ("sum", "max", "var"), axis=2, out=outs)
    for op, one, out in zip(found._fields, found, outs, strict=True):
        assert one is out
        np.testing.assert_allclose(out, getattr(np, op)(values, axis=2), rtol=1e-6)
    out = np.zeros(())
    assert wl.reduce(iter([[1.0, 2.0], [3.0]]), out=out) is out
    assert out == 6


READ_ONLY = np.broadcast_to(np.float32(0), (3,))
SHARED = np.empty(3, "f4")


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"out": np.empty(2, "f4")}, InputError, r"out: sum is float32 of shape \(3,\), this is"),
        ({"out": np.empty(3)}, InputError, r"float64 of shape \(3,\); give one made with empty"),
        ({"out": np.empty(3, ">f4")}, InputError, "out: sum is float32 of shape"),
        ({"out": np.empty(3, "f4"), "keepdims": True}, InputError, r"of shape \(3, 1\), this"),
        ({"out": [0.0] * 3}, InputTypeError, "out: a plain NumPy array is needed, not list"),
        ({"out": np.ma.zeros(3, "f4")}, InputTypeError, "array is needed, not MaskedArray"),
        ({"out": READ_ONLY}, InputError, "out: it is read-only; give a copy"),
        ({"op": ("sum", "max"), "out": SHARED}, InputTypeError, "out: a tuple of 2 arrays"),
        ({"op": ("sum", "max"), "out": (SHARED,)}, InputTypeError, "one for each operation"),
        ({"op": ("sum", "max"), "out": (SHARED, SHARED)}, InputError, "cannot share memory"),
        ({"op": ("sum", "max"), "out": (SHARED, SHARED[::-1])}, InputError, "share memory"),
        ({"keepdims": 1}, InputTypeError, "keepdims=1 must be True or False"),
        ({"initial": "3"}, InputTypeError, "initial='3' is no real number"),
        ({"initial": [1]}, InputTypeError, r"initial=\[1\] is no real number"),
        ({"initial": 1e39}, InputError, r"initial=1e\+39 is no float32, as sum is; .* wider dtype"),
        ({"initial": 1e39, "op": "max"}, InputError, "is no float32, as max is; give another$"),
        ({"initial": np.nan, "op": "nansum"}, InputError, "initial=nan: nansum skips NaNs"),
        ({"op": np.subtract}, InputError, "op: the ufunc subtract stands for no operation; use"),
        ({"op": np.bitwise_or}, InputError, r"op any is not defined for float32; as numpy\.bitwis"),
        *(
            ({"initial": 1, "op": op}, InputError, f"initial=1 has no meaning for {op}; leave")
            for op in ("mean", "var", "argmax", "any", "count_nonzero", "logsumexp", "l2", "ptp")
        ),
    ],
)
def test_refusals(options, kind, message):
    values = np.ones((3, 2), "f4")
    with pytest.raises(kind, match=message):
        wl.reduce(values, axis=1, **options)
    assert not np.shares_memory(values, SHARED)


@pytest.mark.parametrize(
    ("dtype", "op", "initial"),
    [
        *(("i1", "max", 128), ("u1", "min", -1), ("i4", "sum", 0.5), ("i8", "sum", 2.0**63)),
        *(("u8", "sum", 2.0**64), ("?", "max", 2), ("i4", "prod", np.inf), ("i4", "sum", np.nan)),
    ],
)
def test_initial_that_does_not_fit(dtype, op, initial):
    """NumPy casts what it can, and loses what does not fit."""
    with pytest.raises(InputError, match=r"initial=.* is no u?(int|bool).*, as .* is; give"):
        wl.reduce(np.ones(2, dtype), op, initial=initial)


# ---- ptp and ufuncs --------------------------------------------------------------------------


# Each kind of numbers; test_every_cell.py has all dtypes, in one row.
@pytest.mark.parametrize("dtype", ["f4", *large("f2", "i8", "u1")])
def test_ptp(dtype):
    kind = np.dtype(dtype)
    for n in (1, 2, 33, 4097):
        rng = np.random.default_rng(n)
        values = (rng.standard_normal((n, 3)) * 30).astype(dtype)
        if kind.kind == "f":
            # More digits than a wider difference would have to drop.
            values = (values * rng.choice([1, 1e-3, 100], (n, 3))).astype(dtype)
        else:
            values = values % 101
        for axis in (None, 0, 1):
            expected = np.ptp(values, axis=axis)
            found = wl.reduce(values, "ptp", axis=axis)
            assert found.dtype == expected.dtype == kind
            np.testing.assert_array_equal(found, expected)


def test_ptp_in_a_wider_dtype():
    values = np.array([1, 2**-30, -3], "f4")
    assert wl.reduce(values[:2], "ptp", dtype="f8") == 1 - 2.0**-30
    assert wl.reduce(values[:2], "ptp") == np.ptp(values[:2])
    assert wl.reduce(values, "ptp", dtype="f2").dtype == np.float16


def test_ptp_of_what_is_no_number():
    nan, inf = np.nan, np.inf
    rows = np.array([[1, nan, 3], [-inf, 0, 5], [inf, inf, inf], [-3e38, 3e38, 0], [nan] * 3], "f4")
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(wl.reduce(rows, "ptp", axis=1), np.ptp(rows, axis=1))
    found = wl.reduce(rows, "nanptp", axis=1)
    np.testing.assert_array_equal(found, [2, inf, nan, inf, nan])
    for values in (np.empty(0), np.empty((2, 0)), np.empty((0, 0))):
        with pytest.raises(InputError, match="values: ptp of no elements is not defined"):
            wl.reduce(values, "ptp", axis=-1)
    with pytest.raises(InputError, match="where: ptp is not defined where the mask leaves no"):
        wl.reduce(rows, "ptp", where=False)


@pytest.mark.parametrize("dtype", ["i8", *large("i1", "i2", "i4")])
def test_ptp_that_does_not_fit(dtype):
    """NumPy's wraps to -1; here it is refused, and the remedy in the message is one."""
    limits = np.iinfo(dtype)
    values = np.array([limits.max, 3, limits.min], dtype)
    wide = f"u{dtype[1:]}"
    named = np.dtype(wide).name
    with pytest.raises(InputError, match=rf"ptp is {2 * limits.max + 1}.* give dtype='{named}'"):
        wl.reduce(values, "ptp")
    assert wl.reduce(values, "ptp", dtype=wide) == 2 * limits.max + 1
    assert wl.reduce(values, ("ptp", "max"), dtype="f8").ptp == float(2 * limits.max + 1)
    assert wl.reduce(values[:2], "ptp") == limits.max - 3


def test_truths_have_no_difference():
    with pytest.raises(InputError, match=r"ptp is not defined for bool; use \.astype\('uint8'\)"):
        wl.reduce([True, False], "ptp")


UFUNCS = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.fmax: "nanmax",
    np.fmin: "nanmin",
    np.logaddexp: "logsumexp",
    np.logical_and: "all",
    np.logical_or: "any",
}


def test_ufuncs_are_operations():
    for ufunc, op in UFUNCS.items():
        assert parse_ops(ufunc) == parse_ops(op)


@pytest.mark.parametrize("ufunc", [np.add, np.fmax, *large(*UFUNCS)])
def test_ufuncs(ufunc):
    """That an operation means the same is NumPy's word for it."""
    values = cube("f4")[:, :2]
    if UFUNCS[ufunc].startswith("nan"):
        values[0, 0] = np.nan
    found, expected = wl.reduce(values, ufunc, axis=2), ufunc.reduce(values, axis=2)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == expected.dtype


def test_ufuncs_of_truths_and_names_of_several():
    truths = np.array([[True, False], [True, True]])
    for ufunc in (np.bitwise_or, np.logical_or):
        found = wl.reduce(truths, ufunc, axis=1)
        np.testing.assert_array_equal(found, ufunc.reduce(truths, axis=1))
    assert wl.reduce(np.arange(5), np.add) == 10
    assert [request.name for request in parse_ops((np.bitwise_and, np.add))] == ["all", "sum"]
    assert wl.reduce(np.empty(0), (np.add, "any"))._fields == ("sum", "any")
    with pytest.raises(InputError, match="'sum' is asked for twice"):
        wl.reduce([1], ("sum", np.add))
    # What the refusal of integers says to do.
    either = wl.AssociativeOp(np.bitwise_or, 0)
    assert wl.reduce([1, 4, 8], either) == 13


# ---- on a GPU --------------------------------------------------------------------------------


@pytest.mark.parametrize("ops", [("prod", "min"), *large((("sum", "prod", "min", "max"),))])
def test_all_of_it_on_a_gpu(gpu, ops):
    values = cube("f4")
    there = gpu.to_device(values)
    for axis in (None, 1, (0, 2)):
        expected = [getattr(np, op)(values, axis=axis, keepdims=True, initial=2) for op in ops]
        outs = tuple(gpu.to_device(np.full_like(one, np.nan)) for one in expected)
        options = {"axis": axis, "keepdims": True, "initial": 2, "device": gpu}
        found = wl.reduce(there, ops, **options)
        filled = wl.reduce(there, ops, **options, out=outs)
        through = wl.reduce(values, ops, **options)
        for op, want, *got in zip(ops, expected, found, filled, through, outs, strict=True):
            for one in got:
                np.testing.assert_array_equal(host(one), want, f"{op} {axis}")
        assert all(one is out for one, out in zip(filled, outs, strict=True))
        assert all(type(one) is type(there) for one in found)
    out = gpu.to_device(np.zeros((), "f4"))
    assert wl.reduce(there, out=out, device=gpu) is out
    assert host(out) == values.sum()


# By default test_gpu_results has ptp, of floats and of what int8 cannot hold.
@pytest.mark.large
def test_ptp_on_a_gpu(gpu):
    values = cube("f4")
    values[0, 1, 2], values[1, 1, 1] = np.nan, np.inf
    values[2, :, 3] = np.inf
    for array in (gpu.to_device(values), values):
        with np.errstate(invalid="ignore"):
            found = host(wl.reduce(array, "ptp", axis=1, device=gpu))
            np.testing.assert_array_equal(found, np.ptp(values, axis=1))
    with pytest.raises(InputError, match="ptp is 255, which int8 cannot hold"):
        wl.reduce(gpu.to_device(np.array([-128, 127], "i1")), "ptp", device=gpu)


def test_out_elsewhere_is_refused(gpu):
    values, out = np.ones(3, "f4"), np.empty((), "f4")
    there = gpu.to_device(out)
    with pytest.raises(InputError, match="out: it is on a GPU, and values are not; give a NumPy"):
        wl.reduce(values, out=there)
    with pytest.raises(InputError, match="out: it is not on a GPU, as values are; give an array"):
        wl.reduce(gpu.to_device(values), out=out, device=gpu)
    with pytest.raises(InputError, match=r"out: sum is float32 of shape \(\), this is int32"):
        wl.reduce(gpu.to_device(values), out=gpu.to_device(np.int32(0)), device=gpu)
    columns = gpu.to_device(np.empty((4, 2), "f4"))[:, 0]
    with pytest.raises(InputError, match="out: on a GPU it has to be contiguous"):
        wl.reduce(gpu.to_device(np.ones((4, 2), "f4")), axis=1, out=columns, device=gpu)


def test_out_of_several_operations_elsewhere_does_not_overlap(gpu):
    plan = make_plan(parse_ops(("sum", "max")), np.dtype("f4"), None, "fast", False)
    memory = gpu.to_device(np.empty(6, "f4"))
    answers.check_outs((memory[:3], memory[3:]), plan, (3,), gpu)
    with pytest.raises(InputError, match="out: two operations cannot share memory"):
        answers.check_outs((memory[:3], memory[2:5]), plan, (3,), gpu)


class Elsewhere:
    """An array on a GPU as other libraries describe theirs."""

    def __init__(self, shape, *, dtype="f4", address=512, read_only=False, strides=None):
        self.shape, self.dtype = shape, np.dtype(dtype)
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": self.dtype.str,
            "data": (address, read_only),
            "strides": strides,
        }


def test_out_of_other_libraries(monkeypatch):
    """The checks alone; what is written through them takes a GPU."""
    gpus = {512: SimpleNamespace(index=0), 1024: SimpleNamespace(index=1)}
    monkeypatch.setattr(
        answers, "gpu_of", lambda out: gpus[out.__cuda_array_interface__["data"][0]]
    )
    plan = make_plan(parse_ops("sum"), np.dtype("f4"), None, "fast", False)

    def check(out, shape=(4, 3)):
        answers.check_outs((out,), plan, shape, gpus[512])

    check(Elsewhere((4, 3)))
    check(Elsewhere((4, 3), strides=(12, 4)))
    check(Elsewhere((), strides=()), ())
    check(Elsewhere((0, 3), address=0), (0, 3))
    for out, message in (
        (Elsewhere((4, 3), strides=(4, 16)), "on a GPU it has to be contiguous"),
        (Elsewhere((4, 3), read_only=True), "it is read-only"),
        (Elsewhere((4, 3), address=1024), "it is on GPU 1, and values are not"),
        (Elsewhere((3, 4)), r"sum is float32 of shape \(4, 3\), this is float32 of shape \(3, 4\)"),
        (Elsewhere((4, 3), dtype="f8"), r"give one made with empty\(\(4, 3\), 'float32'\)"),
    ):
        with pytest.raises(InputError, match=f"out: {message}|out: .*{message}"):
            check(out)
    plan = make_plan(parse_ops(("sum", "max")), np.dtype("f4"), None, "fast", False)
    with pytest.raises(InputError, match="two operations cannot share memory"):
        answers.check_outs((Elsewhere((4, 3)), Elsewhere((4, 3))), plan, (4, 3), gpus[512])
