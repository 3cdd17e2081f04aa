"""Where an extremum is first: in rows shorter and longer than vectors, at the end of memory too."""

from __future__ import annotations

import numpy as np
import pytest

import warpladder as wl
from choosing import large, only
from warpladder.simulator import SimulatedDevice

# Vectors have 64 bytes: rows of less, of whole ones, and of some more.
LENGTHS = (1, 7, 16, 17, 63, 64, 65, 200)
DTYPES = ("f4", "i1", *large("f8", "u2", "i8", "f2"))
# Each has a loop of its own, from either end.
OPERATIONS = only(
    lambda *one: one in {("argmin", "f4"), ("argmax", "u1")},
    ("argmax", "argmin", "nanargmax"),
    ("f4", "u1", "i8", "f8", "i1", "u2", "i2", "u4", "u8"),
)


def numbers(dtype, length):
    """Return rows of few values, so that each is there several times."""
    return np.random.default_rng(length).integers(0, 3, (5, length)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
def test_the_first_of_equals(dtype, length):
    values = numbers(dtype, length)
    np.testing.assert_array_equal(wl.reduce(values, "argmax", axis=1), values.argmax(axis=1))
    # The last of a vector, and of the row.
    for place in {length - 1, min(length, 64) - 1}:
        values[:, place] = 5
        assert wl.reduce(values, "argmax", axis=1).tolist() == [place] * 5
        # Of the next row there is the same value sooner.
        values[1::2, 0] = 5
        expected = values.argmax(axis=1)
        np.testing.assert_array_equal(wl.reduce(values, "argmax", axis=1), expected)
        values[:, place] = values[:, 0] = 0


@pytest.mark.parametrize("length", LENGTHS)
def test_the_first_nan(length):
    values = numbers("f4", length)
    values[2:, length // 2] = np.nan
    values[4:, length // 3] = np.nan
    np.testing.assert_array_equal(wl.reduce(values, "argmax", axis=1), values.argmax(axis=1))
    assert np.isnan(wl.reduce(values, "max", axis=1)).tolist() == [False] * 2 + [True] * 3


@pytest.mark.parametrize("length", LENGTHS)
def test_marks_say_what_counts(length):
    values, kept = numbers("f4", length), np.random.default_rng(length).random((5, length)) < 0.4
    kept[:, -1] = True
    values[~kept] = 9
    values[3:, 0] = np.where(kept[3:, 0], values[3:, 0], np.nan)
    found = wl.reduce(values, "argmax", axis=1, where=kept)
    expected = np.where(kept, values, -1).argmax(axis=1)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("at", [0, 1, 255, 256, 300, 511, 512])
def test_a_nan_in_long_blocks(at):
    """From 256 numbers on two are taken at a time, and one of an odd number is left."""
    values = np.ones(513, np.float32)
    values[at] = np.nan
    assert wl.reduce(values, "argmax") == at
    assert np.isnan([wl.reduce(values, op) for op in ("min", "max", "ptp")]).all()
    values[at] = 2
    assert (wl.reduce(values, "max"), wl.reduce(-values, "min")) == (2, -2)
    assert wl.reduce(values, "argmax") == at


def odd_truths(*shape):
    """Return booleans of which true ones are any byte but 0, and the same ones of NumPy's own."""
    rng = np.random.default_rng(shape)
    raw = rng.integers(0, 256, shape, np.uint8)
    raw[rng.random(shape) < 0.7] = 0
    return raw.view(bool), raw != 0


@pytest.mark.parametrize(
    "op", [("argmin", "any"), *large("argmax", "argmin", (("argmax", "min"),))]
)
def test_any_byte_but_0_is_as_true_as_another(op):
    def found(values, **options):
        return [
            np.asarray(each).tolist() for each in np.atleast_1d(wl.reduce(values, op, **options))
        ]

    for shape in ((7,), (64,), (200,), (5, 130), (130, 5), (3, 40, 70), (9, 3000)):
        odd, plain = odd_truths(*shape)
        for axis in (None, *range(len(shape))):
            assert found(odd, axis=axis) == found(plain, axis=axis)
            kept = np.indices(shape).sum(0) % 3 > 0
            assert found(odd, axis=axis, where=kept) == found(plain, axis=axis, where=kept)
        whole, its_plain = np.repeat(odd, 2, -1)[..., ::2], np.repeat(plain, 2, -1)[..., ::2]
        for _ in range(3):
            assert found(whole, axis=-1) == found(its_plain, axis=-1)
            assert found(odd.T) == found(plain.T)
    for all_true in (True, False):
        raw = np.full((4, 300), 2 if all_true else 0, np.uint8)
        raw[:, 100:] *= 100
        assert found(raw.view(bool), axis=1) == found(raw != 0, axis=1)


def test_the_first_true_byte_ends_the_search():
    """What follows is not read, and would take a thousand times as long."""
    truths = np.zeros(1 << 20, bool)
    assert wl.reduce(truths, "argmax") == 0
    truths[70_000] = True
    assert wl.reduce(truths, "argmax") == 70_000
    assert wl.reduce(~truths, "argmin") == 70_000


def test_odd_truths_on_a_gpu():
    odd, plain = odd_truths(3, 200)
    for axis in (None, 0, 1):
        on_gpu = wl.reduce(odd, ("argmax", "argmin"), axis=axis, device=SimulatedDevice())
        np.testing.assert_array_equal(on_gpu.argmax, plain.argmax(axis=axis))
        np.testing.assert_array_equal(on_gpu.argmin, plain.argmin(axis=axis))


@pytest.mark.parametrize(("op", "dtype"), OPERATIONS)
def test_many_short_rows(op, dtype):
    """They are turned: of equals the first, of NaNs as well, in groups and with gaps."""
    rng = np.random.default_rng(7)
    for length in (2, 3, 7, 8, 9, 31):
        whole = rng.integers(0, 4, (3, 22, 9, length + 2)).astype(dtype)
        if dtype.startswith("f"):
            whole[rng.random(whole.shape) < 0.05] = np.nan
            whole[..., 1] = 1
        for values in (whole[..., 1:-1], np.ascontiguousarray(whole[:, ::-1, :, 1:-1])):
            expected = getattr(np, op)(values, axis=-1)
            for _ in range(3):
                found = wl.reduce(values, op, axis=-1)
                assert found.dtype == np.int64
                np.testing.assert_array_equal(found, expected)
        flat = np.ascontiguousarray(whole[0, ..., 1:-1]).reshape(-1, length)
        found = wl.reduce(flat, op, axis=1, keepdims=True)
        np.testing.assert_array_equal(found, getattr(np, op)(flat, axis=1, keepdims=True))


@pytest.mark.parametrize("dtype", ["i1", "u1", "f4", *large("f8")])
def test_places_in_rows_at_the_ends_of_their_range(dtype):
    limits = np.finfo(dtype) if dtype.startswith("f") else np.iinfo(dtype)
    least, most = limits.min, limits.max
    values = np.full((300, 5), least, dtype)
    values[1::3, 3], values[2::3] = most, most
    for op in ("argmax", "argmin"):
        np.testing.assert_array_equal(wl.reduce(values, op, axis=1), getattr(values, op)(axis=1))


@pytest.mark.parametrize(("op", "dtype"), OPERATIONS)
def test_few_columns(op, dtype):
    """Many lines are taken as one: of equals the first, of NaNs as well, whatever is left over."""
    rng = np.random.default_rng(8)
    for side in (2, 3, 8, 31):
        for length in (33, 128, 511, 1001):
            values = rng.integers(0, 4 if length < 200 else 100, (3, length, side)).astype(dtype)
            if dtype.startswith("f"):
                values[rng.random(values.shape) < 2 / length] = np.nan
                values[:, 5] = 1
            for lies, axis in ((values, 1), (values[0], 0), (values[0, :, ::-1], 0)):
                expected = getattr(np, op)(lies, axis=axis)
                for _ in range(3):
                    found = wl.reduce(lies, op, axis=axis)
                    assert found.dtype == np.int64
                    np.testing.assert_array_equal(found, expected)


def test_the_first_of_equals_in_few_columns():
    """In each lane, between lanes, and in what is left over."""
    for place in (*range(40), 640, 998, 999, 1000):
        values = np.zeros((1001, 3), np.float32)
        values[place:, 1] = 7
        values[-1] = 7
        assert wl.reduce(values, "argmax", axis=0).tolist() == [1000, place, 1000]
        values[-1, 1] = 8 if place < 1000 else 7
        assert wl.reduce(values, "argmax", axis=0)[1] == 1000


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["argmax", *large("argmin")])
def test_some_columns_of_a_table(dtype, op):
    """What lies between them is forgotten: extrema and NaNs that are in no column asked for."""
    for rows, columns, part in (
        ((1200,), 8, np.s_[:, 2:5]),
        ((1201,), 5, np.s_[:, :2]),
        ((700,), 40, np.s_[:, 3:33]),
        ((6000,), 40, np.s_[:, -3:]),
        ((40, 90), 6, np.s_[1:-1, 1:-1, 1:-1]),
        ((3, 5, 300), 4, np.s_[:, 1:-1, :, :3]),
    ):
        shape = (*rows, columns)
        values = np.random.default_rng(columns).integers(0, 90, shape).astype(dtype)
        inside = values[part].copy()
        values[...] = 100 if op == "argmax" else 0
        if dtype in {"f4", "f8"}:
            values[::3] = np.nan
            inside[..., 5::7, 1] = np.nan
        values[part] = inside
        lies = values[part]
        for _ in range(3):
            found = wl.reduce(lies, op, axis=-2)
            np.testing.assert_array_equal(found, getattr(np, op)(inside, axis=-2))


def test_nothing_is_looked_at_behind_some_columns():
    """What follows the last line is as much as no number, and no place of one."""
    for length in (1000, 1001, 1024):
        values = np.random.default_rng(length).integers(0, 9, (length + 1, 8)).astype("f4")
        values[-1] = np.nan
        lies = values[:-1, 5:]
        for _ in range(3):
            found = wl.reduce(lies, "argmax", axis=0)
            np.testing.assert_array_equal(found, lies.argmax(axis=0))
