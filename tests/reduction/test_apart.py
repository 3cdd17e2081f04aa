"""Elements that lie apart: folded as they lie, they leave the bits of a copy."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import warpladder as wl
from choosing import large
from warpladder.device.standby import MOST_PIECES, Standby
from warpladder.reduction.cpu import shared_rows
from warpladder.reduction.memory.layout import CACHED_BYTES, NO_MASK
from warpladder.reduction.memory.singles import before_line, take_singles
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import make_plan
from warpladder.reduction.shortcuts import one_row
from warpladder.reduction.shortcuts.row_at import APART

STEPS = (2, 3, 4, 5, 8, 33)
# Around a vector, a line of the caches, a stretch of each dtype and several.
SIZES = (1, 2, 15, 31, 32, 33, 67, 1021, 8191, 8192, 8193, 33_000, 65_536, 100_003)
CASES = [
    ("f4", "sum"), ("f8", "mean"), ("i1", "max"), ("f8", "nansum"),
    *large(
        ("i2", "argmin"),
        ("f8", "sum"), ("f4", "l2"), ("f8", "l1"), ("f4", "argmax"), ("f8", "ptp"), ("i4", "any"),
        ("u1", "sum"), ("i8", "mean"), ("i8", "prod"), ("f4", "prod"), ("f4", "var"), ("i4", "std"),
        ("f4", "nanmax"), ("u2", "all"), ("f4", "logsumexp"),
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


@pytest.fixture(autouse=True)
def _somebody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who does not begin leaves all pieces to the caller: what is cut is the same."""
    monkeypatch.setattr(Standby, "is_attended", lambda *_: True)


@pytest.mark.parametrize(("dtype", "op"), CASES)
def test_bits_are_those_of_a_copy(longer_ways: list[Any], dtype: str, op: Any) -> None:
    # The largest first: of these nothing is known then.
    for n, step in ((n, step) for n in reversed(SIZES) for step in STEPS):
        copy = numbers(dtype, n)
        if op == "nansum":
            copy[n // 3 :: 5000] = copy[8192:12_288] = np.nan
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


@pytest.mark.parametrize("n", [1000, 70_000])
@pytest.mark.parametrize("dtype", ["f4", "i1"])
def test_what_lies_otherwise_goes_longer_ways(longer_ways: list[Any], dtype: str, n: int) -> None:
    """Many would be shared."""
    copy = numbers(dtype, n)
    for _ in range(3):
        wl.reduce(lying_apart(copy, 16, 0), "max")
    longer_ways.clear()
    others = [copy[::-1], copy[::-2], lying_apart(copy, 16, 0)[::-1], np.broadcast_to(copy[:1], n)]
    others += [lying_apart(numbers(dtype, CACHED_BYTES + 1), 2, 1)]
    if dtype == "f4":
        # Not at multiples of their size, the first one or others.
        for fields in ([("tag", "u1"), ("value", dtype)], [("value", dtype), ("tag", "u1")]):
            table = np.zeros(n, fields)
            table["value"] = copy
            others += [table["value"]]
        odd = np.frombuffer(b"\0" + numbers(dtype, 2 * n).tobytes(), np.uint8)[1:]
        others += [odd.view(dtype)[::2]]
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
    known.fixed[APART] = 0
    for took, takes in ((False, False), (False, True), (True, True)):
        longer_ways.clear()
        assert wl.reduce(view, "l1") == view.sum()
        assert (not longer_ways, known.takes_apart()) == (took, takes)
    # More than would be copied as one tile has other bits.
    view, state = lying_apart(numbers("u2", CACHED_BYTES // 2 + 1), 2, 0), part.new(1)
    assert known.fold(known.given, state.ctypes.data, view[:-1])
    assert not known.fold(known.given, state.ctypes.data, view)


@pytest.mark.parametrize(("op", "dtype"), [("sum", "f4"), ("argmax", "i1"), *large(("l2", "f8"))])
@pytest.mark.parametrize("size", [1, 4096, 3 * 4096, 5 * 4096 + 7, 100_003])
def test_shared_with_who_stands_by(op: str, dtype: str, size: int) -> None:
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


def test_few_and_what_may_not_be_cut_are_not_shared() -> None:
    view = lying_apart(numbers("f4", 1 << 15), 2, 0)
    together = shared_rows.RowsTogether(part_of("sum", "f4"), 3)
    assert together.pays_apart(view)
    assert not together.pays_apart(view[1:])
    assert not shared_rows.RowsTogether(part_of("var", "f4"), 3).pays_apart(view)


@pytest.mark.parametrize("step", [1, *STEPS])
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
def test_singles_are_taken_and_nothing_else(dtype: str, step: int) -> None:
    for size in (0, 1, 2, 7, 8, 9, 31, 63, 64, 65, 200, 1024, 1100):
        data = numbers(dtype, max((size - 1) * step + 1, 0))
        for first in (0, 1, 5):
            there = np.full(size + 20, 3, dtype)
            take_singles(there[first : first + size], data, step)
            assert np.array_equal(there[first : first + size], data[::step])
            assert (there[:first] == 3).all()
            assert (there[first + size :] == 3).all()


# Behind the last element is memory that nobody may read: a process that does is ended.
_AT_THE_END_OF_MEMORY = """
import ctypes, mmap, sys
import numpy as np
from warpladder.reduction.memory.singles import take_singles

page = mmap.PAGESIZE
whole = np.frombuffer(mmap.mmap(-1, 2 * page), np.uint8)
whole[:] = np.arange(whole.size) % 251
behind = ctypes.c_void_p(whole.ctypes.data + page)
assert ctypes.CDLL(None).mprotect(behind, page, 0) == 0
for dtype in ("u1", "u2", "u4", "u8"):
    for step in (2, 3, 4, 5):
        for size in (1, 2, 7, 8, 9, 63, 64, 65, 200, 700, 1300, 2047):
            begin = page - ((size - 1) * step + 1) * np.dtype(dtype).itemsize
            if begin >= 0:
                data, there = whole[begin:page].view(dtype), np.empty(size, dtype)
                take_singles(there, data, step)
                assert np.array_equal(there, data[::step]), (dtype, step, size)
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="where it is known how to guard memory")
def test_nothing_is_read_behind_the_last() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _AT_THE_END_OF_MEMORY], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_how_many_lie_before_a_line() -> None:
    found = {place: before_line.py_func(place, 2, 4) for place in (0, 4, 8, 16, 24, 60, 64)}
    assert found == {0: 0, 4: 0, 8: 7, 16: 6, 24: 5, 60: 0, 64: 0}
    assert before_line.py_func(16, 3, 8) == 2
