"""The answer and its views, against plain Python over the same sets."""

from __future__ import annotations

import csv
import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from brute import GOLDEN, GROUPS, BruteEngine, join_of, like, random_sets

import warpladder as wl
from warpladder.errors import InputError, MissingExtraError
from warpladder.overlap_join import result
from warpladder.overlap_join.forms import Join
from warpladder.overlap_join.gathered import both_ways, gathered
from warpladder.overlap_join.measures import MEASURES
from warpladder.overlap_join.result import OverlapCounts, Overlaps, Side

IDS = {"positions": None, "numbers": np.array([70, -3, 2**62]), "words": ["b", "a", "c d"]}


def answer(join: Join, ids: Any = None, other_ids: Any = None, rows_at_once: int = 3) -> Overlaps:
    """Return what the call returns."""
    n = len(join.left)
    pieces = BruteEngine(join, rows_at_once).found(0, n, lambda _: None)
    left = Side(ids, join.left.starts)
    right = left if join.is_self else Side(other_ids, join.right.starts)
    return Overlaps(
        *gathered(pieces, n), (left, right), join.rule, join.both_ways, "by brute force"
    )


def named(kind: str, n: int) -> Any:
    """Return ids of rows: none, integers, or strings."""
    if kind == "positions":
        return None
    if kind == "numbers":
        return np.arange(n) * 10**9 - 5
    return np.array([f"row {i}" for i in range(n)] or [""], object)[:n]


@pytest.fixture
def golden() -> Overlaps:
    return answer(join_of(list(GOLDEN.values())), np.array([*GOLDEN]))


def test_the_golden_rows(golden: Overlaps, tmp_path: Path) -> None:
    assert golden.groups() == GROUPS
    assert list(golden) == [(1, 2, 3), (1, 3, 3), (2, 3, 2), (3, 4, 2)]
    assert len(golden) == 4
    assert repr(golden) == "Overlaps(4 pairs of 4 rows, count >= 2)"
    golden.write(tmp_path / "x.txt")
    assert (tmp_path / "x.txt").read_text() == "1 {2, 3}\n2 {1, 3}\n3 {1, 2, 4}\n4 {3}\n"
    assert golden.to_csr().toarray().tolist() == [
        [0, 3, 3, 0], [0, 0, 2, 0], [0, 0, 0, 2], [0, 0, 0, 0],
    ]  # fmt: skip


@pytest.mark.parametrize("rows", [0, 1, 2, 31, 32, 33])
@pytest.mark.parametrize("kind", ["positions", "numbers", "words"])
def test_every_view_says_the_same(rows: int, kind: str, tmp_path: Path) -> None:
    sets = random_sets(rows, rows, 12, 6)
    ids = named(kind, rows)
    found = answer(join_of(sets, threshold=1), ids)
    names = list(range(rows)) if ids is None else ids.tolist()
    expected = [
        (names[i], names[j], len(sets[i] & sets[j]))
        for i in range(rows)
        for j in range(i + 1, rows)
        if sets[i] & sets[j]
    ]
    assert list(found) == expected
    assert (
        list(zip(found.left.tolist(), found.right.tolist(), found.shared.tolist(), strict=True))
        == expected
    )
    if kind != "words":
        assert found.left.dtype == found.right.dtype == np.int64
    assert found.shared.dtype == np.int32
    assert found.value is found.shared
    groups: dict[Any, list[Any]] = {}
    for i in range(rows):
        if of := [names[j] for j in range(rows) if j != i and sets[i] & sets[j]]:
            groups[names[i]] = of
    assert found.groups() == groups
    assert list(found.groups()) == list(groups)
    frame = found.to_pandas()
    assert (
        list(zip(*(frame[name] for name in ("left", "right", "shared")), strict=True)) == expected
    )
    table = found.to_arrow().to_pydict()
    assert list(zip(*table.values(), strict=True)) == expected
    found.write(tmp_path / "x.parquet")
    assert pq.read_table(tmp_path / "x.parquet").to_pydict() == table
    matrix = found.to_csr()
    assert matrix.shape == (rows, rows)
    assert sorted(zip(*(axis.tolist() for axis in matrix.nonzero()), strict=True)) == [
        (names.index(left), names.index(right)) for left, right, _ in expected
    ]


def test_a_matrix_is_its_own() -> None:
    found = wl.overlap_join(GOLDEN, 1, top_k=2)
    pairs = list(found)
    # Which sorts its rows, whose best come first.
    found.to_csr().max(axis=1)
    assert list(found) == pairs


