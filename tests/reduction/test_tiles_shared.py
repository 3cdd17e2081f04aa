"""Tiles shared one by one by who stands by, or dealt out, never both: the same bits."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from choosing import large
from warpladder.device.standby import Standby
from warpladder.reduction.cpu import engine as cpu
from warpladder.reduction.cpu import jobs, shared_rows
from warpladder.reduction.lines import lines, shared_lines
from warpladder.reduction.memory import layout
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.passes import rows_of
from warpladder.reduction.plan import make_plan
from warpladder.reduction.together import Together

SHAPES = {0: (300, 700), 1: (40, 3000), None: (40_001,)}
TILES = 1 << 14
# By lines, which leave results or fields, in two words, in two loops; by rows; of one row.
CASES = (
    *((("sum", "f4"), 0), (("max", "i1"), 0), (("sum", "f4"), 1)),
    *((("sum", "f8"), None), (("argmin", "i4"), None)),
    *large((("ptp", "i4"), 0), (("argmax", "f8"), 1), (("nansum", "f8"), 0)),
    *large((("l2", "f8"), 0), (("mean", "i8"), 0), (("var", "f4"), 1), (("l2", "f8"), 1)),
    *large((("max", "f4"), None), (("mean", "i8"), None)),
)


@pytest.fixture(autouse=True)
def shared(monkeypatch):
    """Tiles of 16 KB, and how often others were asked to share one."""
    monkeypatch.setattr(layout, "TILE_BYTES", TILES)
    monkeypatch.setattr(layout, "_SMALL_TILE", TILES)
    for module in (cpu, jobs, lines, shared_rows):
        monkeypatch.setattr(module, "worker_count", lambda: cpu._ROWS_SHARED_FROM)
    # What is remembered may have been made for one worker.
    monkeypatch.setattr(lines, "lines_for", lines.lines_for.__wrapped__)
    together_for = cache(shared_rows.together_for.__wrapped__)
    for module in (cpu, shared_rows):
        monkeypatch.setattr(module, "together_for", together_for)
    for module in (shared_lines, shared_rows):
        monkeypatch.setattr(module, "_LEAST_SHARED", 1)
    monkeypatch.setattr(shared_lines, "_LEAST_RUN", 1)
    monkeypatch.setattr(shared_rows, "_LEAST_OF_ONE", 1)
    asked, shares = [], Together._shares

    def counted(self, *given):
        asked.append(given)
        return shares(self, *given)

    monkeypatch.setattr(Together, "_shares", counted)
    return asked


@pytest.fixture
def dealt_out(monkeypatch):
    """How often a kept thread was to take tiles; none comes."""
    asked = []
    monkeypatch.setattr(jobs, "in_background", asked.append)
    return asked


@pytest.fixture
def free(monkeypatch):
    """Whether nobody else's work is on the board: what each question is answered, then yes."""
    answers = []
    monkeypatch.setattr(Standby, "is_attended", lambda *_: True)
    monkeypatch.setattr(Standby, "is_free", lambda _: answers.pop(0) if answers else True)
    return answers


def plan_for(op, dtype):
    return make_plan.__wrapped__(parse_ops(op), np.dtype(dtype), None, "fast", False)


def rows_for(plan, values, axis):
    axes = (axis,) if axis is not None else tuple(range(values.ndim))
    return rows_of(values, axes, None, plan, on_gpu=False)


def reduced(plan, values, axis=0):
    """Return the results over an axis, and of how many tiles."""
    rows = rows_for(plan, values, axis)
    results = np.empty(rows.count, plan.dtypes[0])

    def take(span, states):
        (results[span.begin : span.end],) = plan.finish(
            states, span.end - span.begin, rows.length, 0
        )

    cpu.accumulate(plan, rows, take)
    return results, len(list(rows.row_spans())) * len(rows.column_spans())


def tiles_shared(plan, values, axis=0):
    rows = rows_for(plan, values, axis)
    rows.allow_stacks()
    return cpu._tiles_shared(plan, rows, list(rows.row_spans()), rows.column_spans())


def numbers(dtype, shape):
    return np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)


def by_numpy(op, values, axis):
    if op == "l2":
        return np.linalg.norm(values, axis=axis)
    return getattr(np, op)(values, axis=axis)


