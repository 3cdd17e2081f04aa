"""What is particular to the primer; `warpladder.lab.verify` checks every rung of every ladder."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from warpladder.device.occupancy import occupancy
from warpladder.device.properties import properties_of
from warpladder.lab.compile import Compiled, compile_kernel, missing_tool
from warpladder.lab.launches import launched_variants
from warpladder.lab.text import paragraphs_of
from warpladder.primer import further_tasks, launching, tasks
from warpladder.primer.ladder import LADDER
from warpladder.rung import Rung

ALL = (*LADDER.rungs, *(broken.rung for broken in LADDER.wrong))


def predicted(name: str, counter: str, n: int) -> float:
    """Return the absolute value that the rung of this name predicts for a counter."""
    rung = LADDER.find(name)
    assert rung is not None
    (value,) = (
        prediction.value
        for prediction in rung.predicts
        if (prediction.counter, prediction.n) == (counter, n)
        and prediction.relation == "=="
        and prediction.than is None
    )
    return value


# --- where it comes from --------------------------------------------------------------------------


def test_sources_are_known():
    keys = ("CF ", "GR ", "IM ", "RD ")
    assert all(rung.source.startswith(keys) or rung.source == "beyond" for rung in ALL)


# --- the problems ---------------------------------------------------------------------------------

TASKS = {id(rung.task): rung.task for rung in ALL}.values()


def arrays_of(problem) -> list[NDArray]:
    return [np.asarray(part) for part in problem]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_problem_is_the_same_for_the_same_seed_and_another_for_another(task):
    one, same, other = (arrays_of(task.make(97, seed)) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_numbers_on_the_border_are_among_those_that_are_verified():
    values = further_tasks.ROOTS.make(33, 1).values
    assert np.flatnonzero(values == 0)[0] < np.flatnonzero(values < 0)[0]
    problem = tasks.QUANTISE.make(33, 1)
    below = np.searchsorted(tasks.THRESHOLDS, problem.samples, side="left")
    assert (tasks.QUANTISE.oracle(problem) > below).sum() == 4


def test_steps_of_a_grid_are_verified_to_the_end_and_beyond():
    h200 = properties_of((9, 0))
    few = 32 * h200.multiprocessors
    threads = h200.max_threads_per_multiprocessor * h200.multiprocessors
    sizes = tasks.VECTOR_ADD.sizes
    assert max(sizes) > threads
    # Of steps by four elements, each ``few`` apart, some are whole, and the last ends at n.
    assert any(3 * few < n < 4 * few for n in sizes)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_an_oracle_leaves_the_problem_alone_and_keeps_to_four_bytes(task):
    problem = task.make(97, 1)
    before = [array.copy() for array in arrays_of(problem)]
    answers = task.oracle(problem)
    for answer in answers if isinstance(answers, tuple) else (answers,):
        assert answer.dtype.itemsize == 4
    assert all(np.array_equal(a, b) for a, b in zip(before, arrays_of(problem), strict=True))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
@pytest.mark.parametrize("n", [0, 1, 97])
def test_work_is_counted_in_plain_integers(task, n):
    work = task.work(task.make(n, 1))
    assert type(work.operations) is int
    assert type(work.bytes) is int
    assert (work.operations > 0) == (n > 1 or (n == 1 and task is not tasks.LARGER_OF_PAIR))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 96, 97])
def test_every_third_id_is_common(n):
    problem = tasks.COMMON_IDS.make(n, 5)
    assert np.unique(problem.row).size == np.unique(problem.other).size == n
    found = np.isin(problem.row, problem.other)
    assert np.array_equal(found, np.arange(n) % 3 == 0)
    assert tasks.COMMON_IDS.oracle(problem) == [found.sum()]


def test_one_step_of_the_generator_is_marsaglias(monkeypatch):
    # "Xorshift RNGs" (2003) begins with this word; its first number is in wide use as a check.
    monkeypatch.setattr(tasks, "ROUNDS", 1)
    words = tasks.SCRAMBLE.oracle(tasks.Words(np.array([2463534242], np.uint32)))
    assert words == [723471715]


def test_runs_are_reversed_and_channels_taken_apart():
    numbers = tasks.Values(np.arange(1000, dtype=np.float32))
    reverse = further_tasks.REVERSAL.oracle(numbers)
    assert [list(reverse[place]) for place in ([0, 255], [256, 511], [768, 999])] == [
        [255, 0],
        [511, 256],
        [999, 768],
    ]
    apart = further_tasks.CHANNELS.oracle(numbers)
    assert list(apart[[0, 1, 255, 256, 511]]) == [0, 2, 510, 1, 511]
    # The last piece has 488 numbers, 244 of each channel.
    assert list(apart[[512, 755, 756, 999]]) == [512, 998, 513, 999]


@pytest.mark.parametrize(("n", "first"), [(0, 0), (17, 17), (18, 17), (97, 17)])
def test_one_number_in_32_has_no_root(n, first):
    problem = further_tasks.ROOTS.make(n, 3)
    roots, place = further_tasks.ROOTS.oracle(problem)
    assert place.tolist() == [first]
    assert np.array_equal(np.isnan(roots), np.arange(n) % 32 == 17)


# --- cutting --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 130, 511, 512, 513, 2048, 100_003])
def test_chunks_cover_all_elements_once_and_begin_aligned(n):
    chunks = launching.chunks_of(n, 8)
    covered = [i for chunk in chunks for i in range(chunk.start, chunk.stop)]
    assert covered == list(range(n))
    assert len(chunks) <= 8
    assert all(chunk.start % 64 == 0 and chunk.start < chunk.stop for chunk in chunks)


def test_an_empty_grid_is_not_launched():
    no_device = None
    launching.launch(no_device, None, 0, 256)
    launching.launch(no_device, None, 1, 0)
    launching.launch(no_device, None, (0, 3), (32, 8))


# --- GR's figures ---------------------------------------------------------------------------------

# Lines and sectors that GR draws for the load of one warp.
GRANADA = {
    "access-aligned": (1, 4),
    "access-permuted": (1, 4),
    "access-misaligned": (2, 5),
    "access-scattered": (3, 6),
}


def positions(rung: Rung, n: int) -> NDArray[np.int64]:
    """Return where each thread reads, recovered from the oracle."""
    size = rung.task.make(n, 0).source.size
    source = np.arange(size, dtype=np.float32)
    return rung.task.oracle(tasks.Reading(n, source)).astype(np.int64)


@pytest.mark.parametrize("name", [*GRANADA, "strided-access"])
def test_bus_utilisation_is_grs_in_every_warp(name):
    lines, sectors = GRANADA.get(name, (32, 32))
    for warp in positions(LADDER.find(name), 256).reshape(-1, 32):
        assert np.unique(warp).size == 32
        assert np.unique(4 * warp // 128).size == lines
        assert np.unique(4 * warp // 32).size == sectors
    assert predicted(name, "load_utilisation_128", 256) == float(Fraction(100 * 128, 128 * lines))
    assert predicted(name, "load_utilisation_32", 256) == float(Fraction(100 * 128, 32 * sectors))


@pytest.mark.parametrize(
    ("name", "percent_128", "percent_32"),
    [
        ("access-aligned", 100, 100),
        ("access-permuted", 100, 100),
        ("access-misaligned", 50, 80),
        ("access-scattered", 33, 66),
    ],
)
def test_bus_utilisation_as_printed(name, percent_128, percent_32):
    assert int(predicted(name, "load_utilisation_128", 256)) == percent_128
    assert int(predicted(name, "load_utilisation_32", 256)) == percent_32


@pytest.mark.parametrize("name", [*GRANADA, "strided-access"])
@pytest.mark.parametrize("n", [0, 1, 33, 97, 130])
def test_every_pattern_stays_inside_the_source(name, n):
    rung = LADDER.find(name)
    read = positions(rung, n)
    assert read.size == n
    assert np.all((read >= 0) & (read < rung.task.make(n, 0).source.size))


# --- 10 x 10 on blocks of 4 x 4 -------------------------------------------------------------------


def test_ten_by_ten_on_blocks_of_four_by_four():
    n, side = 10, 4
    requests = bytes_stored = sectors = branches = uniform = 0
    for block_row in range(-(-n // side)):
        for block_column in range(-(-n // side)):
            rows, columns = np.mgrid[:side, :side]
            rows, columns = rows + side * block_row, columns + side * block_column
            in_row = rows < n
            in_both = in_row & (columns < n)
            branches += 2
            uniform += int(in_row.all())
            uniform += int(in_both.sum() in (0, in_row.sum()))
            stored = 4 * (rows * n + columns)[in_both]
            requests += 1
            bytes_stored += 4 * stored.size
            sectors += np.unique(stored // 32).size
    counted = {
        "global_store_requests": requests,
        "global_store_bytes": bytes_stored,
        "global_store_sectors": sectors,
        "branches": branches,
        "branch_uniformity": 100 * uniform / branches,
    }
    assert counted == {
        counter: pytest.approx(predicted("matrix-add-2d", counter, n)) for counter in counted
    }
    assert requests == 9


# --- what the text of the occupancy grid says -----------------------------------------------------


def table_of(name: str) -> list[list[int]]:
    """Return the numbers of the table in a rung's text, by rows."""
    (table,) = (part for part in paragraphs_of(LADDER.find(name)) if part.startswith("    "))
    return [[int(word) for word in line.split() if word.isdigit()] for line in table.splitlines()]


