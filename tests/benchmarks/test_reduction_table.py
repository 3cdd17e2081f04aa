"""The table of reductions, tried on few cells."""

from __future__ import annotations

import pytest


@pytest.fixture
def table(program):
    return program("reduction_table")


def test_cells_are_checked_timed_and_counted(table, monkeypatch):
    monkeypatch.setattr(table, "_SECONDS", 1e-3)
    small, large = (table.Cell("sum", "float32", (n,), None) for n in (1 << 10, 1 << 16))
    rows = [table._row(cell, table._time(cell)) for cell in (small, large)]
    for row in rows:
        assert row["best_peer"] in {"numpy", "bottleneck"}
        assert row["numpy_us"] >= row["best_peer_us"]
        assert row["ratio"] == pytest.approx(row["best_peer_us"] / row["us"], rel=0.02)
    summary = table._summary([small, large], rows)
    assert [row["case"] for row in summary] == ["2^10, flat", "from 2^16 on, flat"]
    assert [row["cells"] for row in summary] == [1, 1]
    assert [target["limit"] for target in table._targets(summary)] == [3, 1]


def test_a_wrong_answer_is_not_timed(table, monkeypatch):
    monkeypatch.setattr(table.wl, "reduce", lambda *_, **__: 0.0)
    with pytest.raises(SystemExit, match=r"sum float32 2\^10: 0.0 is not"):
        table._time(table.Cell("sum", "float32", (1 << 10,), None))


def test_every_cell_has_a_name_of_its_own(table):
    names = [cell.name for cell in table._cells()]
    assert len(names) == len(set(names)) > 600
    some = (
        "l2 int8 4096 x 4096 axis 0",
        "sum int8 100 x 100 x 100 axis 0 2",
        "any float64 2^20 masked",
    )
    assert {*some} <= {*names}
