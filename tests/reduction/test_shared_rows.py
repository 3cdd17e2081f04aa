"""Tiles that several threads go through: the states are, bit by bit, those that one leaves."""

from __future__ import annotations

from ctypes import memset
from functools import cache

import numpy as np
import pytest

import warpladder as wl
from choosing import large
from warpladder.device.standby import _PIECES, CLOSED, MOST_PIECES, Standby
from warpladder.reduction.cpu import shared_rows
from warpladder.reduction.memory.copies import as_stored
from warpladder.reduction.memory.layout import NO_MASK, Tile
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import make_plan
from warpladder.reduction.together import Together

BLOCK = 4096
# Of one row: less than a block, whole ones, as many stretches as there may be, longer ones.
LENGTHS = (1, BLOCK - 1, BLOCK, 3 * BLOCK, 5 * BLOCK + 7, 16 * BLOCK, 33 * BLOCK + 1)
ONE_ROW = (
    *(("sum", "f4"), ("sum", "f8"), ("mean", "i8"), ("argmax", "f4"), ("l2", "f8")),
    *(("count_nonzero", "i1"), ("nanmax", "f8"), ("prod", "i8")),
    *large(("l1", "f4"), ("sum", "f2"), ("ptp", "i4"), ("argmin", "i2"), ("mean", "?")),
)
# These have stretches' states that are not what one loop leaves.
NEVER_CUT = (("var", "f4"), ("nansum", "f8"), ("prod", "f4"), ("logsumexp", "f4"), ("any", "i1"))
ROWS = (("var", "f4"), ("nansum", "f8"), ("any", "i1"), *large(("sum", "f2"), ("argmax", "f4")))


@pytest.fixture(autouse=True)
def _somebody_is_there(monkeypatch):
    """Who does not begin leaves all pieces to the caller: what is cut is the same."""
    monkeypatch.setattr(Standby, "is_attended", lambda *_: True)


def part_of(op, dtype, *, masked=False):
    return make_plan(parse_ops(op), np.dtype(dtype), None, "fast", masked).parts[0]


@cache
def _together(part):
    return shared_rows.RowsTogether(part, 3)


def together(op, dtype, *, masked=False):
    return _together(part_of(op, dtype, masked=masked))


def numbers(dtype, size):
    drawn = np.random.default_rng(size).standard_normal(size) * 3
    if dtype == "?":
        return drawn > 0
    found = drawn.astype(dtype)
    if np.dtype(dtype).kind == "f" and size > 9:
        found[[5, -1]] = np.nan
    return found


def tile_of(op, dtype, rows, length, pitch, mask=NO_MASK):
    data = as_stored(numbers(dtype, rows * pitch))
    if not op.startswith("nan"):
        data = np.nan_to_num(data) if data.dtype.kind == "f" else data
    return Tile(data, mask, rows, length, pitch)


def states_of(op, dtype, tile, first=0):
    """Return the states after one tile alone, and after it was shared."""
    both = together(op, dtype, masked=tile.mask.size > 0)
    alone, found = both._part.complete(tile, first), None
    while found is None:
        # At first nothing is shared.
        found = both(tile, first)
    return alone, found


@pytest.mark.parametrize(("op", "dtype"), ONE_ROW)
def test_stretches_of_a_row(op, dtype):
    assert together(op, dtype).least_of_one < shared_rows._NEVER
    for length in LENGTHS:
        tile = tile_of(op, dtype, 1, length, length)
        alone, found = states_of(op, dtype, tile, first=11)
        assert found.tobytes() == alone.tobytes()
        states, kept = part_of(op, dtype).new(MOST_PIECES), object()
        # All are anything.
        states[:] = np.frombuffer(bytes([7]) * states.itemsize, states.dtype)[0]
        assert together(op, dtype).folds_one(tile.data, NO_MASK, states.ctypes.data, kept) is True
        alone = part_of(op, dtype).complete(tile, 0)
        assert states[:1].tobytes() == alone.tobytes()


@pytest.mark.parametrize(("op", "dtype"), NEVER_CUT)
def test_what_is_never_cut(op, dtype):
    assert not together(op, dtype).takes(1, 1 << 40)
    assert together(op, dtype).takes(2, 1 << 40)


