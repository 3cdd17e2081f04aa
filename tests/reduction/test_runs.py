"""Rows that lie in runs: what goes through them as they lie leaves the bits of a copy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import warpladder as wl
from choosing import large
from warpladder.reduction.cpu import engine as cpu
from warpladder.reduction.cpu import runs
from warpladder.reduction.memory import layout
from warpladder.reduction.shortcuts import few, one_row, views


def forget() -> None:
    few.known_ways.clear()
    for remembered in (few.answer, few.answer_to, views._way_to):
        remembered.cache_clear()


def copied(values: NDArray[Any], op: Any, **options: Any) -> Any:
    """Return the answer that is found in copies of the rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "takes_runs", lambda *_: False)
        forget()
        found = wl.reduce(values, op, **options)
    forget()
    return found


def same(one: Any, other: Any) -> bool:
    return np.asarray(one).tobytes() == np.asarray(other).tobytes()


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return a list of how many rows, and elements of each, are gone through as they lie."""
    noted, call = [], runs._Way.__call__

    def noting(way: Any, data: Any) -> Any:
        noted.append((way._rows, way._size // way._rows // data.itemsize))
        return call(way, data)

    monkeypatch.setattr(runs._Way, "__call__", noting)
    # In steps runs are not taken.
    monkeypatch.setattr(few, "way_in_steps", lambda *_: None)
    # Nor in groups of rows, of which each may have a few thousand elements that lie alone.
    monkeypatch.setattr(views, "way_in_groups", lambda *_, **__: None)
    # Of a view few elements are copied in less time.
    monkeypatch.setattr(views, "MOST_COPIED", 0)
    monkeypatch.setattr(views, "FEW", 0)
    return noted


def numbers(dtype: str, shape: tuple[int, ...], seed: int = 0) -> NDArray[Any]:
    rng = np.random.default_rng(seed)
    if dtype == "?":
        return rng.random(shape) < 1e-5
    if np.dtype(dtype).kind == "f":
        return (rng.standard_normal(shape) * 3).astype(dtype)
    return rng.integers(-90, 90, shape).astype(dtype)


CASES = [
    ("f4", "sum"), ("f8", "mean"), ("i4", "max"),
    *large(
        ("f2", "sum"), ("f2", "max"), ("f4", "l2"), ("f4", "l1"), ("f4", "argmax"), ("f8", "ptp"),
        ("f8", "l2"), ("i1", "sum"), ("i1", "min"), ("i2", "prod"), ("i8", "mean"),
        ("f4", "nanmax"), ("u1", "argmin"), ("f8", "count_nonzero"), ("u4", "l2"), ("i8", "l1"),
        ("u8", "sum"),
        ("f4", "any"), ("i4", "all"), ("?", "any"), ("?", "max"),
    ),
]  # fmt: skip
#: Axes that stay between others that go: long runs and short ones, whole stretches and odd ones.
SHAPES = [
    ((3, 2, 8192), (0, 2)),
    ((5, 3, 8191), (0, 2)),
    ((5, 3, 4097), (0, 2)),
    ((7, 4, 1031), (0, 2)),
    ((40, 5, 33, 29), (0, 2, 3)),
    ((6, 3, 5, 7, 301), (0, 3, 4)),
    ((2, 2, 100_003), (0, 2)),
    ((3000, 5, 17), (0, 2)),
    ((10, 40, 1601), (0, 2)),
]


@pytest.mark.parametrize(("dtype", "op"), CASES)
@pytest.mark.parametrize(("shape", "axes"), SHAPES)
def test_bits_are_those_of_copies(
    taken: list[tuple[int, int]], dtype: str, op: str, shape: tuple[int, ...], axes: tuple[int, ...]
) -> None:
    values = numbers(dtype, shape)
    if op.startswith("arg"):
        # Of one row: places along several axes that are not all have no order.
        values, axes = values[:, 0], tuple(range(len(shape) - 1))
    expected = copied(values, op, axis=axes)
    assert not taken
    forget()
    found = wl.reduce(values, op, axis=axes)
    # The second time how it lies is known, where it is an array without gaps.
    again = wl.reduce(values, op, axis=axes)
    length = math.prod(values.shape[axis] for axis in axes)
    assert taken == [(values.size // length, length)] * 2
    assert same(found, expected)
    assert same(again, expected)
    assert np.shape(found) == np.shape(expected)


@pytest.mark.parametrize(("dtype", "op"), CASES)
def test_elements_that_lie_alone(taken: list[tuple[int, int]], dtype: str, op: str) -> None:
    """Rows of every second element, or of others; by two threads from some size on."""
    for shape, part, axis in (
        ((200_000,), np.s_[1::2], 0),
        ((1_000_003,), np.s_[::3], 0),
        ((2_000_000,), np.s_[::8], 0),
        ((600, 3, 2), np.s_[..., 1], (0, 1)),
        ((3, 70_001), np.s_[:, ::2], 1),
        ((5, 20_000, 4), np.s_[..., 2], 1),
        ((300, 520, 2), np.s_[:, :, 0], -1),
        ((7, 1100, 33), np.s_[2:, ::2, 1], 1),
    ):
        values = numbers(dtype, shape)[part]
        expected = copied(values, op, axis=axis)
        assert not taken
        for _ in range(2):
            assert same(wl.reduce(values, op, axis=axis), expected), (shape, part)
        assert len(taken) == 2
        taken.clear()


BOXES = (
    *(((6, 40, 70), np.s_[1:-1, 1:-1, 1:-1]), ((9, 33, 130), np.s_[::2, ::2, ::2])),
    *large(
        # All is cut into many tiles, of which some end within a group and a run.
        ((70, 90, 150), np.s_[1:-1, 1:-1, 1:-1]),
        ((3, 5, 30, 40, 25), np.s_[1:, 1:-1, 1:-1, 1:-1, 1:-1]),
        ((100, 90, 140), np.s_[::2, 1::2, ::2]),
        ((40, 80, 300), np.s_[::3, ::5, 1::4]),
        # Runs, and groups, that are cut: what is left of each makes a tile of its own.
        ((6, 600_002), np.s_[::2, ::2]),
        ((2, 3, 300_001), np.s_[:, 1:, 1:]),
    ),
)


@pytest.mark.parametrize(("dtype", "op"), CASES)
@pytest.mark.parametrize(("shape", "part"), BOXES)
def test_boxes_have_the_bits_of_copies(
    taken: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
    dtype: str,
    op: str,
    shape: tuple[int, ...],
    part: tuple[slice, ...],
) -> None:
    """Runs lie in groups, and these in groups; each row has all, or one along the second axis."""
    monkeypatch.setattr(one_row.OneRow, "folder_of_box", lambda *_: None)
    monkeypatch.setattr(views, "_in_steps", lambda *_: None)
    values = numbers(dtype, shape)[part]
    others = tuple(axis for axis in range(values.ndim) if axis != 1)
    for axes in (None, others) if values.ndim > 3 and not op.startswith("arg") else (None,):
        expected = copied(values, op, axis=axes)
        assert not taken
        for _ in range(3):
            assert same(wl.reduce(values, op, axis=axes), expected)
        assert len(taken) == 3
        taken.clear()


@pytest.mark.parametrize(
    ("dtype", "op"),
    [
        ("f4", "sum"),
        *large(("f8", "mean"), ("i4", "max"), ("f4", "l2"), ("i1", "sum"), ("?", "any")),
    ],
)
@pytest.mark.parametrize(
    ("shape", "axes"), [((6, 20, 7, 31), (1, 3)), *large(((3, 4, 70, 5, 90), (2, 4)))]
)
def test_rows_in_groups_have_the_bits_of_copies(
    taken: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
    dtype: str,
    op: str,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
) -> None:
    monkeypatch.setattr(views, "_in_steps", lambda *_: None)
    whole = numbers(dtype, (*shape[:-1], shape[-1] + 2))
    for values in (whole, whole[..., 1:-1], whole[::2, 1:-1]):
        expected = copied(values, op, axis=axes)
        assert not taken
        for _ in range(3):
            assert same(wl.reduce(values, op, axis=axes), expected)
        assert len(taken) == 3
        taken.clear()


@pytest.mark.large
def test_brief_rows_of_a_box_go_run_by_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rows are neither short nor long; else they go first, and what they leave then."""
    steps: list[int] = []
    by_groups = views.way_by_groups
    monkeypatch.setattr(
        views, "way_by_groups", lambda *given: steps.append(given[3][-1]) or by_groups(*given)
    )
    for side in (30, 32, 127, 128):
        values = numbers("f8", (66, 66, side + 2))[1:-1, 1:-1, 1:-1]
        forget()
        for _ in range(3):
            assert wl.reduce(values, "max") == values.max()
    assert steps == [30, 128]


