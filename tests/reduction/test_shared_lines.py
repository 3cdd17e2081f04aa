"""Tiles that lie across, gone through by several threads: bit by bit what one thread finds."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import warpladder as wl
from choosing import large
from warpladder.device import standby
from warpladder.device.standby import CLOSED, GIVEN_WORDS, Standby
from warpladder.reduction.cpu import shared_rows
from warpladder.reduction.cpu.line_results import leaving_results
from warpladder.reduction.lines import lines as lines_module
from warpladder.reduction.lines import shared_lines
from warpladder.reduction.lines.line_kernel import FIELDS
from warpladder.reduction.lines.lines import Lines
from warpladder.reduction.memory.layout import NO_MASK, Tile
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import make_plan
from warpladder.reduction.together import Together

# Sums of one word and of two, marks and counts of what there is, a word for what leaves its range.
CASES = (
    *(("sum", "f4"), ("mean", "i8"), ("max", "f4"), ("nanmax", "f4")),
    *(("prod", "f8"), ("l2", "f8"), ("any", "i1")),
    *large(
        ("nansum", "f8"),
        ("min", "i1"),
        ("nanmin", "f8"),
        ("mean", "i1"),
        ("count_nonzero", "i4"),
        ("l2", "f4"),
    ),
)
# Panels, lines and columns: as many panels as workers, fewer, more than there are pieces.
SHAPES = ((1, 9, 200), (1, 5, 4100), (2, 3, 65), (3, 600, 1), (1, 2, 1), (37, 3, 8))


@pytest.fixture(autouse=True)
def _somebody_is_there(monkeypatch):
    """Who does not begin leaves all pieces to the caller: what is cut is the same."""
    monkeypatch.setattr(Standby, "is_attended", lambda *_: True)
    monkeypatch.setattr(shared_lines, "_LEAST_SHARED", 1)
    # So that few columns are cut.
    monkeypatch.setattr(shared_lines, "_LEAST_RUN", 1)


@cache
def lines_of(op, dtype, workers=3):
    plan = leaving_results(make_plan(parse_ops(op), np.dtype(dtype), None, "fast", False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "worker_count", lambda: workers)
        found = Lines(plan.parts[0].spec)
    return found, getattr(plan.parts[0], "how", FIELDS)


def shared(lines, tile, how):
    data, _, *lies = tile
    found = None
    while found is None:
        # At first nothing is shared.
        found = lines.together(data, *lies, how)
    return found


def numbers(op, dtype, shape):
    drawn = np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(dtype)
    if dtype == "i8":
        # So that words have a carry, and differ.
        drawn *= np.arange(shape[2]) << 40
    if op == "prod":
        # None leaves its range.
        drawn = np.where(drawn < 0, -1, 1.01).astype(dtype)
    elif np.dtype(dtype).kind == "f":
        drawn[drawn == 1] = -0.0
        drawn[drawn == 2] = np.nan
        # Rows with nothing but NaNs.
        drawn[:, :, ::7] = np.nan
    return drawn


@pytest.mark.parametrize(("op", "dtype"), CASES)
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_that_lie_across(op, dtype, shape):
    lines, makes = lines_of(op, dtype)
    panels, length, width = shape
    data = numbers(op, dtype, shape).ravel()
    tile = Tile(data, NO_MASK, panels * width, length, width, width)
    for how in {FIELDS, makes}:
        found = shared(lines, tile, how)
        alone = lines.found_alone(tile, tile.rows, how)
        assert found[0 if how == FIELDS else -1].size == tile.rows
        if lines.may_leave:
            assert found[1].any() == alone[1].any()
        for place, (ours, one) in enumerate(zip(found, alone, strict=True)):
            # Where something has left its range, the rest is not gone through.
            if not lines.may_leave or (place != 1 and not alone[1].any()):
                assert ours.tobytes() == one.tobytes()


def test_what_leaves_its_range_in_one_piece_alone():
    lines, how = lines_of("l2", "f8")
    data = np.ones((5, 400))
    tile = Tile(data.ravel(), NO_MASK, 400, 5, 400, 400)
    data[2, 5] = 1e-200
    norms = shared(lines, tile, how)[-1]
    assert norms[5] == 2.0
    np.testing.assert_array_equal(norms[6:], np.sqrt(5))
    np.testing.assert_array_equal(norms, lines.results(tile, how))
    data[:, 5] = 1e-200
    assert shared(lines, tile, how)[1].any()
    assert lines.results(tile, how) is None
    assert lines.fields(tile) is None
    np.testing.assert_allclose(wl.reduce(data, "l2", axis=0)[5], np.sqrt(5) * 1e-200)


@pytest.mark.parametrize("panels", [1, 5])
def test_columns_of_wider_matrices(panels):
    """Lines are further apart than they are long, and memory goes on behind the last."""
    lines, how = lines_of("sum", "f4")
    matrices = np.arange(panels * 6 * 300, dtype="f4").reshape(panels, 6, 300)
    tile = Tile(matrices.ravel(), NO_MASK, panels * 100, 6, 300, 100)
    found = shared(lines, tile, how)[-1]
    np.testing.assert_array_equal(found, matrices[:, :, :100].sum(axis=1).ravel())


def test_what_others_did_not_finish_is_done_alone(monkeypatch):
    values = np.arange(1200, dtype="f4").reshape(3, 400)
    expected, kept = values.sum(axis=0), []
    lines, how = lines_of("sum", "f4")
    tile = Tile(values.ravel(), NO_MASK, 400, 3, 400, 400)
    np.testing.assert_array_equal(shared(lines, tile, how)[-1], expected)
    monkeypatch.setattr(lines.together, "_fold", lambda *_: CLOSED)
    monkeypatch.setattr(Standby, "keep", lambda _, what, answer: kept.append((what, answer)))
    np.testing.assert_array_equal(lines.results(tile, how), expected)
    (((_, found), answer),) = kept
    assert answer == CLOSED
    assert [each.size for each in found] == [0, 0, 0, 400]


def test_what_others_are_at_is_kept_where_the_caller_is_interrupted(monkeypatch):
    lines, how = lines_of("sum", "f4")
    tile, kept = Tile(np.arange(1200, dtype="f4"), NO_MASK, 400, 3, 400, 400), []
    shared(lines, tile, how)

    def interrupted(*_given):
        raise KeyboardInterrupt

    monkeypatch.setattr(lines.together, "_fold", interrupted)
    monkeypatch.setattr(Standby, "keep", lambda _, what, answer: kept.append((what, answer)))
    with pytest.raises(KeyboardInterrupt):
        lines.results(tile, how)
    (((data, _), answer),) = kept
    assert data is tile.data
    assert answer == standby.LATE


def test_one_worker_shares_with_nobody():
    lines, how = lines_of("sum", "f4", workers=1)
    assert lines.together is None
    tile = Tile(np.arange(6, dtype="f4"), NO_MASK, 2, 3, 2, 2)
    assert lines.results(tile, how).tolist() == [6, 9]


def test_small_tiles_are_not_shared(monkeypatch):
    monkeypatch.undo()
    asked = []
    monkeypatch.setattr(Together, "_team", lambda _, size: asked.append(size))
    for columns in (1279, 1280):
        wl.reduce(np.ones((256, columns), np.float32), "max", axis=0)
    assert asked == [256 * 1280 * 4]


def test_what_a_task_is_given_has_room_on_the_board():
    assert max(shared_lines._COLUMNS, shared_rows._STEP) < GIVEN_WORDS