@pytest.mark.parametrize("measure", MEASURES)
def test_values_and_another_side(measure: str, tmp_path: Path) -> None:
    left, right = random_sets(1, 9, 10, 6), random_sets(2, 13, 10, 6)
    threshold = 2 if measure == "count" else 0.4
    join = join_of(left, right, measure=measure, threshold=threshold)
    ids = named("words", len(left))
    found = answer(join, ids, named("numbers", len(right)))
    expected = [
        like(measure, a, b)
        for a in left
        for b in right
        if a & b and like(measure, a, b) >= threshold
    ]
    assert found.value.tolist() == expected
    assert len(found) == len(expected) > 3
    assert (
        repr(found)
        == f"Overlaps({len(expected)} pairs of 9 rows and 13 others, {measure} >= {threshold})"
    )
    assert found.to_csr().shape == (9, 13)
    groups: dict[Any, list[Any]] = {}
    for a, b, _ in found:
        groups.setdefault(a, []).append(b)
    assert found.groups() == groups
    has_value = measure != "count"
    assert ("value" in found.to_arrow().column_names) == has_value
    assert ("value" in found.to_pandas()) == has_value
    found.write(tmp_path / "x.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert [line.get("value", line["shared"]) for line in lines] == expected


def test_the_best_first() -> None:
    """With top_k a left row's pairs are in falling order, and no pair is missing its other row."""
    side = Side(np.array([7, 8, 9]), np.array([0, 3, 6, 9]))
    best = Overlaps(
        np.array([0, 2, 3, 4]),
        np.array([2, 1, 0, 0], np.int32),
        np.array([3, 1, 1, 3], np.int32),
        (side, side),
        join_of([]).rule,
        is_both_ways=True,
        why="",
    )
    assert list(best) == [(7, 9, 3), (7, 8, 1), (8, 7, 1), (9, 7, 3)]
    assert best.groups() == {7: [9, 8], 8: [7], 9: [7]}


@pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.csv.gz", "x.parquet", "x.pairs"])
def test_blocks_do_not_show(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = answer(join_of(random_sets(5, 40, 12, 6), measure="jaccard", threshold=0.2))
    found.write(tmp_path / f"whole-{name}")
    monkeypatch.setattr(result, "PAIRS_OF_A_BLOCK", 7)
    found.write(tmp_path / name)
    data = [(tmp_path / one).read_bytes() for one in (name, f"whole-{name}")]
    if name.endswith("parquet"):
        tables = [pq.read_table(tmp_path / one) for one in (name, f"whole-{name}")]
        assert tables[0].equals(tables[1])
        assert pq.ParquetFile(tmp_path / name).num_row_groups > 10
    elif name.endswith("gz"):
        assert gzip.decompress(data[0]) == gzip.decompress(data[1])
    else:
        assert data[0] == data[1]


def test_both_ways_of_the_engine_and_of_the_answer() -> None:
    sets = random_sets(9, 60, 20, 8)
    turned = both_ways(gathered(BruteEngine(join_of(sets)).found(0, 60, print), 60))
    asked = gathered(BruteEngine(join_of(sets, both_ways=True), 7).found(0, 60, print), 60)
    for one, other in zip(turned, asked, strict=True):
        np.testing.assert_array_equal(one, other)


def test_writing_refuses_before_it_writes(
    golden: Overlaps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"use one of \.txt"):
        golden.write(tmp_path / "x.xls")
    with pytest.raises(InputError, match="there is no folder"):
        golden.write(tmp_path / "none" / "x.csv")
    words = answer(join_of([{1, 2}, {1, 2}]), np.array(["a b", "c"], object))
    (tmp_path / "x.txt").write_text("old")
    with pytest.raises(InputError, match="'a b' cannot be written"):
        words.write(tmp_path / "x.txt")
    assert (tmp_path / "x.txt").read_text() == "old"
    words.write(tmp_path / "x.txt", format="csv")
    with (tmp_path / "x.txt").open() as file:
        assert list(csv.reader(file)) == [["left", "right", "shared"], ["a b", "c", "2"]]
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]
    for package, call in [
        ("scipy.sparse", golden.to_csr),
        ("pandas", golden.to_pandas),
        ("pyarrow", golden.to_arrow),
    ]:
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtraError, match="pip install"):
            call()


def test_ids_that_utf8_cannot_hold(tmp_path: Path) -> None:
    words = answer(join_of([{1, 2}, {1, 2}]), np.array(["a", "b\ud800"], object))
    told = r"the row id 'b\\ud800' holds what UTF-8 cannot; give the row another id"
    for name in ("x.parquet", "x.arrows", "x.csv"):
        with pytest.raises(InputError, match=told):
            words.write(tmp_path / name)
    with pytest.raises(InputError, match=told):
        words.to_arrow()
    assert list(tmp_path.iterdir()) == []
    # Before, pandas keeps text as Python's.
    pytest.importorskip("pandas", minversion="3")
    with pytest.raises(InputError, match=told):
        words.to_pandas()


def test_counts() -> None:
    rule = join_of([], measure="dice", threshold=0.25).rule
    counts = OverlapCounts(3, np.array([2, 2, 2]), None, None, None, rule, "")
    assert repr(counts) == "OverlapCounts(3 pairs of 3 rows, dice >= 0.25)"
    counts = OverlapCounts(1234, np.zeros(3), np.zeros(4000), None, None, rule, "")
    assert repr(counts) == "OverlapCounts(1,234 pairs of 3 rows and 4,000 others, dice >= 0.25)"


def test_rows_are_named_as_when_they_were_joined() -> None:
    ids = np.array([7, 8])
    alike = wl.overlap_join(wl.Sets(np.array([0, 2, 4]), np.array([1, 2, 1, 2]), ids=ids))
    ids[:] = 0
    assert list(alike) == [(7, 8, 2)]
