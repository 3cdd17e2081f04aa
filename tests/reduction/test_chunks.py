"""Chunks with axes: as if they had been joined along their first axis."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpladder as wl
from choosing import by_pairs
from warpladder.errors import InputError, InputTypeError
from warpladder.reduction.memory import layout
from warpladder.simulator import SimulatedDevice

AXES = (0, 1, -1, (0, 2), (1, 2), (0, 1, 2), None, ())
# Of other tests, so that they are compiled once.
OPS = ("sum", "max", "var")


def cube(n=11):
    return (np.random.default_rng(n).permutation(n * 12).reshape(n, 3, 4) / 8).astype("f4")


def pieces(values, cuts):
    return iter(np.split(values, sorted(cuts)))


@pytest.mark.parametrize(
    ("axis", "cuts", "keepdims"), by_pairs(AXES, ((), (0, 4), (1, 2, 2, 9), (11,)), (False, True))
)
def test_axes(axis, cuts, keepdims):
    values = cube()
    found = wl.reduce(pieces(values, cuts), OPS, axis=axis, keepdims=keepdims)
    for op, one in zip(OPS, found, strict=True):
        expected = getattr(np, op)(values.astype("f8"), axis=axis, keepdims=keepdims)
        assert np.shape(one) == np.shape(expected)
        np.testing.assert_allclose(one, expected, rtol=1e-6, atol=1e-5)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 11), max_size=5), st.sampled_from([0, 1, (0, 2), (0, 1, 2)]))
def test_exact_sums_are_those_of_the_whole(cuts, axis):
    values = cube() * np.float32(1e-3)
    whole = wl.reduce(values, axis=axis, accuracy="reproducible")
    parts = wl.reduce(pieces(values, cuts), axis=axis, accuracy="reproducible")
    np.testing.assert_array_equal(parts, whole)


def test_indices_count_from_the_first_chunk():
    values = cube()
    for axis in (0, 2, None):
        found = wl.reduce(pieces(values, (2, 7)), "argmax", axis=axis, keepdims=True)
        np.testing.assert_array_equal(found, values.argmax(axis=axis, keepdims=True))
    with pytest.raises(InputError, match="argmax gives indices along one axis; name one, or None"):
        wl.reduce(pieces(values, (2,)), "argmax", axis=(0, 1))


def test_rows_in_many_runs(monkeypatch):
    """The states of a chunk's rows come run by run, and are put together."""
    monkeypatch.setattr(layout, "_ROWS_ACROSS", 8)
    monkeypatch.setattr(layout, "TILE_BYTES", 1024)
    monkeypatch.setattr(layout, "CACHED_BYTES", 1024)
    values = np.random.default_rng(3).standard_normal((37, 5, 61)).astype("f4")
    for axis in (0, (0, 1), 1, (1, 2), 2):
        found = wl.reduce(pieces(values, (8, 30)), OPS, axis=axis)
        for op, one in zip(OPS, found, strict=True):
            expected = getattr(np, op)(values.astype("f8"), axis=axis)
            np.testing.assert_allclose(one, expected, rtol=1e-5, atol=1e-4)
        exact = wl.reduce(pieces(values, (8, 30)), axis=axis, accuracy="reproducible")
        np.testing.assert_array_equal(exact, values.astype("f8").sum(axis=axis).astype("f4"))


def test_with_initial_out_and_an_own_operation():
    values = cube()
    out = np.empty((3, 4), "f4")
    found = wl.reduce(pieces(values, (5,)), "max", axis=0, initial=20, out=out)
    assert found is out
    np.testing.assert_array_equal(out, values.max(axis=0, initial=20))
    # Keeps the order along the axis: the last element that is not 0.
    last = wl.AssociativeOp(lambda a, b: b if b != 0 else a, 0.0, name="last")
    found = wl.reduce(pieces(values, (5, 6)), last, axis=0)
    np.testing.assert_array_equal(found, values[-1])


def test_on_a_gpu():
    gpu = SimulatedDevice(counters=False, checks=False, multiprocessors=1)
    values = cube()
    for axis in (0, (1, 2), (0, 2)):
        found = wl.reduce(pieces(values, (3,)), ("sum", "max"), axis=axis, device=gpu)
        np.testing.assert_allclose(found.sum, values.sum(axis=axis), rtol=1e-6)
        np.testing.assert_array_equal(found.max, values.max(axis=axis))


def test_empty_chunks():
    values = cube()
    # A list without elements is of float64 and has one axis: it does not count.
    found = wl.reduce(iter([[], values[:4], values[4:4], values[4:]]), axis=0)
    np.testing.assert_allclose(found, values.sum(axis=0), rtol=1e-6)
    assert wl.reduce(iter([values[:0], values[:0]]), axis=0).tolist() == [[0] * 4] * 3
    assert wl.reduce(iter([values[:0]]), axis=(1, 2)).shape == (0,)
    assert wl.reduce(iter([values[:0]]), axis=(1, 2), dtype="f8").dtype == np.float64
    assert wl.reduce(iter([]), axis=0) == 0
    assert wl.reduce(iter([]), keepdims=True).tolist() == [0]
    assert wl.reduce(iter([np.ones((2, 0)), np.ones((1, 0))]), axis=1).tolist() == [0, 0, 0]
    assert wl.reduce(iter([np.ones((2, 0)), np.ones((1, 0))]), axis=0).shape == (0,)
    with pytest.raises(InputError, match="max of no elements is not defined"):
        wl.reduce(iter([values[:0]]), "max", axis=0)


def test_a_column_of_a_table(tmp_path):
    path = tmp_path / "rain.csv"
    path.write_text("day,mm\n1,2\n2,0\n3,4\n")
    column = wl.open_values(path, column="mm")
    assert wl.reduce(column, axis=0) == 6
    assert wl.reduce(column, keepdims=True).tolist() == [6]
    with pytest.raises(InputError, match="axis=1 is out of range for values of 1 dimensions"):
        wl.reduce(column, axis=1)


def test_a_table_that_pandas_reads_in_pieces():
    """What reads it can read more, as an open file can."""
    pd = pytest.importorskip("pandas")
    text = io.StringIO("day,mm\n1,2\n2,0\n3,4\n")
    assert wl.reduce(pd.read_csv(text, chunksize=2), axis=0).tolist() == [6, 6]


def test_an_iterator_that_knows_its_length():
    """As that of PyTorch's DataLoader."""
    ways = {"__iter__": lambda self: self, "__next__": lambda self: next(self.left)}
    chunks = type("Batches", (), {**ways, "__len__": lambda _: 2, "left": iter([[1, 2], [3]])})()
    assert wl.reduce(chunks) == 6


@pytest.mark.parametrize(
    ("chunks", "kind", "message"),
    [
        (
            [np.ones((2, 3), "f4"), np.ones((2, 4), "f4")],
            InputError,
            r"shape \(2, 4\) does not go with .* \(2, 3\)",
        ),
        (
            [np.ones((2, 3), "f4"), np.ones(3, "f4")],
            InputError,
            r"axis: chunks are joined .* shape \(3,\) does",
        ),
        ([np.ones(())], InputError, "axis: chunks that are single numbers cannot be joined"),
        ([np.ones(2), np.ones(2, "f4")], InputTypeError, "chunk 1 is of float32, those before"),
        ([np.ma.ones(2)], InputTypeError, "chunk 0 is a masked array"),
    ],
)
def test_refusals(chunks, kind, message):
    with pytest.raises(kind, match=message):
        wl.reduce(iter(chunks), axis=0)
