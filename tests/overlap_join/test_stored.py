"""From an engine to a file: the same bytes however pieces are dealt out and whatever interrupts."""

from __future__ import annotations

import gzip
import io
import os
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from brute import BruteEngine, join_of, random_sets
from hypothesis import given, settings
from hypothesis import strategies as st

from choosing import large
from warpladder.errors import InputError
from warpladder.formats import growing
from warpladder.formats.pairs import PAIR_FORMATS
from warpladder.overlap_join import stored
from warpladder.overlap_join.forms import Join
from warpladder.overlap_join.measures import MEASURES
from warpladder.overlap_join.result import Overlaps, Side
from warpladder.overlap_join.stored import stream_overlaps, write_overlaps
from warpladder.overlap_join.work import part_of_rows, row_work

ROWS = 61
SETS = random_sets(3, ROWS, 15, 6)
NAMES = [f"x.{name}" for name in ("txt", "csv", "csv.gz", "jsonl", "pairs", "parquet", "arrows")]


class StopError(Exception):
    """Ends an engine."""


class Stopping(BruteEngine):
    """Fails before a left row."""

    def __init__(self, join: Join, rows_at_once: int, stop: int) -> None:
        super().__init__(join, rows_at_once)
        self.stop = stop

    def found(self, first: int, last: int, advanced: Any) -> Any:
        for piece in super().found(first, last, advanced):
            if piece.first + len(piece.counts) > self.stop:
                raise StopError
            yield piece


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "PAIRS_OF_A_BLOCK", 20)
    monkeypatch.setattr(stored, "_FEWEST_ROWS", 10)
    monkeypatch.setattr(growing, "SYNC_SECONDS", 0)
    monkeypatch.setattr(os, "fsync", lambda _: None)


def join_for(name: str, measure: str = "count") -> Join:
    threshold = 2 if measure == "count" else 0.3
    return join_of(SETS, measure=measure, threshold=threshold, both_ways=name.endswith(".txt"))


def in_memory(join: Join, path: Path, ids: Any = None) -> Overlaps:
    """Write the answer as one in memory is written."""
    from warpladder.overlap_join.gathered import gathered

    side = Side(ids, join.left.starts)
    pairs = gathered(BruteEngine(join).found(0, ROWS, lambda _: None), ROWS)
    found = Overlaps(*pairs, (side, side), join.rule, join.both_ways, "")
    found.write(path)
    return found


