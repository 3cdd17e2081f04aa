"""What is remembered of how large arrays are cut: the bits of the long way, and no more of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import warpladder as wl
from choosing import large
from warpladder.reduction import api
from warpladder.reduction.cpu import engine as cpu
from warpladder.reduction.cpu import jobs
from warpladder.reduction.memory import layout
from warpladder.reduction.shortcuts import few, many, ways

pytestmark = pytest.mark.usefixtures("_many_tiles")

# One field, its root, more than that, what skips, settles, keeps indices, asks of truths, is half.
PAIRS = (
    *(("sum", "f4"), ("l2", "f8"), ("mean", "i8"), ("nanmax", "f8"), ("any", "i1")),
    ("argmax", "f4"),
    *large(("prod", "f4"), ("var", "f4"), ("logsumexp", "f4"), ("sum", "f2"), ("all", "?")),
    *large(("max", "f4"), ("sum", "?")),
)
# Tiles of all rows, of some, of some columns; panels whole and cut; rows without number.
SHAPES = ((40_001,), (300, 700), (3, 70_000), (40_000, 3), (70, 50, 30), (6, 40, 900))


@pytest.fixture
def _many_tiles(monkeypatch):
    monkeypatch.setattr(layout, "TILE_BYTES", 1 << 14)
    monkeypatch.setattr(layout, "CACHED_BYTES", 1 << 14)
    monkeypatch.setattr(jobs, "worker_count", lambda: 3)


def numbers(dtype, shape, seed=0):
    drawn = np.random.default_rng(seed).standard_normal(shape) * 3
    return drawn > 0 if dtype == "?" else drawn.astype(dtype)


def long_way(values, op, **options):
    """Of operations in a tuple it is not remembered how arrays are cut."""
    return wl.reduce(values, (op,), **options)[0]


def check(found, expected):
    assert (type(found), found.dtype, found.shape) == (
        *(type(expected), expected.dtype, expected.shape),
    )
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("op", "dtype"), PAIRS)
def test_the_bits_are_those_of_the_long_way(op, dtype):
    for shape in SHAPES:
        one, other = numbers(dtype, shape), numbers(dtype, shape, seed=1)
        for axis in (None, *range(len(shape))):
            for values in (one, other, one):
                check(wl.reduce(values, op, axis=axis), long_way(values, op, axis=axis))
        options = {"axis": -1, "keepdims": True, "ddof": 1}
        check(wl.reduce(one, op, **options), long_way(one, op, **options))


def test_what_is_cut_once_is_not_cut_again(monkeypatch):
    # One tile of that dtype, whose way is not that of more.
    wl.reduce(numbers("f4", 5))
    made = []
    rows_of = many.rows_of
    monkeypatch.setattr(many, "rows_of", lambda *a, **k: made.append(1) or rows_of(*a, **k))
    for axis in (None, 0, 1):
        for seed in range(3):
            wl.reduce(numbers("f4", (300, 700), seed), axis=axis)
    assert len(made) == 3
    monkeypatch.setattr(api, "reduce_array", None)
    wl.reduce(numbers("f4", (300, 700)), axis=0)


def test_as_numpy():
    """The long way is cut by the same rules."""
    for shape in SHAPES:
        values = numbers("f4", shape)
        for axis in (None, *range(len(shape))):
            for op in ("argmax", "max"):
                np.testing.assert_array_equal(
                    wl.reduce(values, op, axis=axis), getattr(np, op)(values, axis=axis)
                )
    found = wl.reduce(numbers("f4", (5000, 3)), "var", axis=1, ddof=1)
    np.testing.assert_allclose(found, numbers("f4", (5000, 3)).var(axis=1, ddof=1), rtol=1e-4)


@pytest.mark.parametrize("odd", [np.inf, 1e200, 1e-200, np.nan])
def test_numbers_near_the_ends_of_their_range(odd):
    values = numbers("f8", (300, 700))
    values[:, 1] = values[5] = odd
    for axis in (None, 0, 1):
        check(wl.reduce(values, "l2", axis=axis), long_way(values, "l2", axis=axis))


@pytest.mark.parametrize("at", [0, 20_000, 40_000])
def test_an_answer_that_is_settled_early(at):
    values = np.zeros(40_001, "i1")
    assert not wl.reduce(values, "any")
    values[at] = 1
    assert wl.reduce(values, "any")


def test_calls_at_once_do_not_meet():
    arrays = [np.full((90, 700), i, np.float32) for i in range(40)]
    with ThreadPoolExecutor(4) as pool:
        for axis, length in ((0, 90), (1, 700)):
            found = pool.map(lambda array, axis=axis: wl.reduce(array, axis=axis), arrays)
            for i, sums in enumerate(found):
                assert (sums == length * i).all()


def test_results_of_two_calls_share_no_memory():
    values = numbers("f4", (300, 700))
    for axis in (0, 1):
        first = wl.reduce(values, axis=axis)
        bits = first.tobytes()
        second = wl.reduce(values + 1, axis=axis)
        assert not np.shares_memory(first, second)
        assert first.tobytes() == bits


def test_what_lies_otherwise_is_cut_anew():
    values = numbers("f4", (300, 700))
    expected = wl.reduce(values, axis=1)
    mask = values > 0
    for array in (values.astype(">f4"), np.asfortranarray(values), values[:, ::-1]):
        np.testing.assert_allclose(wl.reduce(array, axis=1), expected, rtol=1e-4, atol=1e-4)
    found = wl.reduce(values, axis=1, where=mask)
    np.testing.assert_allclose(found, values.sum(axis=1, where=mask), rtol=1e-4)


def test_so_many_tiles_are_not_remembered(monkeypatch):
    monkeypatch.setattr(cpu, "_MOST_KEPT", 3)
    values = numbers("f4", (300, 700))
    check(wl.reduce(values, axis=1), long_way(values, "sum", axis=1))
    way = few.answer_to("sum", values.dtype, values.shape, 1, "fast", False, False)
    assert way is ways.long_way


def test_tiles_that_are_copied_are_remembered_too(monkeypatch):
    """No loop goes along lines for exponentials."""
    monkeypatch.setattr(layout, "CACHED_BYTES", 1 << 15)
    values = numbers("f4", (300, 701))
    few.answer_to.cache_clear()
    way = few.answer_to("logsumexp", values.dtype, values.shape, 0, "fast", False, False)
    assert way is not ways.long_way
    for _ in range(2):
        check(wl.reduce(values, "logsumexp", axis=0), long_way(values, "logsumexp", axis=0))
    few.answer_to.cache_clear()