@pytest.mark.parametrize(("op", "dtype"), ROWS)
@pytest.mark.parametrize(("rows", "length", "pitch"), [(2, 70, 70), (35, 9, 12), (7, 5000, 5001)])
def test_runs_of_rows(op, dtype, rows, length, pitch):
    alone, found = states_of(op, dtype, tile_of(op, dtype, rows, length, pitch))
    assert found.tobytes() == alone.tobytes()


@pytest.mark.parametrize(
    ("op", "dtype"),
    [("sum", "f4"), ("argmax", "f4"), *large(("l2", "f8"), ("nanmax", "f8"), ("prod", "i8"))],
)
@pytest.mark.parametrize(
    ("rows", "length", "pitch", "pieces"),
    [(2, 70, 70, 2), (3, 32 * BLOCK, 32 * BLOCK, 12), (8, 3 * BLOCK, 3 * BLOCK + 5, 16)],
)
def test_few_rows_are_cut_as_well(op, dtype, rows, length, pitch, pieces):
    tile = tile_of(op, dtype, rows, length, pitch)
    alone, found = states_of(op, dtype, tile, first=3)
    assert found.tobytes() == alone.tobytes()
    # Blocks of other dtypes are longer.
    board = together(op, dtype)._standby._words
    assert board[_PIECES] == pieces or part_of(op, dtype).spec.block != BLOCK


def test_no_row_but_the_tiles_own_is_folded():
    """The last of the runs that are dealt out is shorter here, and memory goes on behind it."""
    part, both = part_of("var", "f4"), together("var", "f4")
    tile = tile_of("var", "f4", 36, 9, 9)
    states_of("var", "f4", tile)
    states, team = part.new(36), both._team(0)
    assert both._folds(team, tile._replace(rows=35), 0, states, states.ctypes.data)
    assert states[:35].tobytes() == part.complete(tile, 0)[:35].tobytes()
    assert states[35:].tobytes() == part.new(1).tobytes()


def test_masks_of_one_row_and_of_several():
    for rows, length in ((1, 9 * BLOCK), (5, 3000)):
        marks = np.random.default_rng(1).random(rows * length) < 0.3
        # No element of a whole block counts.
        marks[: 2 * BLOCK] = False
        alone, found = states_of("max", "f4", tile_of("max", "f4", rows, length, length, marks))
        assert found.tobytes() == alone.tobytes()
    assert not together("sum", "f4", masked=True).takes(1, 1 << 40)


def test_calls_of_all_kinds_give_what_one_thread_gives(monkeypatch):
    values = numbers("f8", 1 << 19)
    masked = values == values  # noqa: PLR0124 - NaN is not itself
    calls = [
        lambda: wl.reduce(values, "nanmax"),
        lambda: wl.reduce(values.reshape(-1, 1 << 9), "nansum", axis=1),
        lambda: wl.reduce(values, "sum", where=masked),
        lambda: wl.reduce(values, "min", keepdims=True, where=masked),
        lambda: wl.reduce(np.abs(values), ("nanmin", "nanmax"), axis=0, dtype=None),
        lambda: wl.reduce(values.astype("f4"), "l2", dtype="f4"),
    ]
    with monkeypatch.context() as alone:
        alone.setattr(Together, "_team", lambda *_: None)
        expected = [np.asarray(call()).tobytes() for call in calls]
    for _ in range(3):
        assert [np.asarray(call()).tobytes() for call in calls] == expected


def test_what_others_did_not_finish_is_done_alone(monkeypatch):
    values = numbers("i8", 1 << 19)
    asked, kept = [], []

    def refuse(states):
        asked.append(states)
        # Somebody was at work.
        memset(states, 7, 8)
        return CLOSED

    expected = wl.reduce(values, "mean")
    assert [wl.reduce(values, "mean") for _ in range(2)] == [expected] * 2
    mean = shared_rows.together_for(part_of("mean", "i8"))
    monkeypatch.setattr(mean, "_fold", lambda *given: refuse(given[5]))
    monkeypatch.setattr(mean, "_fold_one", lambda *given: refuse(given[3]))
    monkeypatch.setattr(Standby, "keep", lambda _, what, answer: kept.append((what, answer)))
    assert [wl.reduce(values, "mean") for _ in range(2)] == [expected] * 2
    assert wl.reduce(values.reshape(2, -1), "mean", axis=1).mean() == expected
    # What somebody may be at work with still is nobody else's.
    assert len(set(asked)) == len(asked) == 3
    assert kept[0][0][0] is values
    assert [answer for _, answer in kept] == [CLOSED] * 3
