"""What a review of the overlap join has found, one test for each defect."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from brute import GOLDEN, random_sets

import warpladder as wl
from calling import call
from choosing import large
from warpladder.errors import InputError, InputTypeError
from warpladder.formats.sets import Sets
from warpladder.overlap_join import cpu
from warpladder.overlap_join.coding import coded
from warpladder.overlap_join.forms import Join
from warpladder.overlap_join.intake import as_sets
from warpladder.overlap_join.measures import as_rule
from warpladder.overlap_join.plan import Way
from warpladder.overlap_join.stored import part_of_rows

COUNTING = Way("counting", 0, 0.1, "")


def engine_for(rows: Any, threshold: float, other: Any = None, way: Way = COUNTING) -> Any:
    codes = coded(as_sets(rows, "rows"), None if other is None else as_sets(other, "other"))
    return cpu.CpuEngine(Join(codes.left, codes.right, as_rule("count", threshold)), way)


class Backwards:
    """Kept threads at their worst: whatever waits is begun in the opposite order."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def in_background(self, call: Callable[..., Any], *args: Any) -> Future[Any]:
        done = LateFuture(self)
        self.waiting.append(lambda: done.set_result(call(*args)))
        return done


class LateFuture(Future[Any]):
    """Done once somebody asks for it."""

    def __init__(self, crew: Backwards) -> None:
        super().__init__()
        self.crew = crew

    def result(self, timeout: float | None = None) -> Any:
        while self.crew.waiting:
            self.crew.waiting.pop()()
        return super().result(timeout)


def test_stretches_may_be_visited_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    # A thread may take a stretch, and be put to sleep before it takes what it counts in.
    rows = random_sets(1, 300, 30, 10)
    expected = list(wl.overlap_join(rows, 2))
    monkeypatch.setattr(cpu, "in_background", Backwards().in_background)
    monkeypatch.setattr(cpu, "BLOCK_BITS", 6)
    engine = engine_for(rows, 2)
    shared = [piece.shared for piece in engine.found(0, 300, lambda _: None)]
    assert np.concatenate(shared).tolist() == [shared for *_, shared in expected]
    assert engine.counted(0, 300, lambda _: None).pairs == len(expected)


def test_what_waits_to_be_taken_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    # All rows are alike, and in few stretches: half a million pairs, of which 1,000 fit at once.
    monkeypatch.setattr(cpu, "_LEAST_KEPT", 1)
    monkeypatch.setattr(cpu, "_STRETCHES_PER_WORKER", 1)
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    found, call = [0], cpu.CpuEngine._call

    def counted(*args: Any) -> tuple[int, int]:
        behind, pairs = call(*args)
        found.append(pairs)
        return behind, pairs

    monkeypatch.setattr(cpu.CpuEngine, "_call", counted)
    taken = 0
    rows, left = 0, np.zeros(1000, int)
    for first, counts, right, _ in engine_for([[1, 2, 3]] * 1000, 2).found(0, 1000, int):
        assert first == rows
        rows += len(counts)
        left[first:rows] = counts
        taken += len(right)
        # Each of three stretches ahead, twice at the most.
        assert sum(found) - taken <= 6 * 1000
    assert rows == 1000
    assert left.tolist() == list(range(999, -1, -1))
    # Stretches that are cut to what fits are not one row each.
    assert len(found) < 4 * taken / 1000


def test_no_row_shares_more_than_counters_hold() -> None:
    # 65,537 is 1 in 16 bits; the other side has no row of so many, so counters do.
    engine = engine_for([range(70_000)], 65_537, [range(100)])
    assert engine.counted(0, 1, lambda _: None).pairs == 0


def test_a_sample_of_very_long_rows() -> None:
    plan = wl.overlap_join.plan([range(65_536)] * 2, 2)
    assert plan.expected_pairs == 1
    other = wl.overlap_join.plan([range(70_000)], 65_537, other=[range(100)])
    assert other.expected_pairs == 0


def test_more_wanted_of_each_row_than_any_row_has() -> None:
    assert list(wl.overlap_join([[1, 2], [1, 2]], 2, top_k=10**30)) == [(0, 1, 2), (1, 0, 2)]


