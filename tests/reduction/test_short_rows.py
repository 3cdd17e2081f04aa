"""Many short rows are turned, so that they lie across: the same results, wherever tiles end."""

from __future__ import annotations

import math
import mmap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import warpladder as wl
from choosing import large
from warpladder.reduction import api
from warpladder.reduction.lines import lines
from warpladder.reduction.loops.cuts import is_exact
from warpladder.reduction.memory.layout import SHORT, TILE_BYTES
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import make_plan
from warpladder.reduction.shortcuts import along, few

CASES = (
    *(("sum", "f4"), ("min", "f4"), ("mean", "i8"), ("nanvar", "f4")),
    *large(("l2", "f8"), ("var", "f8"), ("nanmax", "f4")),
    *large(("prod", "f8"), ("nansum", "f8"), ("any", "i1"), ("ptp", "i1"), ("std", "i4")),
    *large(("count_nonzero", "i4"), ("l2", "f4"), ("min", "?"), ("sum", "f2")),
)
SIDES = ((1100, 2), (700, 3), (70, SHORT - 1))


def numbers(op, dtype, shape):
    drawn = np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(dtype)
    if op.startswith("nan"):
        drawn[::3, 0] = np.nan
    # Zeros alone are squares and products that may have vanished.
    drawn[5 % len(drawn)] = 0
    return drawn


def expected_of(op, values):
    return np.linalg.norm(values, axis=1) if op == "l2" else getattr(np, op)(values, axis=1)


@pytest.mark.parametrize(("op", "dtype"), CASES)
@pytest.mark.parametrize("shape", SIDES)
def test_short_rows(op, dtype, shape):
    part = make_plan(parse_ops(op), np.dtype(dtype), None, "fast", False).parts[0]
    # Means of integers are made of two words.
    is_exact = op in {"min", "nanmax"} or (dtype.startswith("i") and op not in {"std", "mean"})
    is_short = shape[1] < (lines._LONG_OF_FEW if is_exact else SHORT)
    assert lines.turns(part.spec, *shape) is (dtype != "f2" and is_short)
    values = numbers(op, dtype, shape)
    found = wl.reduce(values, op, axis=1)
    np.testing.assert_allclose(found, expected_of(op, values), rtol=1e-6)
    assert found.dtype == wl.reduce(values[0], op).dtype
    # Rows that are further apart than they are long.
    wide = np.zeros((shape[0], shape[1] + 5), dtype)
    wide[:, : shape[1]] = values
    assert wl.reduce(wide[:, : shape[1]], op, axis=1).tobytes() == found.tobytes()


@pytest.mark.parametrize("length", [2, 7, 8, 9, *large(3, 4, 5, 6)])
def test_rows_of_each_length(length):
    """Up to some length it is a constant of the loop that turns them."""
    values = np.random.default_rng(length).integers(-9, 9, (1200, length)).astype("f4")
    np.testing.assert_array_equal(wl.reduce(values, axis=1), values.sum(axis=1))
    wide = np.pad(values, ((0, 0), (0, 1)), constant_values=100)
    np.testing.assert_array_equal(wl.reduce(wide[:, :-1], axis=1), values.sum(axis=1))


@pytest.mark.parametrize(("op", "dtype"), [("sum", "f4"), ("l2", "f8"), *large(("var", "f4"))])
def test_rows_of_many_tiles(op, dtype):
    rows = TILE_BYTES // 3 // np.dtype(dtype).itemsize
    values = np.random.default_rng(1).random((rows, 3)).astype(dtype)
    found = wl.reduce(values, op, axis=1)
    np.testing.assert_allclose(found, expected_of(op, values), rtol=1e-6)
    beside = wl.reduce(values, (op, "count_nonzero"), axis=1)[0]
    np.testing.assert_allclose(found, beside, rtol=1e-6)
    assert wl.reduce(values[:1000], op, axis=1).tobytes() == found[:1000].tobytes()


def test_squares_that_vanish_or_overflow():
    values = np.ones((900, 3))
    values[7], values[8], values[9], values[10, 1] = 0, 1e-200, 1e200, np.nan
    norms = wl.reduce(values, "l2", axis=1)
    np.testing.assert_allclose(norms[7:10], np.sqrt(3) * np.array([0, 1e-200, 1e200]), rtol=1e-15)
    assert np.isnan(norms[10])
    products = wl.reduce(values, "prod", axis=1)
    assert products[7] == 0
    assert wl.reduce(values[8:9].repeat(900, 0) * 1e-100, "prod", axis=1)[0] == 0