def test_cuts_are_finer_where_that_leaves_the_same_pairs() -> None:
    assert runs._cut_finer([65_536], 8192, 1) == [*range(8192, 65_537, 8192)]
    assert runs._cut_finer([70_001], 8192, 1) == [*range(8192, 70_000, 8192), 70_001]
    assert runs._cut_finer([70_001], 8192, 4) == [32_768, 65_536, 70_001]
    for rows in (9, 16, 17, 64):
        assert runs._cut_finer([70_001], 8192, rows) == [70_001]
    assert runs._cut_finer([262_144, 300_000], 8192, 1) == [
        *range(32_768, 300_000, 32_768),
        300_000,
    ]
    assert runs._are_even([100, 200, 250])
    assert not runs._are_even([100, 150, 250])
    assert runs._are_even([100])
    for ends in ([24_576, 40_000], [20_000, 40_000]):
        assert runs._cut_finer(ends, 8192, 1) == ends
    assert runs._cut_finer([1000, 1500], 8192, 1) == [1000, 1500]
    assert runs._cut_finer([100], 8192, 1) == [100]


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("dealt", [False, True])
def test_by_several_threads(monkeypatch: pytest.MonkeyPatch, workers: int, dealt: bool) -> None:
    values = numbers("f4", (40, 3, 9000))
    expected = copied(values, "sum", axis=(0, 2))
    if dealt:
        monkeypatch.setattr(runs, "TILE_BYTES", 1 << 20)
        monkeypatch.setattr(runs, "_DEALT_OUT", 1 << 19)
    monkeypatch.setattr(runs, "worker_count", lambda: workers)
    runs.together_in_runs.cache_clear()
    forget()
    for _ in range(30):
        assert same(wl.reduce(values, "sum", axis=(0, 2)), expected)
    runs.together_in_runs.cache_clear()


