"""Every operation beside NumPy: dtypes, sizes, axes, layouts, masks, NaN, nothing at all."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from itertools import pairwise, product

import numpy as np
import pytest

import warpladder as wl
from choosing import large
from warpladder.device import crew
from warpladder.errors import InputError
from warpladder.reduction.cpu import engine as cpu
from warpladder.reduction.cpu import jobs
from warpladder.reduction.gpu import made
from warpladder.reduction.memory import layout
from warpladder.reduction.memory.layout import NO_MASK, Tile
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import make_plan

OPS = (
    *("sum", "prod", "min", "max", "argmin", "argmax", "mean", "var", "std"),
    *("any", "all", "count_nonzero", "logsumexp", "l1", "l2"),
)
FEW_OPS = ("sum", "prod", "min", "argmax", "mean", "var", "l2")
NAN_OPS = ("nansum", "nanmin", "nanmax", "nanargmin", "nanargmax", "nanmean", "nanvar", "nanl2")
SIZES = (1, 2, 31, 32, 33, 127, 1021, 4095, 4096, 4097, 8192, 20011)


def numbers(n, dtype, seed=0):
    """Return numbers of which a few thousand have a sum and product that every dtype can show."""
    rng = np.random.default_rng(seed + n)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return (rng.standard_normal(n) * 3).astype(dtype)
    if dtype.kind == "b":
        return rng.random(n) < 0.7
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, n, dtype, endpoint=True)


def oracle(values, op, axis=None):
    """Answer with NumPy, in longer floats where there are floats to round."""
    wide = values.astype(np.longdouble) if values.dtype.kind == "f" else values
    match op:
        case "sum" | "prod" | "min" | "max" | "argmin" | "argmax" | "any" | "all":
            return getattr(np, op)(wide, axis=axis)
        case "count_nonzero":
            return np.count_nonzero(wide, axis=axis)
        case "mean" | "var" | "std":
            return getattr(np, op)(values.astype(np.longdouble), axis=axis)
        case "logsumexp":
            return np.log(np.sum(np.exp(values.astype(np.longdouble)), axis=axis))
        case "l1":
            return np.sum(np.abs(values.astype(np.longdouble)), axis=axis)
        case "l2":
            return np.sqrt(np.sum(np.square(values.astype(np.longdouble)), axis=axis))


def numpy_dtype(values, op):
    with np.errstate(all="ignore"):
        if op in {"logsumexp", "l1", "l2"}:
            return np.mean(values).dtype
        return np.asarray(getattr(np, op)(values)).dtype


def check(found, values, op, axis=None):
    expected = np.asarray(oracle(values, op, axis))
    assert found.dtype == numpy_dtype(values, op), op
    assert np.shape(found) == np.shape(expected)
    if found.dtype.kind != "f" or op in {"min", "max"}:
        np.testing.assert_array_equal(found, expected.astype(found.dtype))
        return
    # Products: a unit for each factor. Sums: far less than the 4096 half units of the sum of
    # absolute values that are promised.
    unit = np.finfo(found.dtype).eps
    if op == "prod":
        np.testing.assert_allclose(
            found.astype(np.longdouble), expected, rtol=max(values.size * 2.0**-52, unit)
        )
        return
    scale = np.max(np.abs(values.astype(np.longdouble)), initial=1)
    slack = 32 * unit * (scale * scale if op == "var" else scale)
    if op in {"sum", "l1"}:
        slack = 32 * unit * np.sum(np.abs(values.astype(np.longdouble)))
    np.testing.assert_allclose(found.astype(np.longdouble), expected, rtol=32 * unit, atol=slack)


@pytest.mark.parametrize(
    ("dtype", "ops"),
    [
        # Other tests have the rest: of integers test_laws.py, each dtype test_any_call.py.
        ("f4", OPS),
        *large(*product(["i4", "?", "u8", "f2", "f8"], [OPS])),
        # Small integers differ from large ones in how they are loaded: fewer operations will do.
        *large(*product(["i1", "i2", "i8", "u1", "u2", "u4", "u8"], [FEW_OPS])),
    ],
)
def test_all_operations_in_one_pass(dtype, ops):
    with np.errstate(all="ignore"):
        for n in SIZES:
            values = numbers(n, dtype)
            if dtype in {"i8", "u8"}:
                # What exp and squares can show.
                values = values >> values.dtype.type(40)
            answer = wl.reduce(values, ops)
            assert answer._fields == ops
            for op, found in zip(ops, answer, strict=True):
                if op == "logsumexp" and dtype[0] in "iu" and dtype[1] != "1":
                    assert found == pytest.approx(float(values.max()), abs=20)
                elif op != "prod" or dtype[0] != "f":
                    check(found, values, op)


@pytest.mark.parametrize("op", ["sum", "min", "argmax", "mean", "var"])
def test_one_operation(op):
    for n in SIZES:
        values = numbers(n, "f4")
        check(wl.reduce(values, op), values, op)


def test_products():
    rng = np.random.default_rng(5)
    for dtype in ("f4", "f8"):
        values = rng.uniform(0.9, 1.1, 3001).astype(dtype)
        check(wl.reduce(values, "prod"), values, "prod")


def test_integer_sums_wrap_as_numpy_does():
    values = np.full(5, np.iinfo(np.int64).max)
    assert wl.reduce(values) == values.sum()
    unsigned = np.full(3, np.iinfo(np.uint64).max)
    assert wl.reduce(unsigned) == unsigned.sum()
    assert wl.reduce(unsigned).dtype == np.uint64
    assert wl.reduce(np.full(100, 3, np.int32), "prod") == np.full(100, 3).prod()


def test_means_of_integers_do_not_wrap():
    values = np.full(1000, np.iinfo(np.int64).max)
    assert wl.reduce(values, "mean") == 2.0**63
    assert wl.reduce(np.full(1000, np.iinfo(np.uint64).max), "mean") == 2.0**64
    mixed = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max] * 500)
    assert wl.reduce(mixed, "mean") == -0.5


@pytest.mark.parametrize(
    ("dtype", "values"),
    [("u8", [2**64 - 1, 2**64 - 9]), ("i8", [-(2**63), -(2**63)]), ("i8", [-5, 6])],
)
def test_means_of_more_integers_than_memory_holds(dtype, values):
    """As many as files or chunks may bring: their sum takes more than 96 bits."""
    plan = make_plan(parse_ops("mean"), np.dtype(dtype), None, "fast", False)
    states = plan.complete(Tile(np.array(values, dtype), NO_MASK, 1, 2, 2), 0)
    for _ in range(40):
        states = plan.merged(states, [state.copy() for state in states])
    assert plan.finish(states, 1, 2 << 40, 0) == [sum(values) / 2]
    (state,) = states
    assert made._mean_of_whole.py_func(state.view(np.recarray), 0, 0, 0) == sum(values) / 2


LAYOUTS = {
    "C": lambda x: x,
    "Fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards": lambda x: x[::-1, :, ::-1],
    "foreign bytes": lambda x: x.astype(x.dtype.newbyteorder()),
    "transposed": lambda x: x.transpose(2, 0, 1),
    "rows of a wider array": lambda x: np.pad(x, ((0, 0), (0, 0), (0, 5)))[..., :-5],
    "read-only": lambda x: np.broadcast_to(x, x.shape),
    "unaligned": lambda x: np.frombuffer(b"1" + x.tobytes(), x.dtype, offset=1).reshape(x.shape),
}


_AXES, _SEVERAL_AXES = (None, 0, 1, 2, -1), ((0, 1), (0, -1), (1, 2), (0, 1, 2))


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize(
    ("dtype", "axis"),
    [
        *product(["f4"], [*_AXES, *_SEVERAL_AXES]),
        *large(*product(["i2"], [*_AXES, *_SEVERAL_AXES])),
    ],
)
def test_axes_and_layouts(name, dtype, axis):
    # The folds of other tests, so that they are compiled once: along several axes of
    # test_axes_across_memory_in_many_tiles, else of test_loops.test_columns_and_panels.
    ops = ("sum", "max", "var")
    if not isinstance(axis, tuple):
        ops = (*ops, "min", "count_nonzero", "argmin", "argmax")
    sizes = (7, 33, 40) if dtype == "f4" else (3, 5, 66)
    values = LAYOUTS[name](numbers(math.prod(sizes), dtype).reshape(sizes))
    answer = wl.reduce(values, ops, axis=axis)
    for op, found in zip(ops, answer, strict=True):
        check(found, values, op, axis)


def test_axes_that_stay_lie_in_any_order_and_direction():
    values = (np.arange(2 * 3 * 4 * 5) % 17).astype("f4").reshape(2, 3, 4, 5)
    for order in ((3, 2, 1, 0), (1, 3, 0, 2), (2, 0, 3, 1), (0, 2, 1, 3)):
        view = values.transpose(order)[::-1, :, ::-1]
        where = view != 4
        for axis in (0, 2, (1, 2), (0, 3)):
            for mask in (None, where):
                found = wl.reduce(view, ("sum", "max", "var"), axis=axis, where=mask)
                kept = True if mask is None else mask
                np.testing.assert_array_equal(found.sum, view.sum(axis, where=kept))
                largest = view.max(axis, where=kept, initial=-1)
                np.testing.assert_array_equal(found.max, largest)
                assert all(result.flags.c_contiguous for result in found)
    # An axis without a step lies nowhere.
    view = np.broadcast_to(values.transpose(3, 2, 1, 0)[:, :, None], (5, 4, 6, 3, 2))
    np.testing.assert_array_equal(wl.reduce(view, axis=4), view.sum(4))


@pytest.mark.parametrize("ops", [("sum", "max", "var"), *large((("l2", "mean"),))])
def test_axes_across_memory_in_many_tiles(monkeypatch, ops):
    monkeypatch.setattr(layout, "_ROWS_ACROSS", 8)
    monkeypatch.setattr(layout, "TILE_BYTES", 1024)
    monkeypatch.setattr(layout, "CACHED_BYTES", 1024)
    monkeypatch.setattr(layout, "COPIED_COLUMNS", 16)
    values = numbers(61 * 37 * 3, "f4").reshape(61, 37, 3)
    for axis in (None, 0, 1, 2, (0, 1), (1, 2), (0, 2)):
        for view in (values, values.transpose(1, 0, 2), values[::2, ::-1]):
            answer = wl.reduce(view, ops, axis=axis)
            for op, found in zip(ops, answer, strict=True):
                check(found, view, op, axis)
    np.testing.assert_array_equal(wl.reduce(values, "argmin", axis=0), values.argmin(axis=0))
    assert wl.reduce(values[::2, ::-1], "argmax") == values[::2, ::-1].argmax()


def test_scalars_and_odd_shapes():
    assert wl.reduce(np.float32(3)) == 3
    assert wl.reduce(7, "max") == 7
    assert wl.reduce([[1, 2], [3, 4]], axis=()).tolist() == [[1, 2], [3, 4]]
    assert wl.reduce(range(5)) == 10
    assert wl.reduce(np.ones((3, 0, 2)), axis=1).tolist() == [[0, 0]] * 3
    assert wl.reduce(np.ones((0, 3)), "min", axis=1).shape == (0,)
    assert isinstance(wl.reduce(np.ones((2, 2)), axis=(0, 1)), np.float64)


@pytest.mark.parametrize("n", [1, 33, 5000])
@pytest.mark.parametrize("dtype", ["f4", *large("i4", "f2")])
def test_masks(n, dtype):
    rng = np.random.default_rng(n)
    values = numbers(n, dtype)
    for mask in (rng.random(n) < 0.3, np.ones(n, bool), rng.random(n) < 0.99):
        mask[n // 2] = True
        answer = wl.reduce(values, ("sum", "min", "argmax", "mean", "l2"), where=mask)
        check(answer.sum, values[mask], "sum")
        check(answer.min, values[mask], "min")
        check(answer.mean, values[mask], "mean")
        check(answer.l2, values[mask], "l2")
        assert mask[answer.argmax]
        assert values[answer.argmax] == values[mask].max()
        assert not (values[: answer.argmax][mask[: answer.argmax]] >= values[mask].max()).any()


def test_masks_broadcast():
    values = numbers(60, "f8").reshape(5, 12)
    row = np.arange(12) % 3 == 0
    np.testing.assert_allclose(
        wl.reduce(values, axis=0, where=row), np.where(row, values.sum(axis=0), 0)
    )
    np.testing.assert_allclose(wl.reduce(values, where=row[None]), values[:, row].sum())
    column = np.arange(5)[:, None] > 1
    np.testing.assert_array_equal(
        wl.reduce(values, "max", axis=0, where=column), values[2:].max(axis=0)
    )


def test_masked_arrays_keep_their_mask():
    values = np.ma.masked_greater(np.arange(10.0), 6)
    assert wl.reduce(values, ("sum", "max")) == (21, 6)
    assert wl.reduce(values, where=np.arange(10) > 3) == 15


def test_masked_arrays_of_other_kinds():
    """As Astropy has them: no `numpy.ma.MaskedArray`, and what is masked is still there."""
    values = np.arange(4.0).view(type("Masked", (np.ndarray,), {}))
    values._mask = values > 2
    assert wl.reduce(values, ("sum", "max")) == (3, 2)
    assert wl.reduce(values, where=np.arange(4) > 0) == 3
    with pytest.raises(wl.InputTypeError, match="chunk 0 is a masked array"):
        wl.reduce(iter([values]))


@pytest.mark.parametrize("dtype", ["f4", *large("f2", "f8")])
def test_nan(dtype):
    for n in (3, 33, 9001):
        values = numbers(n, dtype)
        values[[n // 3, n - 1]] = np.nan
        strict = wl.reduce(values, OPS)
        for op in ("sum", "prod", "min", "max", "mean", "var", "std", "logsumexp", "l1", "l2"):
            assert np.isnan(getattr(strict, op)), op
        assert strict.argmin == strict.argmax == n // 3
        assert strict.count_nonzero == np.count_nonzero(values)
        assert strict.all == values.all()
        kept = values[~np.isnan(values)]
        skipping = wl.reduce(values, NAN_OPS)
        for op, found in zip(NAN_OPS, skipping, strict=True):
            if op in {"nanargmin", "nanargmax"}:
                assert found == getattr(np, op)(values)
            else:
                check(found, kept, op.removeprefix("nan"))


def test_strict_and_skipping_in_one_pass():
    values = np.array([1, np.nan, 3], "f4")
    # The folds of test_nan, in another order.
    answer = wl.reduce(values, (*NAN_OPS, *OPS))
    assert np.isnan(answer.sum)
    assert np.isnan(answer.max)
    assert answer[:3] == (4, 1, 3)
    assert wl.reduce(np.array([1, 5, 2]), ("nanmin", "max", "nanmean")) == (1, 5, 8 / 3)


def test_infinities():
    values = np.array([1.0, np.inf, 2.0])
    # One set of folds, so that it is compiled once.
    answer = wl.reduce(values, OPS)
    assert {answer.sum, answer.max, answer.mean, answer.logsumexp, answer.l1, answer.l2} == {np.inf}
    assert np.isnan(answer.var)
    both = wl.reduce([np.inf, -np.inf], OPS)
    assert np.isnan(both.sum)
    assert (both.min, both.max, both.argmin, both.argmax) == (-np.inf, np.inf, 1, 0)
    alike = wl.reduce(np.full(40, np.inf), OPS)
    assert (alike.argmin, alike.argmax) == (0, 0)
    assert wl.reduce(np.full(40, -np.inf), "logsumexp") == -np.inf
    assert wl.reduce(np.array([-np.inf, 2.0]), "logsumexp") == 2


def test_logsumexp_of_large_numbers():
    assert wl.reduce(np.array([1000.0, 1000.0]), "logsumexp") == 1000 + math.log(2)
    values = np.linspace(-800, 0, 40001)
    expected = math.log(math.fsum(map(math.exp, values)))
    assert wl.reduce(values, "logsumexp") == pytest.approx(expected, rel=1e-15)
    assert wl.reduce(values[::-1].copy(), "logsumexp") == pytest.approx(expected, rel=1e-15)
    assert wl.reduce(values - 1e5, "logsumexp") == pytest.approx(expected - 1e5, rel=1e-15)


@pytest.mark.parametrize("size", [1e-200, 1e-160, 1e-30, 1e30, 1e155, 1e200])
def test_norms_neither_overflow_nor_underflow(size):
    values = np.full(10000, size)
    values[::2] *= -3
    assert wl.reduce(values, "l2") == pytest.approx(size * math.sqrt(50000), rel=1e-14)
    assert wl.reduce(values.astype("f4") if 1e-38 < size < 1e34 else values, "l2") == pytest.approx(
        size * math.sqrt(50000), rel=1e-6
    )


def test_norms_of_mixed_sizes():
    for values in ([1e200, 1.0, 1e-200], [3e-200, 4e-200], [1e300, 1e300], [0.0, 0.0], [1.0] * 9):
        tiled = np.repeat(values, 5000)
        assert wl.reduce(tiled, "l2") == pytest.approx(math.hypot(*tiled.tolist()), rel=1e-14)


def test_variance_far_from_zero_and_with_a_trend():
    rng = np.random.default_rng(3)
    for values in (
        rng.standard_normal(100_003) + 1e8,
        np.linspace(0, 1e6, 50_001),
        np.concatenate([np.full(20_000, 1e7), np.full(20_000, -1e7)]) + rng.random(40_000),
        np.concatenate([[1e9], rng.random(30_000)]),
        np.full(10_000, 1 / 3),
    ):
        exact = float(np.var(values.astype(np.longdouble)))
        assert wl.reduce(values, "var") == pytest.approx(exact, rel=1e-12, abs=1e-15)
        crosswise = np.repeat(values[:, None], 3, axis=1)
        assert wl.reduce(crosswise, "var", axis=0) == pytest.approx(exact, rel=1e-11, abs=1e-15)
    single = (rng.standard_normal(100_003) + 300).astype("f4")
    assert wl.reduce(single, "var") == pytest.approx(np.var(single.astype("f8")), rel=1e-5)


def test_ddof():
    values = numbers(10, "f8")
    assert wl.reduce(values, "var", ddof=1) == pytest.approx(values.var(ddof=1))
    assert wl.reduce(values, "std", ddof=1.5) == pytest.approx(values.std(ddof=1.5))
    assert np.isnan(wl.reduce([1.0], "var", ddof=1))
    assert wl.reduce([1, 2, 3], "var", ddof=1) == 1


def test_dtype():
    values = np.full(3, 2.0**24, np.float32)
    values[1] = 1
    answer = wl.reduce(values, ("sum", "max"), dtype="f8")
    assert answer == (2.0**25 + 1, 2.0**24)
    assert [found.dtype.char for found in answer] == ["d", "f"]
    assert wl.reduce(np.arange(10, dtype="i1"), dtype="f4").dtype == np.float32
    assert wl.reduce(np.full(10, 100, "i1"), dtype="i1") == np.full(10, 100).sum().astype("i1")
    assert wl.reduce(np.arange(4), "mean", dtype="f4").dtype == np.float32
    columns = wl.reduce(np.arange(6).reshape(2, 3), "mean", axis=0, dtype="f4")
    np.testing.assert_array_equal(columns, np.array([1.5, 2.5, 3.5], "f4"), strict=True)


def test_results_beyond_the_dtype_are_infinite_without_a_warning():
    assert wl.reduce(np.full(10, 3e38, np.float32)) == np.inf
    assert wl.reduce(np.full(100, 6e4, np.float16)) == np.inf
    assert wl.reduce(np.full(100, 6e4, np.float16), "mean") == np.float16(6e4)
    assert wl.reduce(np.full((3, 10), -1e308), axis=1).tolist() == [-np.inf] * 3
    with np.errstate(all="raise"):
        assert wl.reduce(np.array([6e-8, 0, 0], np.float16), "std") == 0


def test_nothing():
    nothing = np.empty(0)
    # One set of folds, so that it is compiled once.
    ops = ("sum", "prod", "any", "all", "count_nonzero", "l1", "l2", "logsumexp")
    answer = wl.reduce(nothing, (*ops, "mean", "var", "std"))
    assert answer[: len(ops)] == (0, 1, False, True, 0, 0, 0, -np.inf)
    assert np.isnan(answer[len(ops) :]).all()
    assert np.isnan(wl.reduce([np.nan, np.nan], ("nanmin", "nanmax", "nanmean"))).all()
    assert wl.reduce([np.nan], "nansum") == 0
    # Tiles of so many columns would be more than memory has room for.
    assert wl.reduce(np.empty((0, 2**50)), axis=1).shape == (0,)


@pytest.mark.parametrize("tile", [8, 64, 1 << 12])
def test_tiles_and_cores_change_nothing(monkeypatch, tile):
    """One tile or many, one core or four: the same indices, and the same bits for any cores."""
    values = numbers(40_001, "f8")
    values[[777, 30_000]] = values.max() + 1
    values[[25_000, 39_000]] = values.min() - 1
    whole = wl.reduce(values, OPS)
    monkeypatch.setattr(layout, "TILE_BYTES", tile * 8)
    monkeypatch.setattr(layout, "_TILES", 1 << 30)
    answers = []
    for workers in (1, 4):
        monkeypatch.setattr(jobs, "worker_count", lambda n=workers: n)
        answers.append(wl.reduce(values, OPS))
    assert answers[0] == answers[1]
    assert answers[0].argmax == whole.argmax == 777
    assert answers[0].argmin == whole.argmin == 25_000
    assert answers[0].min == whole.min
    assert answers[0].var == pytest.approx(whole.var, rel=1e-13)


def test_progress(monkeypatch):
    monkeypatch.setattr(layout, "TILE_BYTES", 1024)
    monkeypatch.setattr(layout, "_TILES", 1 << 30)
    for workers in (1, 3):
        monkeypatch.setattr(jobs, "worker_count", lambda n=workers: n)
        seen = []
        wl.reduce(np.ones(100_000), ("sum",), progress=seen.append)
        assert seen[-1] == 1
        assert all(a <= b for a, b in pairwise(seen))


@pytest.mark.parametrize("kind", [jobs.Sheet, jobs.Job])
def test_a_thread_that_is_held_up_is_not_waited_for(monkeypatch, kind):
    held = []

    class HeldUp:
        def submit(self, once):
            job = once._call.__self__
            # It takes a tile, and is never heard of again.
            with job._changed:
                number = job.total - job.left
                job.left -= 1
            held.append(job)
            if kind is jobs.Sheet:
                # What it has written by then is in nobody's way.
                job._loop(*job._calls[number])

    monkeypatch.setattr(layout, "TILE_BYTES", 8192)
    monkeypatch.setattr(layout, "_TILES", 1 << 30)
    monkeypatch.setattr(jobs, "worker_count", lambda: 3)
    monkeypatch.setattr(crew, "_crew", lambda _: HeldUp())
    if kind is jobs.Job:
        monkeypatch.setattr(cpu, "_MOST_STATES", 0)
    values = numbers(40_001, "f8")
    seen = []
    answer = wl.reduce(values, OPS, progress=seen.append)
    check(answer.sum, values, "sum")
    assert answer.argmin == values.argmin()
    assert seen[-1] == 1
    rows = values[:40_000].reshape(400, 100)
    found = wl.reduce(rows, ("max", "sum", "count_nonzero"), axis=1)
    np.testing.assert_array_equal(found.max, rows.max(axis=1))
    np.testing.assert_allclose(found.sum, rows.sum(axis=1))
    assert (found.count_nonzero == 100).all()
    assert {type(job) for job in held} == {kind}


def test_tiles_come_in_while_an_early_answer_is_made(monkeypatch):
    """Other threads may still be at tiles behind the one that settled it."""

    class Calls(list):
        job: jobs.Sheet

        def __getitem__(self, number):
            self.job._found[self.job.total + len(self.job._found)] = None
            return super().__getitem__(number)

    def conclude_meanwhile(job):
        calls = Calls(job._calls)
        calls.job, job._calls = job, calls
        conclude(job)
        concluded.append(job)

    concluded = []
    conclude = jobs.Sheet._conclude
    monkeypatch.setattr(jobs.Sheet, "_conclude", conclude_meanwhile)
    monkeypatch.setattr(layout, "TILE_BYTES", 8192)
    monkeypatch.setattr(layout, "_TILES", 1 << 30)
    values = np.zeros(200_000, np.int8)
    values[100_000] = 1
    assert wl.reduce(values, ("any",)).any
    assert not wl.reduce(values[:100_000], ("any",)).any
    assert len(concluded) == 2


def test_what_a_late_thread_brings_is_not_taken():
    taken = []
    rows = layout.ArrayRows(np.ones((4, 100)), [1], None, np.dtype("f8"), ordered=False)
    plan = make_plan(parse_ops("sum"), np.dtype("f8"), None, "fast", False)
    (run,) = rows.row_spans()
    job = jobs.Job(plan, rows, [run], rows.column_spans(), lambda *_: taken.append(1), 0)
    for _ in range(2):
        job._accumulate(0, {})
    assert taken == [1]
    late = jobs.Job(plan, rows, [run], rows.column_spans(), lambda *_: taken.append(2), 0)
    late.stop()
    late._accumulate(0, {})
    assert taken == [1]


def test_threads_that_take_no_more_work(monkeypatch):
    refused = []

    class Ended:
        def submit(self, *call):
            refused.append(call)
            raise RuntimeError("cannot schedule new futures after shutdown")

    monkeypatch.setattr(layout, "TILE_BYTES", 8192)
    monkeypatch.setattr(jobs, "worker_count", lambda: 3)
    monkeypatch.setattr(crew, "_crew", lambda _: Ended())
    values = numbers(40_001, "f8")
    # One by its name takes a way that has no threads.
    check(wl.reduce(values, ("sum",)).sum, values, "sum")
    assert refused


@pytest.mark.parametrize(
    ("dtype", "op"),
    # Each is compiled for both layouts, with a mask and without.
    [("?", "any"), *large(("?", "all"), ("?", "max"), ("f2", "all"), ("f8", "any"), ("f8", "max"))],
)
def test_an_early_end_of_one_row_is_none_of_others(dtype, op):
    values = np.zeros((3000, 33), dtype)
    values[0, 0] = values[2000, 5] = 1
    if op == "all":
        values = (values == 0).astype(dtype)
    everywhere = np.ones(values.shape, bool)
    for there in (values, np.asfortranarray(values)):
        for where in (None, everywhere):
            found = wl.reduce(there, op, axis=0, where=where)
            assert np.array_equal(found, getattr(there, op)(axis=0))


@pytest.mark.parametrize("dtype", large("?", "f8"))
def test_an_early_end_of_one_row_is_no_index_of_others(dtype):
    values = np.zeros((3000, 33), dtype)
    values[0, 0] = values[2000, 5] = 1
    assert np.array_equal(wl.reduce(values, "argmax", axis=0), values.argmax(axis=0))


def test_a_tile_without_elements_settles_nothing(monkeypatch):
    monkeypatch.setattr(layout, "TILE_BYTES", 4096)
    values, where = np.ones(40_000, bool), np.ones(40_000, bool)
    values[-1] = False
    for masked in (slice(6000), slice(10_000, 20_000)):
        where[:] = True
        where[masked] = False
        assert not wl.reduce(values, "min", where=where)
        assert wl.reduce(~values, "max", where=where)
        assert wl.reduce(values, "argmin", where=where) == 39_999


@pytest.mark.parametrize("step", [2, 3, -1])
def test_rows_that_do_not_touch_are_not_a_tile_each(step):
    values = np.random.default_rng(0).random((40, 16, 64), np.float32)[:, :, ::step]
    rows = layout.ArrayRows(values, [1], None, values.dtype, ordered=False, across=True)
    assert len(list(rows.row_spans())) == 1
    np.testing.assert_allclose(wl.reduce(values, axis=1), values.sum(axis=1), rtol=1e-6)


@pytest.mark.large
def test_a_second_process_compiles_nothing_and_has_the_same_bits(tmp_path):
    program = (
        "import gc, numpy as np, warpladder as wl\n"
        "from numba.core.dispatcher import Dispatcher\n"
        "values = np.ones((40, 50), 'f4')\n"
        "wl.reduce(values, axis=1)\n"
        "wl.reduce(values, 'max', axis=0)\n"
        "wl.reduce(values, accuracy='reproducible')\n"
        "wl.reduce(values.astype('f8'), accuracy='compensated')\n"
        "far = 1000 * np.random.default_rng(0).random((32, 32))\n"
        "print(wl.reduce(far, 'var', axis=1).tobytes().hex())\n"
        "found = [d.stats for d in gc.get_objects() if isinstance(d, Dispatcher)]\n"
        "print(sum(sum(stats.cache_misses.values()) for stats in found))\n"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    bits, missed = zip(
        *(
            subprocess.run(
                [sys.executable, "-c", program],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
            for _ in range(2)
        ),
        strict=True,
    )
    assert bits[0] == bits[1]
    assert int(missed[0]) >= 5
    assert int(missed[1]) == 0


def test_an_error_in_a_worker_is_raised(monkeypatch):
    monkeypatch.setattr(layout, "TILE_BYTES", 1024)
    monkeypatch.setattr(layout, "_TILES", 1 << 30)
    monkeypatch.setattr(jobs, "worker_count", lambda: 2)

    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wl.reduce(np.ones(1_000_000), ("sum",), progress=stop)


@pytest.mark.parametrize("op", ["min", "nanmax", "argmin", "ptp"])
def test_no_rows_of_no_elements_are_refused_as_numpy_refuses_them(op: str) -> None:
    with pytest.raises(InputError, match=f"values: {op} of no elements is not defined"):
        wl.reduce(np.empty((0, 2, 0)), op, axis=2)
    assert wl.reduce(np.empty((0, 2, 3)), op, axis=2).shape == (0, 2)
    assert wl.reduce(np.empty((0, 2, 0)), "mean", axis=2).shape == (0, 2)