@pytest.mark.parametrize("share", [0.29, 0.57, 0.58])
def test_an_id_that_exactly_the_share_of_rows_has_is_kept(share: float) -> None:
    # 0.29 * 100 is 28.999999999999996, and 29 of 100 are 0.29.
    rows = round(share * 100)
    alike = wl.overlap_join([[1]] * rows + [[]] * (100 - rows), 1, max_frequency=share)
    assert len(alike) == rows * (rows - 1) // 2
    beyond = wl.overlap_join([[1]] * (rows + 1) + [[]] * (99 - rows), 1, max_frequency=share)
    assert len(beyond) == 0


@pytest.mark.parametrize("threshold", [b"2", np.True_])
def test_thresholds_that_are_no_numbers(threshold: Any) -> None:
    with pytest.raises(InputTypeError, match="must be a number"):
        wl.overlap_join([[1, 2], [1, 2]], threshold)


STARTS, ITEMS = np.array([0, 2, 4]), np.array([1, 2, 1, 2])


@pytest.mark.parametrize("dtype", [">i8", *large(">i4", ">u2")])
def test_sets_of_integers_from_another_machine(dtype: str) -> None:
    assert list(wl.overlap_join(Sets(STARTS, ITEMS.astype(dtype)))) == [(0, 1, 2)]


@pytest.mark.parametrize(
    ("words", "ids", "error", "told"),
    [
        (None, [7, 8], InputTypeError, "ids of Sets must be an array of int64 or of strings"),
        (None, np.array([[7], [8]]), InputTypeError, "ids of Sets must be an array"),
        (None, np.array([7.0, 8.0]), InputTypeError, "ids of Sets must be an array"),
        (None, np.array(["a", 8], object), InputTypeError, "ids of Sets must be an array"),
        (None, np.array([7, 7]), InputError, "ids of Sets: 7 names two rows"),
        (None, np.array(["a", "a"], object), InputError, "ids of Sets: 'a' names two rows"),
        (np.array(["a", "b", "b"], object), None, InputError, "words of Sets: 'b' stands twice"),
        (["a", "b", "c"], None, InputTypeError, "words of Sets must be an array of strings"),
    ],
)
def test_sets_that_do_not_keep_to_their_form(
    words: Any, ids: Any, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        wl.overlap_join(Sets(STARTS, ITEMS, words, ids))


def test_one_part_of_very_many() -> None:
    # Whoever asks for one of a billion parts does not want the bounds of all of them.
    work = np.ones(10)
    assert part_of_rows(work, (1, 10**9)) == (0, 1)
    assert part_of_rows(work, (10**9, 10**9)) == (10, 10)
    with pytest.raises(InputError, match="part=1/0: parts are numbered from 1, so there is none"):
        part_of_rows(work, (1, 0))


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    path = tmp_path / "golden.txt"
    lines = (f"{row} {{{', '.join(map(str, sorted(ids)))}}}\n" for row, ids in GOLDEN.items())
    path.write_text("".join(lines))
    return path


def test_rows_are_not_replaced_by_their_pairs(golden: Path, tmp_path: Path) -> None:
    before = golden.read_text()
    (tmp_path / "link.txt").symlink_to(golden)
    (tmp_path / "rows.txt").write_text("1 {2}\n")
    for rows, output in [
        ([golden], golden),
        ([golden], tmp_path / "link.txt"),
        ([tmp_path / "rows.txt", "--other", golden], golden),
    ]:
        result = call("overlap", *rows, "-o", output)
        assert result.returncode == 2
        assert "one of its own" in result.stderr
        assert golden.read_text() == before


@pytest.mark.parametrize(
    ("arguments", "told"), [(["--format", "csv"], "-o"), (["--other", "-"], "standard input")]
)
def test_more_options_that_do_not_go_together(
    golden: Path, arguments: list[str], told: str
) -> None:
    result = call("overlap", "-" if "--other" in arguments else golden, *arguments)
    assert result.returncode == 2
    assert told in result.stderr


def test_lines_of_rows_beside_others_have_each_pair_once(golden: Path, tmp_path: Path) -> None:
    result = call("overlap", golden, "--other", golden, "-o", tmp_path / "x.txt")
    assert "12" in result.stdout
    assert "each from both" not in result.stdout