def test_occupancy_is_as_the_table_says():
    for registers, shared, blocks, percent in zip(*table_of("occupancy-grid"), strict=True):
        found = occupancy(
            properties_of((9, 0)), 256, registers_per_thread=registers, shared_bytes=1024 * shared
        )
        assert (found.blocks_per_multiprocessor, 100 * found.fraction) == (blocks, percent)


needs_tools = pytest.mark.skipif(missing_tool() is not None, reason=missing_tool() or "")


def compiled(name: str) -> Compiled:
    (variant,) = launched_variants(LADDER.find(name))
    return compile_kernel(variant.kernel, variant.arguments, (9, 0))


@needs_tools
def test_the_occupancy_grids_kernel_has_as_few_registers_as_its_text_says():
    assert compiled("occupancy-grid").registers <= 32


@needs_tools
def test_only_loads_that_are_written_before_the_stores_go_together():
    found = {name: compiled(name) for name in ("few-warps", "independent-loads")}
    together = {
        # The most loads in a row without an addition or a store between them.
        name: max(
            run.count("LDG")
            for run in re.split("FADD|STG", " ".join(re.findall("LDG|FADD|STG", code.sass)))
        )
        for name, code in found.items()
    }
    assert together == {"few-warps": 2, "independent-loads": 8}
    assert found["few-warps"].sass.count("LDG") > 2
    assert found["few-warps"].registers < found["independent-loads"].registers