@settings(max_examples=100)
@given(
    shape=st.tuples(
        st.sampled_from([7, 4, 3, 1]), st.sampled_from([5, 3, 2, 1]),
        st.one_of(st.sampled_from([3001, 4096, 4097, 8000]), st.integers(1, 9000)),
    ),
    begin=st.integers(0, 40), step=st.sampled_from([1, 1, 2, -1]), cached=st.integers(12, 18),
    axes=st.sampled_from([(0, 2), (0, 2), (0, 1), (1, 2), None]), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_part_of_an_array(
    shape: tuple[int, ...], begin: int, step: int, cached: int, axes: Any, seed: int
) -> None:
    """Rows of an array's part, cut into tiles of any size; backwards and with steps, too."""
    whole = numbers("f8", (shape[0], shape[1] + 1, shape[2] + 50), seed)
    part = whole[:, : shape[1], begin : begin + shape[2]][::step]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "CACHED_BYTES", 1 << cached)
        expected = copied(part, "sum", axis=axes)
        assert same(wl.reduce(part, "sum", axis=axes), expected)
    forget()


@pytest.mark.parametrize(
    ("values", "options"),
    [
        (numbers("f4", (20, 3, 60))[..., ::2], {}),
        (numbers("f4", (20, 3, 500)), {"where": np.ones((20, 3, 500), bool)}),
        (numbers("f4", (20, 3, 500)).astype(">f4"), {}),
        (numbers("f4", (20, 3, 3)), {}),
        (numbers("f4", (4, 3, 7)), {}),
    ],
    ids=["with gaps in short groups", "with a mask", "in another order", "in short runs", "few"],
)
def test_what_is_copied(
    taken: list[tuple[int, int]], values: NDArray[Any], options: dict[str, Any]
) -> None:
    forget()
    found = wl.reduce(values, "sum", axis=(0, 2), **options)
    assert np.allclose(found, values.sum(axis=(0, 2), dtype="f8"), rtol=1e-5, atol=1e-3)
    assert not taken


def test_axes_are_looked_at_before_an_answer_is_remembered() -> None:
    values = numbers("f4", (20, 3, 500))
    forget()
    expected = wl.reduce(values, "sum", axis=(0, 2))
    for axes in ((2, 0), (-1, 0), (-3, -1)):
        assert same(wl.reduce(values, "sum", axis=axes), expected)
    assert wl.reduce(values, "sum", axis=(0, 2), keepdims=True).shape == (1, 3, 1)
    for bad in ((0, 0), (0, 3), (0, -3), (0, 1.0), ("0", 2)):
        for _ in range(2):
            with pytest.raises((wl.InputError, wl.InputTypeError), match="axis"):
                wl.reduce(values, "sum", axis=bad)