@pytest.mark.parametrize(("case", "axis"), CASES)
@pytest.mark.usefixtures("free")
def test_who_stands_by_shares_each_tile(case, axis, shared, dealt_out):
    plan, values = plan_for(*case), numbers(case[1], SHAPES[axis])
    # At first nothing is shared, so that who calls once has less compiled.
    expected, tiles = reduced(plan, values, axis)
    assert tiles >= layout.PARALLEL_FROM
    assert len(dealt_out) == min(cpu._ROWS_SHARED_FROM - 1, tiles)
    assert shared == []
    dealt_out.clear()
    # Of two loops for a tile the second has not been asked for yet.
    for _ in range(2):
        shared.clear()
        found, _ = reduced(plan, values, axis)
        assert found.tobytes() == expected.tobytes()
        assert dealt_out == []
    assert len(shared) == tiles * (1 + (case[0] == "ptp"))
    np.testing.assert_allclose(found.squeeze(), by_numpy(case[0], values, axis), rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("before", [0, 1, 3])
def test_the_rest_is_dealt_out_where_the_board_is_somebody_elses(
    axis, before, shared, dealt_out, free
):
    plan, values = plan_for("sum", "f4"), numbers("f4", SHAPES[axis])
    expected, _ = reduced(plan, values, axis)
    dealt_out.clear()
    free += [True] * before + [False]
    found, tiles = reduced(plan, values, axis)
    assert found.tobytes() == expected.tobytes()
    # Who has tiles of its own leaves who stands by alone.
    assert (len(shared), len(dealt_out)) == (before, min(cpu._ROWS_SHARED_FROM - 1, tiles - before))


def test_no_more_are_called_than_there_are_tiles_left(dealt_out, free):
    plan, values = plan_for("sum", "f4"), numbers("f4", (4, 5000))
    _, tiles = reduced(plan, values)
    dealt_out.clear()
    free += [True] * (tiles - 1) + [False]
    reduced(plan, values)
    assert len(dealt_out) == 1


@pytest.mark.parametrize(
    ("axis", "workers"), [(0, cpu._LINES_SHARED_FROM), (1, cpu._ROWS_SHARED_FROM)]
)
@pytest.mark.usefixtures("free")
def test_few_workers_are_dealt_out_tiles(axis, workers, shared, dealt_out, monkeypatch):
    plan, values = plan_for("sum", "f4"), numbers("f4", SHAPES[axis])
    for less in (1, 1, 0):
        dealt_out.clear()
        for module in (cpu, jobs):
            monkeypatch.setattr(module, "worker_count", lambda n=workers - less: n)
        reduced(plan, values, axis)
        # The first call by enough asks nobody yet.
        assert not shared
        assert len(dealt_out) == workers - less - 1
    reduced(plan, values, axis)
    assert shared


@pytest.mark.usefixtures("free")
def test_rows_of_many_states_share_no_more_than_their_tile(shared, dealt_out, monkeypatch):
    monkeypatch.setattr(cpu, "_MOST_STATES", 0)
    plan, values = plan_for("sum", "f4"), numbers("f4", SHAPES[1])
    expected, tiles = reduced(plan, values, 1)
    dealt_out.clear()
    found, _ = reduced(plan, values, 1)
    assert found.tobytes() == expected.tobytes()
    assert (len(shared), dealt_out) == (tiles, [])
    # Others are waited for as long as so many bytes take.
    assert sum(size for _, size, *_ in shared) == values.nbytes


@pytest.mark.usefixtures("free")
def test_columns_that_count_from_another(shared, dealt_out):
    plan, values = plan_for("argmin", "i4"), numbers("i4", SHAPES[None])
    found = []
    for _ in range(2):
        dealt_out.clear()
        cpu.accumulate(
            plan, rows_for(plan, values, None), lambda _, states: found.append(states), first=7
        )
    assert shared
    assert not dealt_out
    for states in found:
        assert plan.finish(states, 1, values.size + 7, 0)[0] == values.argmin() + 7


def test_few_tiles_of_lines_are_shared_by_any(shared, monkeypatch, free, dealt_out):
    """Of so few nobody is dealt out any."""
    monkeypatch.setattr(layout, "PARALLEL_FROM", 1 << 30)
    for module in (cpu, jobs):
        monkeypatch.setattr(module, "PARALLEL_FROM", 1 << 30)
    for workers in (1, 2):
        for module in (cpu, jobs):
            monkeypatch.setattr(module, "worker_count", lambda n=workers: n)
        plan, values = plan_for("sum", "f4"), numbers("f4", SHAPES[0])
        for _ in range(2):
            found, _ = reduced(plan, values)
            np.testing.assert_array_equal(found, values.sum(axis=0))
        assert bool(shared) is (workers > 1)
    assert not dealt_out


def test_what_is_not_shared(monkeypatch):
    values = numbers("f4", SHAPES[0])
    for axis in (0, 1, None):
        assert tiles_shared(plan_for("sum", "f4"), values, axis) is not None
    # Moments and indices by lines, two operations, copies, lines that are joined, short rows, what
    # is settled early, truths, nothing.
    assert tiles_shared(plan_for("var", "f4"), values) is None
    assert tiles_shared(plan_for("argmax", "f4"), values) is None
    assert tiles_shared(plan_for(("sum", "max"), "f4"), values) is None
    assert tiles_shared(plan_for("sum", "f4"), values.astype(">f4")) is None
    assert tiles_shared(plan_for("sum", "f4"), numbers("f4", (40_000, 3))) is None
    assert tiles_shared(plan_for("sum", "f4"), numbers("f4", (40_000, 3)), axis=1) is None
    assert tiles_shared(plan_for("any", "f4"), values, axis=None) is None
    assert tiles_shared(plan_for("sum", "?"), values > 0, axis=1) is None
    assert tiles_shared(plan_for("sum", "f4"), numbers("f4", (300, 0))) is None
    monkeypatch.setattr(cpu, "_SHARED_UP_TO", TILES // 2)
    for axis in (0, 1, None):
        assert tiles_shared(plan_for("sum", "f4"), values, axis) is None
