"""The table of reductions, tried on few cells."""

from __future__ import annotations

import json
import math
import sys

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
    monkeypatch.setattr(sys.modules["reduction_cells"].wl, "reduce", lambda *_, **__: 0.0)
    with pytest.raises(SystemExit, match=r"sum float32 2\^10: 0.0 is not"):
        table._time(table.Cell("sum", "float32", (1 << 10,), None))


def test_every_cell_has_a_name_of_its_own(table):
    names = [cell.name for cell in table.cells()]
    assert len(names) == len(set(names)) > 600
    some = (
        "l2 int8 4096 x 4096 axis 0",
        "sum int8 100 x 100 x 100 axis 0 2",
        "any float64 2^20 masked",
        "max float32 1024 x 1024 axis 0 masked from 1",
        "min and max int32 256 x 256 axis 1 out",
        "sum int64 2^16 a list",
    )
    assert {*some} <= {*names}


# By default cells that are drawn, below; tests/reduction has the options.
@pytest.mark.large
def test_one_cell_of_each_option_is_right(table, monkeypatch):
    monkeypatch.setattr(table, "_SECONDS", 1e-4)
    monkeypatch.setattr(table, "_TURN_SECONDS", 1e-5)
    some = {(cell.option, cell.operation): cell for cell in table.cells() if cell.is_small}
    for cell in (*some.values(), table.Cell("mean and std", "float32", (32, 32), None)):
        assert {*table._time(cell)} > {"ours"}


def test_parts_are_joined(table, monkeypatch, tmp_path):
    cells = [table.Cell("sum", "float32", (n,), None) for n in (1 << 10, 1 << 16, 1 << 20)]
    monkeypatch.setattr(table, "cells", lambda: iter(cells))
    times = {cell: {"ours": (n + 1) * 1e-6, "numpy": 2e-6} for n, cell in enumerate(cells)}
    monkeypatch.setattr(table, "_time", times.__getitem__)
    monkeypatch.setattr(sys.modules["report"], "_RESULTS", tmp_path)

    def run(*options):
        monkeypatch.setattr(sys, "argv", ["reduction_table.py", *map(str, options)])
        table.main()

    for part in ("1/2", "2/2"):
        run("--part", part)
    parts = sorted(tmp_path.iterdir())
    assert [len(json.loads(part.read_text())["least"]) for part in parts] == [2, 1]
    with pytest.raises(SystemExit, match=r"no part has sum float32 2\^16, nor 0 others"):
        run("--join", parts[0])
    run("--join", *parts)
    (joined,) = (path for path in tmp_path.iterdir() if path not in parts)
    found = json.loads(joined.read_text())
    assert [row["ratio"] for row in found["cells"]] == [0.667, 1, 2]
    assert found["machine"] == json.loads(parts[0].read_text())["machine"]
    other = json.loads(parts[1].read_text())
    other["machine"]["cpu"] = "another"
    parts[1].write_text(json.dumps(other))
    with pytest.raises(SystemExit, match="that differ"):
        run("--join", *parts)


def test_cells_that_nobody_chose(table, monkeypatch, tmp_path):
    monkeypatch.setattr(table, "_SECONDS", 1e-4)
    monkeypatch.setattr(table, "_TURN_SECONDS", 1e-5)
    monkeypatch.setattr(sys.modules["report"], "_RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["reduction_table.py", "--drawn", "2"])
    table.main()
    (written,) = tmp_path.iterdir()
    found = json.loads(written.read_text())
    assert len(found["cells"]) == 2
    assert found["below_1"] == sum(row["ratio"] < 1 for row in found["cells"])
    drawn = list(table.drawn(300, 1))
    assert drawn == list(table.drawn(300, 1))
    sizes = [math.prod(cell.shape) for cell in drawn]
    assert 1000 < min(sizes) < max(sizes) < 1 << 23
    assert len({cell.layout for cell in drawn}) == 4