@pytest.mark.parametrize("op", ["sum", *large("var", "argmax", "l2", "nanmax")])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(30, 40, 25), *large(((20, 1500, 9),), ((10, 11, 300),))])
def test_small_panels_are_copied_together(
    monkeypatch: pytest.MonkeyPatch, op: str, axis: int, shape: tuple[int, ...]
) -> None:
    whole = numbers("f4", (shape[0] + 3, shape[1] + 5, shape[2] + 7))
    part = whole[1:-2, 2:-3, 3:-4]
    found = wl.reduce(part, op, axis=axis)
    noted = []

    def each_by_itself(rows: layout.ArrayRows) -> bool:
        noted.append(rows.count)
        return False

    monkeypatch.setattr(layout.ArrayRows, "is_scattered", each_by_itself)
    forget()
    assert same(wl.reduce(part, op, axis=axis), found)
    assert noted
    expected = np.linalg.norm(part, axis=axis) if op == "l2" else getattr(np, op)(part, axis=axis)
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-3)


def test_panels_that_are_large_or_alone_or_follow_one_another_are_not_scattered() -> None:
    whole = numbers("f4", (33, 45, 32))
    for values, axis, is_scattered in (
        (whole[1:31, 2:42, 3:28], 0, True),
        (whole[1:31, 2:42, 3:28], 1, True),
        (whole[:, :40, :25], 2, False),
        (whole[:2, :40, :25], 1, True),
        (whole[:1, :40, :25], 1, False),
        (whole[:, :, :25], 1, False),
        (whole, 0, False),
        (numbers("f4", (33, 2000, 70))[:, :, :65], 0, True),
        (numbers("f4", (20, 2000, 70))[:, 1:, :65], 1, False),
    ):
        rows = layout.ArrayRows(values, [axis], None, values.dtype, ordered=False, across=True)
        assert rows.is_scattered() is is_scattered, (values.shape, axis)


def test_places_in_later_chunks() -> None:
    """Rows of a chunk begin where those of the last one ended."""
    alone = np.arange(200_000, dtype="f4")[::2]
    assert wl.reduce((alone[k : k + 20_000] for k in range(0, 100_000, 20_000)), "argmax") == 99_999
    rows = np.arange(120_000, dtype="i4").reshape(3, 40_000)[:, ::2]
    chunks = (rows[:, k : k + 5000].T for k in range(0, 20_000, 5000))
    assert wl.reduce(chunks, "argmax", axis=0).tolist() == [19_999] * 3


@pytest.mark.parametrize("op", ["max", "nanmin", ("min", "max"), ("nanmax", "ptp")])
def test_a_state_is_gone_on_with(taken: list[tuple[int, int]], op: Any) -> None:
    """Run by run, with NaN in none, some, a whole one or all of a row; rows alone and abreast."""
    for rows in (5, 37):
        check_with_nan(taken, op, numbers("f4", (9, rows, 700)))


def check_with_nan(taken: list[tuple[int, int]], op: Any, values: NDArray[Any]) -> None:
    values[3, 1, 699], values[8, 2, 0] = np.nan, np.nan
    values[2, 3] = np.nan
    values[:, 4] = np.nan
    values[0, :4, 5], values[1, :4, 5] = np.inf, -np.inf
    expected = copied(values, op, axis=(0, 2))
    assert not taken
    assert same(wl.reduce(values, op, axis=(0, 2)), expected)
    by_numpy = {"max": np.maximum, "nanmin": np.fmin}.get(op if isinstance(op, str) else "")
    if by_numpy is not None:
        assert same(wl.reduce(values, op, axis=(0, 2)), by_numpy.reduce(values, axis=(0, 2)))
        assert len(taken) == 2
    taken.clear()


@pytest.mark.parametrize(("dtype", "op"), [("i4", "sum"), ("f4", "max"), ("i2", "min")])
def test_rows_abreast(dtype: str, op: str) -> None:
    """By one thread and by two, over gaps between runs, rows and both."""
    whole = numbers(dtype, (7, 50, 2100))
    for part in (np.s_[:], np.s_[:, ::2], np.s_[:, :, 3:2000], np.s_[::3, 1:, :1999]):
        values = whole[part]
        expected = copied(values, op, axis=(0, 2))
        for _ in range(200):
            assert same(wl.reduce(values, op, axis=(0, 2)), expected), part


def test_runs_that_decide() -> None:
    """An extremum that none exceeds ends its run, and no more than that."""
    values = np.zeros((20, 3, 1100), np.int8)
    values[4, 0, 3], values[19, 1, 1099] = 127, -128
    for _ in range(2):
        assert wl.reduce(values, "max", axis=(0, 2)).tolist() == [127, 0, 0]
        assert wl.reduce(values, "min", axis=(0, 2)).tolist() == [0, -128, 0]
        assert wl.reduce(values, "any", axis=(0, 2)).tolist() == [True, True, False]
        assert wl.reduce(values, "count_nonzero", axis=(0, 2)).tolist() == [1, 1, 0]