def content(path: Path) -> Any:
    """Return what does not depend on how a file is cut into blocks."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pydict()
    if path.suffix == ".arrows":
        import pyarrow as pa

        with path.open("rb") as file:
            return pa.ipc.open_stream(file).read_all().to_pydict()
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


@pytest.mark.parametrize("measure", ["count", "cosine"])
@pytest.mark.parametrize("name", NAMES)
def test_the_file_is_that_of_an_answer_in_memory(tmp_path: Path, name: str, measure: str) -> None:
    join = join_for(name, measure)
    ids = np.arange(ROWS) * 1000
    path = tmp_path / name
    heard: list[float] = []
    told = write_overlaps(BruteEngine(join), join, path, ids=(ids, ids), progress=heard.append)
    found = in_memory(join, tmp_path / f"memory-{name}", ids)
    assert content(path) == content(tmp_path / f"memory-{name}")
    assert told == (len(found), 0, ROWS, 0)
    assert heard == sorted(heard)
    assert 0 < heard[0] < 0.5
    assert heard[-1] == 1
    assert len(list(tmp_path.iterdir())) == 2
    stream = io.BytesIO()
    form = name.removesuffix(".gz").partition(".")[2].replace("txt", "grouped").rstrip("s")
    form = {"pair": "pairs"}.get(form, form)
    assert stream_overlaps(BruteEngine(join), join, stream, form, ids=(ids, ids)) == told
    if not name.endswith(".gz"):
        assert stream.getvalue() == path.read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_interrupted_anywhere_it_is_the_same_file(tmp_path: Path, name: str) -> None:
    join = join_for(name)
    whole = tmp_path / f"whole-{name}"
    write_overlaps(BruteEngine(join, 61), join, whole)
    path = tmp_path / name
    # Several times in one run, with pieces of all sizes.
    for stops in ([1, 9], [5], [33, 34, 60], [60], [7, 8, 9, 10, 11, 12, 50]):
        done = 0
        for at_once, stop in enumerate(stops, 1):
            engine = Stopping(join, at_once, stop)
            with pytest.raises(StopError):
                write_overlaps(engine, join, path, resume=True)
            assert engine.asked[0][0] >= done
            done = engine.asked[0][0]
        engine = BruteEngine(join, 4)
        told = write_overlaps(engine, join, path, resume=True)
        assert path.read_bytes() == whole.read_bytes()
        assert engine.asked == [(told.resumed_at, ROWS)]
        # A block is lost at most: some rows that share little, or as many as make it large enough.
        assert told.resumed_at >= done
        path.unlink()
        assert sorted(one.name for one in tmp_path.iterdir()) == [whole.name]


def test_what_was_finished_is_not_done_again(tmp_path: Path) -> None:
    join = join_of(SETS, threshold=1)
    engine = Stopping(join, 1, 50)
    with pytest.raises(StopError) as fault:
        write_overlaps(engine, join, tmp_path / "x.csv")
    assert "resume=True goes on from there" in fault.value.__notes__[0]
    told = write_overlaps(engine := BruteEngine(join), join, tmp_path / "x.csv", resume=True)
    # Of 50 rows the last may be waiting for a block to be full.
    assert 40 <= told.resumed_at <= 50
    assert engine.asked == [(told.resumed_at, ROWS)]


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=40),
    st.lists(st.integers(1, 40), max_size=10),
    st.lists(st.integers(1, 40), max_size=4),
    st.integers(0, 5),
)
def test_blocks_depend_on_rows_and_pairs_alone(
    counts: list[int], cuts: list[int], ends: list[int], first: int
) -> None:
    from warpladder.overlap_join.forms import Found

    rows = len(counts)
    sums = np.concatenate(([0], np.cumsum(counts)))
    right = np.arange(sums[-1], dtype=np.int32)
    last = first + rows
    stops = np.array(sorted({min(first + end, last) for end in ends} | {last}))

    def blocks(at: list[int]) -> list[tuple[int, list[int], list[int]]]:
        bounds = [0, *sorted({min(cut, rows) for cut in at} | {rows})]
        pieces = [
            Found(
                first + begin,
                np.array(counts[begin:end], np.int64),
                right[sums[begin] : sums[end]],
                right[sums[begin] : sums[end]],
            )
            for begin, end in pairwise(bounds)
        ]
        found = stored._blocks(pieces, first, stops)
        return [(block.first, block.counts.tolist(), block.right.tolist()) for block in found]

    whole = blocks([])
    assert blocks(cuts) == whole
    assert blocks(list(range(rows))) == whole
    assert list(chain.from_iterable(block for _, block, _ in whole)) == counts
    assert list(chain.from_iterable(block for _, _, block in whole)) == right.tolist()
    for begin, block, pairs in whole[:-1]:
        # Full with its last row and not before; or at an end.
        end = begin + len(block)
        assert end in stops or sum(block) - block[-1] < stored.PAIRS_OF_A_BLOCK <= len(pairs)
        assert sum(block[:-1]) < stored.PAIRS_OF_A_BLOCK


@pytest.mark.parametrize("count", [1, 2, 7, *large(3, 61, 100)])
@pytest.mark.parametrize("name", ["x.txt", "x.pairs", "x.jsonl", "x.csv", "x.parquet"])
def test_all_parts_are_the_whole(tmp_path: Path, name: str, count: int) -> None:
    join = join_for(name)
    whole = tmp_path / f"whole-{name}"
    total = write_overlaps(BruteEngine(join), join, whole)
    contents, pairs, rows = [], 0, 0
    for number in range(1, count + 1):
        path = tmp_path / f"{number}-{name}"
        told = write_overlaps(BruteEngine(join), join, path, part=(number, count))
        contents.append(content(path))
        pairs += told.pairs
        assert told.first == rows
        rows = told.last
    assert (pairs, rows) == (total.pairs, ROWS)
    if name.endswith("parquet"):
        for column, values in content(whole).items():
            assert list(chain.from_iterable(part[column] for part in contents)) == values
    elif name.endswith("csv"):
        heading = b"left,right,shared\n"
        assert all(part.startswith(heading) for part in contents)
        assert heading + b"".join(part.removeprefix(heading) for part in contents) == content(whole)
    else:
        assert b"".join(contents) == content(whole)


def test_parts_of_about_equal_work() -> None:
    sets = [{1, 2, 3}] * 1000
    join = join_of(sets)
    work = row_work(join)
    bounds = [part_of_rows(work, (number, 4)) for number in range(1, 5)]
    assert [begin for begin, _ in bounds] == [0, *(end for _, end in bounds[:-1])]
    assert bounds[-1][1] == 1000
    # The first rows meet many behind them, the last none.
    pairs = [sum(1000 - 1 - row for row in range(*bound)) for bound in bounds]
    assert max(pairs) < 1.02 * min(pairs)
    other = row_work(join_of(sets, sets))
    assert [part_of_rows(other, (number, 4)) for number in (1, 4)] == [(0, 250), (750, 1000)]


@pytest.mark.parametrize("part", [(0, 1), (2, 1), (-1, 3), (1, 0)])
def test_a_part_that_is_none(part: tuple[int, int]) -> None:
    with pytest.raises(InputError, match=f"part={part[0]}/{part[1]}: parts are numbered from 1"):
        part_of_rows(np.ones(5), part)


@pytest.mark.parametrize("name", PAIR_FORMATS)
def test_no_rows_and_no_pairs(tmp_path: Path, name: str) -> None:
    for rows, sets in enumerate([[], [set()], [{1}, {2}], [set(), set(), {1, 2}]]):
        join = join_of(sets, both_ways=True)
        path = tmp_path / f"{rows}.{name}"
        engine = BruteEngine(join)
        told = write_overlaps(engine, join, path, format=name)
        assert (told.pairs, told.last) == (0, len(sets))
        assert len(engine.asked) == bool(sets)
    assert len(set(map(Path.read_bytes, tmp_path.iterdir()))) == 1


def test_what_may_not_be_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    join = join_of(SETS)
    with pytest.raises(StopError):
        write_overlaps(Stopping(join, 1, 50), join, path, identity={"max_frequency": 7})
    fewer = join_of([*SETS[:-1], {1}])
    cases: list[tuple[Join, dict[str, Any], str]] = [
        (join, {}, "max_frequency 7, not None"),
        (join, {"identity": {"max_frequency": 8}}, "max_frequency 7, not 8"),
        (join, {"part": (1, 2)}, "part 1/1, not 1/2"),
        (join, {"format": "tsv"}, "format csv, not tsv"),
        (join_of(SETS, threshold=3), {}, "threshold 2.0, not 3.0"),
        (join_of(SETS, measure="dice", threshold=1), {}, "measure count, not dice"),
        (join_of(SETS, SETS), {}, "a checksum of the rows"),
        (fewer, {}, "a checksum of the rows"),
        (join, {"ids": (np.arange(ROWS), None)}, "a checksum of the rows"),
        (join, {"ids": (np.array(["a"] * ROWS, object), None)}, "a checksum of the rows"),
    ]
    for other, options, why in cases:
        with pytest.raises(InputError, match=why):
            write_overlaps(BruteEngine(other), other, path, resume=True, **options)
    with pytest.raises(InputError, match="resume=True goes on with it, or delete"):
        write_overlaps(BruteEngine(join), join, path)
    same = {"max_frequency": 7}
    write_overlaps(BruteEngine(join), join, path, resume=True, identity=same)
    assert [one.name for one in tmp_path.iterdir()] == ["x.csv"]


def test_what_listens_to_the_progress_may_end_it(tmp_path: Path) -> None:
    def stop(done: float) -> None:
        if done > 0.5:
            raise StopError

    join = join_of(SETS)
    (tmp_path / "x.csv").write_text("old")
    with pytest.raises(StopError):
        write_overlaps(BruteEngine(join), join, tmp_path / "x.csv", progress=stop)
    assert (tmp_path / "x.csv").read_text() == "old"
    heard: list[float] = []
    write_overlaps(BruteEngine(join), join, tmp_path / "x.csv", resume=True, progress=heard.append)
    assert 0.2 < heard[0] < 0.7
    assert heard[-1] == 1


@pytest.mark.parametrize("measure", MEASURES)
def test_values_of_every_measure(tmp_path: Path, measure: str) -> None:
    join = join_for("x.parquet", measure)
    write_overlaps(BruteEngine(join), join, tmp_path / "x.parquet")
    table = pq.read_table(tmp_path / "x.parquet").to_pydict()
    found = in_memory(join, tmp_path / "memory.parquet")
    assert table.get("value", table["shared"]) == found.value.tolist()