def test_few_or_long_rows_are_not_turned():
    part = make_plan(parse_ops("sum"), np.dtype("f4"), None, "fast", False).parts[0]
    assert not lines.turns(part.spec, lines._LEAST_TURNED // 4 - 1, 4)
    assert lines.turns(part.spec, lines._LEAST_TURNED // 4, 4)
    assert not lines.turns(part.spec, 10_000, SHORT)
    exact = make_plan(parse_ops("max"), np.dtype("f4"), None, "fast", False).parts[0]
    assert lines.turns(exact.spec, 200, lines._LONG_OF_FEW - 1)
    assert not lines.turns(exact.spec, 200, lines._LONG_OF_FEW)
    enough = -(-lines._FEW_ELEMENTS // (SHORT - 1))
    assert lines.turns(exact.spec, enough, SHORT - 1)
    assert not lines.turns(exact.spec, enough - 1, SHORT - 1)
    means = make_plan(parse_ops("mean"), np.dtype("i4"), None, "fast", False).parts[0]
    assert lines.turns(means.spec, enough - 1, SHORT - 1)
    indexed = make_plan(parse_ops("argmax"), np.dtype("f4"), None, "fast", False).parts[0]
    assert not lines.turns(indexed.spec, 10_000, 4)


OPERATIONS = (
    *(("sum", "f4"), ("mean", "i8"), ("var", "f8")),
    *large(("sum", "f8"), ("min", "i1"), ("var", "f4"), ("ptp", "i2")),
    *large(("l2", "f8"), ("mean", "f4"), ("all", "u1"), ("std", "f8"), ("prod", "f4")),
    *large(("nanmax", "f4"), ("nanmean", "f8"), ("nanvar", "f4"), ("count_nonzero", "i4")),
)


@pytest.mark.parametrize(("op", "dtype"), OPERATIONS)
@pytest.mark.parametrize(
    "shape", [(5, 6, 19, 17), (2, 3, 128, 3), (90, 31), (6, 7, 9, 8), *large(((3, 4, 5, 6, 9),))]
)
def test_rows_in_groups_have_the_bits_of_a_copy(op, dtype, shape):
    whole = numbers(op, dtype, [n + 2 for n in shape])
    part = whole[(slice(1, -1),) * len(shape)]
    copy, shape_left = np.ascontiguousarray(part), len(shape) - 1
    expected = wl.reduce(copy, op, axis=-1)
    for _ in range(3):
        for turned in (lambda each: each, np.flip, lambda each: each.swapaxes(0, shape_left - 1)):
            rows = turned(np.moveaxis(part, -1, 0)[0])
            lies = np.lib.stride_tricks.as_strided(
                rows, (*rows.shape, shape[-1]), (*rows.strides, part.itemsize)
            )
            found = turned(wl.reduce(lies, op, axis=-1))
            assert np.ascontiguousarray(found).tobytes() == expected.tobytes()
        for step in (2, 7):
            found = wl.reduce(np.repeat(part, step, -1)[..., ::step], op, axis=-1)
            assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("op", "dtype"), OPERATIONS)
@pytest.mark.parametrize(("rows", "length"), [(32_768, 10), *large((262_145, 2))])
def test_a_last_tile_that_is_small(monkeypatch, op, dtype, rows, length):
    """Its rows are not turned where the array is cut into tiles, nor are they where it is not."""
    values = numbers(op, dtype, (rows, length))
    values[-3:] = values[-3:] * 0.7 if dtype[0] == "f" and op != "prod" else values[-3:]
    made = []
    with_rest = along._with_rest
    monkeypatch.setattr(along, "_with_rest", lambda *given: made.append(given) or with_rest(*given))
    few.answer_to.cache_clear()
    found = wl.reduce(values, op, axis=1)
    rounds = not is_exact(make_plan(parse_ops(op), values.dtype, None, "fast", False).parts[0].spec)
    # Deviations that skip NaNs are found from records.
    is_found = rounds and op != "nanvar" and (dtype == "f8" or rows > 1 << 18)
    assert bool(made) is is_found
    with monkeypatch.context() as patch:
        patch.setattr(api, "answer_of_few", lambda *_: None)
        patch.setattr(api, "answer_of_view", lambda *_: None)
        assert wl.reduce(values, op, axis=1).tobytes() == found.tobytes()


def test_numbers_near_the_ends_of_their_range_in_a_small_last_tile():
    values = np.random.default_rng(2).random((32_768, 10))
    values[5, 2], values[-1, 3], values[-2, 1] = 1e200, 1e-200, 1e190
    expected = [math.hypot(*row) for row in values.tolist()]
    np.testing.assert_allclose(wl.reduce(values, "l2", axis=1), expected, rtol=1e-14)


def test_rows_that_end_where_memory_does():
    """Squares are of eight rows and elements; what follows is not read."""
    for length in range(2, SHORT):
        rows = -(-lines._LEAST_TURNED // length)
        values = np.random.default_rng(length).integers(-9, 9, (rows, length)).astype("f8")
        memory = mmap.mmap(-1, -(-values.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE)
        laid = np.frombuffer(memory, "f8")[-values.size :].reshape(values.shape)
        laid[...] = values
        np.testing.assert_array_equal(wl.reduce(laid, axis=1), values.sum(axis=1))
        del laid


def test_short_rows_that_are_shared():
    """Who stands by has some, with the same bits; two threads at once do not meet."""
    values = np.random.default_rng(3).random((40_000, 9))
    alone = [wl.reduce(part, "var", axis=1) for part in np.array_split(values, 16)]

    def calls(_: int) -> bool:
        found = [wl.reduce(values, "var", axis=1) for _ in range(20)]
        return {each.tobytes() for each in found} == {np.concatenate(alone).tobytes()}

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(calls, range(3)))
