"""Where an extremum is first: in rows shorter and longer than vectors, at the end of memory too."""

from __future__ import annotations

import numpy as np
import pytest

import warpladder as wl
from choosing import large

# Vectors have 64 bytes: rows of less, of whole ones, and of some more.
LENGTHS = (1, 7, 16, 17, 63, 64, 65, 200)
DTYPES = ("f4", "i1", *large("f8", "u2", "i8", "f2"))


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
