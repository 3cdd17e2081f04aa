"""Tiles that lie across, gone through by several threads: bit by bit what one thread finds."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import warpladder as wl
from choosing import large
from warpladder.device.standby import CLOSED, Standby
from warpladder.reduction import lines, shared_lines
from warpladder.reduction.line_kernel import may_leave_range
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.plan import make_plan
from warpladder.reduction.together import Together

# Sums of one word and of two, marks and counts of what there is, a word for what leaves its range.
CASES = (
    *(("sum", "f4"), ("mean", "i8"), ("max", "f4"), ("nanmax", "f4"), ("nansum", "f8")),
    *(("prod", "f8"), ("l2", "f8"), ("any", "i1")),
    *large(("min", "i1"), ("nanmin", "f8"), ("mean", "i1"), ("count_nonzero", "i4"), ("l2", "f4")),
)
# Panels, lines and columns: as many panels as workers, fewer, more than there are pieces.
SHAPES = ((1, 9, 200), (1, 5, 4100), (2, 3, 65), (3, 600, 1), (1, 2, 1), (37, 3, 8))


@pytest.fixture(autouse=True)
def _somebody_is_there(monkeypatch):
    """Who does not begin leaves all pieces to the caller: what is cut is the same."""
    monkeypatch.setattr(Standby, "is_attended", lambda *_: True)
    monkeypatch.setattr(shared_lines, "LEAST_SHARED", 1)
    # So that few columns are cut.
    monkeypatch.setattr(shared_lines, "_LEAST_RUN", 1)


_made = lines._together.__wrapped__


@cache
def together(spec):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "worker_count", lambda: 3)
        return _made(spec)


def numbers(dtype, shape):
    drawn = np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(dtype)
    if dtype == "i8":
        # So that words have a carry, and differ.
        drawn *= np.arange(shape[2]) << 40
    if np.dtype(dtype).kind == "f":
        drawn[drawn == 1] = -0.0
        drawn[drawn == 2] = np.nan
        # Rows with nothing but NaNs.
        drawn[:, :, ::7] = np.nan
    return drawn


@pytest.mark.parametrize(("op", "dtype"), CASES)
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_that_lie_across(op, dtype, shape, monkeypatch):
    spec = make_plan(parse_ops(op), np.dtype(dtype), None, "fast", False).parts[0].spec
    panels, length, width = shape
    data = numbers(dtype, shape).ravel()
    tile = data, panels * width, length, width, width
    monkeypatch.setattr(lines, "_together", lambda _: None)
    expected = lines._folded(spec, *tile, panels * width)
    found = None
    while found is None:
        # At first nothing is shared.
        found = together(spec)(*tile)
    for place, (ours, one) in enumerate(zip(found, expected, strict=True)):
        if place == 1 and may_leave_range(spec):
            assert ours.any() == one.any()
        else:
            assert ours.tobytes() == one.tobytes()


def test_what_leaves_its_range_in_one_piece_alone(monkeypatch):
    monkeypatch.setattr(lines, "_together", together)
    data = np.ones((5, 400))
    data[2, 5] = 1e-200
    for _ in range(2):
        norms = wl.reduce(data, "l2", axis=0)
        assert norms[5] == 2.0
        np.testing.assert_array_equal(norms[6:], np.sqrt(5))
    data[:, 5] = 1e-200
    np.testing.assert_allclose(wl.reduce(data, "l2", axis=0)[5], np.sqrt(5) * 1e-200)


@pytest.mark.parametrize("panels", [1, 5])
def test_columns_of_wider_matrices(panels):
    """Lines are further apart than they are long, and memory goes on behind the last."""
    spec = make_plan(parse_ops("sum"), np.dtype("f4"), None, "fast", False).parts[0].spec
    matrices = np.arange(panels * 6 * 300, dtype="f4").reshape(panels, 6, 300)
    lies = matrices.ravel(), panels * 100, 6, 300, 100
    found = None
    while found is None:
        found = together(spec)(*lies)
    np.testing.assert_array_equal(found[0], matrices[:, :, :100].sum(axis=1).ravel())


def test_what_others_did_not_finish_is_done_alone(monkeypatch):
    values = np.arange(1200, dtype="f4").reshape(3, 400)
    expected, kept = values.sum(axis=0), []
    spec = make_plan(parse_ops("sum"), np.dtype("f4"), None, "fast", False).parts[0].spec
    monkeypatch.setattr(lines, "_together", together)
    for _ in range(2):
        np.testing.assert_array_equal(wl.reduce(values, axis=0), expected)
    monkeypatch.setattr(together(spec), "_fold", lambda *_: CLOSED)
    monkeypatch.setattr(Standby, "keep", lambda _, what, answer: kept.append((what, answer)))
    np.testing.assert_array_equal(wl.reduce(values, axis=0), expected)
    (((_, found), answer),) = kept
    assert answer == CLOSED
    assert [each.size for each in found] == [400, 0, 0]


def test_small_tiles_are_not_shared(monkeypatch):
    monkeypatch.undo()
    asked = []
    monkeypatch.setattr(Together, "_team", lambda _, size: asked.append(size))
    for columns in (1000, 4096):
        wl.reduce(np.ones((256, columns), np.int16), "max", axis=0)
    assert asked == [2 << 20]
