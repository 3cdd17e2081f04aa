"""Elements that lie apart: folded as they lie, they leave the bits of a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large
from warpladder.device.standby import MOST_PIECES, Standby
from warpladder.reduction import api, one_row, shared_rows
from warpladder.reduction.layout import CACHED_BYTES, NO_MASK
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import make_plan
from warpladder.reduction.singles import before_line, take_singles

STEPS = (2, 3, 4, 5, 8, 33)
# Around a vector, a line of the caches, a stretch of each dtype and several.
SIZES = (1, 2, 15, 31, 32, 33, 67, 1021, 8191, 8192, 8193, 33_000, 65_536, 100_003)
CASES = [
    ("f4", "sum"), ("f8", "mean"), ("i1", "max"), ("i2", "argmin"),
    *large(
        ("f8", "sum"), ("f4", "l2"), ("f8", "l1"), ("f4", "argmax"), ("f8", "ptp"), ("i4", "any"),
        ("u1", "sum"), ("i8", "mean"), ("i8", "prod"), ("f4", "prod"), ("f4", "var"), ("i4", "std"),
        ("f8", "nansum"), ("f4", "nanmax"), ("u2", "all"), ("f4", "logsumexp"),
        ("u8", "count_nonzero"), ("f4", ("min", "max")),
    ),
]  # fmt: skip


def numbers(dtype: str, size: int) -> NDArray[Any]:
    rng = np.random.default_rng(size)
    if np.dtype(dtype).kind == "f":
        return (rng.standard_normal(size) * 3).astype(dtype)
    return rng.integers(0, 90, size).astype(dtype)


def lying_apart(copy: NDArray[Any], step: int, first: int) -> NDArray[Any]:
    """Return the same numbers, so many apart, from one of an array on; others are between them."""
    whole = np.full(first + len(copy) * step, 77, copy.dtype)
    view = whole[first::step][: len(copy)]
    view[...] = copy
    return view


def part_of(op: str, dtype: str) -> Any:
    return make_plan(parse_ops(op), np.dtype(dtype), None, "fast", masked=False).parts[0]


@pytest.fixture
def longer_ways(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list of the arrays that were left to longer ways."""
    noted, answer = [], api.answer_of_view

    def noting(values: NDArray[Any], *options: Any) -> Any:
        noted.append(values)
        return answer(values, *options)

    monkeypatch.setattr(api, "answer_of_view", noting)
    return noted


@pytest.mark.parametrize(("dtype", "op"), CASES)
def test_bits_are_those_of_a_copy(longer_ways: list[Any], dtype: str, op: Any) -> None:
    for n, step in ((n, step) for n in SIZES for step in STEPS):
        copy = numbers(dtype, n)
        if copy.nbytes > CACHED_BYTES:
            continue
        expected = np.asarray(wl.reduce(copy, op)).tobytes()
        # From lines of the caches on, from elements between them, and where none begins a line.
        for first in range(3):
            view = lying_apart(copy, step, first)
            for _ in range(2):
                found = wl.reduce(view, op)
                assert np.asarray(found).tobytes() == expected, (n, step, first)
    if isinstance(op, tuple):
        return
    # Of the first calls these have learnt.
    longer_ways.clear()
    wl.reduce(lying_apart(numbers(dtype, 67), 2, 1), op)
    assert not longer_ways


@pytest.mark.parametrize("dtype", ["f4", "i1"])
def test_what_lies_otherwise_goes_longer_ways(longer_ways: list[Any], dtype: str) -> None:
    copy = numbers(dtype, 1000)
    for _ in range(3):
        wl.reduce(lying_apart(copy, 2, 0), "max")
    longer_ways.clear()
    table = np.zeros(1000, [("tag", "u1"), ("value", dtype)])
    table["value"] = copy
    odd = np.frombuffer(b"\0" + copy.tobytes(), np.uint8)[1:].view(dtype)[::2]
    others = [copy[::-1], copy[::-2], np.broadcast_to(copy[:1], 1000)]
    others += [lying_apart(numbers(dtype, CACHED_BYTES + 1), 2, 1)]
    if dtype == "f4":
        others += [table["value"], odd]
    for view in others:
        for _ in range(3):
            assert wl.reduce(view, "max") == view.max()
        assert len(longer_ways) == 3
        longer_ways.clear()


def test_what_it_takes_is_compiled_at_the_second_call(longer_ways: list[Any]) -> None:
    part = part_of("l1", "u2")
    known, view = one_row.one_row(part), lying_apart(numbers("u2", 50), 2, 0)
    # As if no test had asked before.
    one_row._asked.discard(part)
    known.fixed[one_row._APART] = 0
    for took, takes in ((False, False), (False, True), (True, True)):
        longer_ways.clear()
        assert wl.reduce(view, "l1") == view.sum()
        assert (not longer_ways, known.takes_apart()) == (took, takes)


@pytest.mark.parametrize(("op", "dtype"), [("sum", "f4"), ("argmax", "i1"), *large(("l2", "f8"))])
@pytest.mark.parametrize("size", [1, 4096, 3 * 4096, 5 * 4096 + 7, 100_003])
def test_shared_with_who_stands_by(
    monkeypatch: pytest.MonkeyPatch, op: str, dtype: str, size: int
) -> None:
    # Who does not begin leaves all pieces to the caller: what is cut is the same.
    monkeypatch.setattr(Standby, "is_attended", lambda *_: True)
    part = part_of(op, dtype)
    together = shared_rows.RowsTogether(part, 3)
    view, copy = lying_apart(numbers(dtype, size), 3, 1), numbers(dtype, size)
    states = part.new(MOST_PIECES)
    # At first nothing is shared.
    assert together.folds_apart(view, NO_MASK, states.ctypes.data, states) is False
    assert together.folds_apart(view, NO_MASK, states.ctypes.data, states) is True
    alone = part.new(1)
    part.loop(copy, NO_MASK, 1, size, size, 0, alone)
    assert states[:1].tobytes() == alone.tobytes()


@pytest.mark.parametrize("step", [1, *STEPS])
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
def test_singles_are_taken_and_nothing_else(dtype: str, step: int) -> None:
    for size in (0, 1, 2, 7, 8, 9, 31, 63, 64, 65, 200):
        data = numbers(dtype, max((size - 1) * step + 1, 0))
        for first in (0, 1, 5):
            there = np.full(size + 20, 3, dtype)
            take_singles(there[first : first + size], data, step)
            assert np.array_equal(there[first : first + size], data[::step])
            assert (there[:first] == 3).all()
            assert (there[first + size :] == 3).all()


def test_how_many_lie_before_a_line() -> None:
    found = {place: before_line.py_func(place, 2, 4) for place in (0, 4, 8, 16, 24, 60, 64)}
    assert found == {0: 0, 4: 0, 8: 7, 16: 6, 24: 5, 60: 0, 64: 0}
    assert before_line.py_func(16, 3, 8) == 2
