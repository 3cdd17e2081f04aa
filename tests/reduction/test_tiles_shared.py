"""Tiles that lie across, shared one by one by who stands by, or dealt out: never both."""

from __future__ import annotations

import numpy as np
import pytest

from choosing import large
from warpladder.device.standby import Standby
from warpladder.reduction import cpu, layout, lines, shared_lines
from warpladder.reduction.ops import parse_ops
from warpladder.reduction.passes import rows_of
from warpladder.reduction.plan import make_plan

SHAPES = ((300, 700), (6, 9000))
TILES = 1 << 14


@pytest.fixture(autouse=True)
def shared(monkeypatch):
    """Tiles of 16 KB, and how often others were asked to share one."""
    monkeypatch.setattr(layout, "TILE_BYTES", TILES)
    monkeypatch.setattr(cpu, "worker_count", lambda: cpu._SHARED_FROM)
    monkeypatch.setattr(lines, "worker_count", lambda: cpu._SHARED_FROM)
    # What is remembered may have been made for one worker.
    monkeypatch.setattr(lines, "lines_for", lines.lines_for.__wrapped__)
    monkeypatch.setattr(shared_lines, "_LEAST_SHARED", 1)
    monkeypatch.setattr(shared_lines, "_LEAST_RUN", 1)
    asked, call = [], shared_lines.LinesTogether.__call__

    def counted(self, *given):
        asked.append(given)
        return call(self, *given)

    monkeypatch.setattr(shared_lines.LinesTogether, "__call__", counted)
    return asked


@pytest.fixture
def dealt_out(monkeypatch):
    """How often a kept thread was to take tiles; none comes."""
    asked = []
    monkeypatch.setattr(cpu, "in_background", asked.append)
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


def rows_for(plan, values, axis=0):
    return rows_of(values, (axis,), None, plan, on_gpu=False)


def reduced(plan, values):
    """Return the results over the first axis, and of how many tiles."""
    results = np.empty(values.shape[1], plan.dtypes[0])

    def take(span, states):
        (results[span.begin : span.end],) = plan.finish(
            states, span.end - span.begin, len(values), 0
        )

    rows = rows_for(plan, values)
    cpu.accumulate(plan, rows, take)
    return results, len(list(rows.row_spans())) * len(rows.column_spans())


def tiles_shared(plan, values, axis=0):
    rows = rows_for(plan, values, axis)
    rows.allow_stacks()
    return cpu._tiles_shared(plan, rows, list(rows.row_spans()), rows.column_spans())


def numbers(dtype, shape):
    return np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("op", "dtype"), [("sum", "f4"), ("max", "i1"), *large(("l2", "f8"), ("mean", "i8"))]
)
@pytest.mark.usefixtures("free")
def test_who_stands_by_shares_each_tile(op, dtype, shape, shared, dealt_out):
    plan, values = plan_for(op, dtype), numbers(dtype, shape)
    # At first nothing is shared, so that who calls once has less compiled.
    expected, tiles = reduced(plan, values)
    assert tiles >= layout.PARALLEL_FROM
    assert len(dealt_out) == min(cpu._SHARED_FROM - 1, tiles)
    assert shared == []
    dealt_out.clear()
    found, _ = reduced(plan, values)
    assert found.tobytes() == expected.tobytes()
    np.testing.assert_allclose(
        found, {"l2": np.linalg.norm}.get(op, getattr(np, op, None))(values, axis=0), rtol=1e-5
    )
    assert (len(shared), dealt_out) == (tiles, [])


@pytest.mark.usefixtures("free")
def test_both_extrema(shared, dealt_out):
    plan, values = plan_for("ptp", "i4"), numbers("i4", SHAPES[0])
    for _ in range(2):
        shared.clear()
        dealt_out.clear()
        found, tiles = reduced(plan, values)
        np.testing.assert_array_equal(found, np.ptp(values, axis=0))
    assert (len(shared), dealt_out) == (2 * tiles, [])


@pytest.mark.parametrize("before", [0, 1, 3])
def test_the_rest_is_dealt_out_where_the_board_is_somebody_elses(before, shared, dealt_out, free):
    plan, values = plan_for("sum", "f4"), numbers("f4", SHAPES[0])
    expected, _ = reduced(plan, values)
    dealt_out.clear()
    free += [True] * before + [False]
    found, tiles = reduced(plan, values)
    assert found.tobytes() == expected.tobytes()
    # Who has tiles of its own leaves who stands by alone.
    assert (len(shared), len(dealt_out)) == (before, min(cpu._SHARED_FROM - 1, tiles - before))


@pytest.mark.usefixtures("free")
def test_few_workers_are_dealt_out_tiles(shared, dealt_out, monkeypatch):
    monkeypatch.setattr(cpu, "worker_count", lambda: cpu._SHARED_FROM - 1)
    for _ in range(2):
        reduced(plan_for("sum", "f4"), numbers("f4", SHAPES[0]))
    assert (shared, len(dealt_out)) == ([], 2 * (cpu._SHARED_FROM - 2))


def test_what_is_not_shared(monkeypatch):
    values = numbers("f4", SHAPES[0])
    assert tiles_shared(plan_for("sum", "f4"), values) is not None
    # Rows as they lie, moments, indices, two operations, copies, lines that are joined, nothing.
    assert tiles_shared(plan_for("sum", "f4"), values, axis=1) is None
    assert tiles_shared(plan_for("var", "f4"), values) is None
    assert tiles_shared(plan_for("argmax", "f4"), values) is None
    assert tiles_shared(plan_for(("sum", "max"), "f4"), values) is None
    assert tiles_shared(plan_for("sum", "f4"), values.astype(">f4")) is None
    assert tiles_shared(plan_for("sum", "f4"), numbers("f4", (40_000, 3))) is None
    assert tiles_shared(plan_for("sum", "f4"), numbers("f4", (300, 0))) is None
    monkeypatch.setattr(cpu, "_SHARED_UP_TO", TILES // 2)
    assert tiles_shared(plan_for("sum", "f4"), values) is None
