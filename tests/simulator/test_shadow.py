"""What the race checker remembers of a buffer, and when it may forget it."""

from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, int32
from simulating import run

from warpladder.errors import KernelFaultError
from warpladder.simulator.checks import shadow
from warpladder.simulator.checks.shadow import Shadow


def read_by(*threads, of=8):
    """Return a shadow after reads of place 0, one after the other."""
    made = Shadow(of, 32)
    for thread in threads:
        made.read(np.array([0]), np.array([thread]), 7)
    return made


def test_reads_are_told_apart_when_somebody_writes():
    made = read_by(3, 4, 5)
    assert made.reader is None
    made.settle_reads()
    assert made.reader is not None
    assert made.reader_before is not None
    assert made.reader[0] == 5 << 32 | 7
    assert made.reader_before[0] == 4 << 32 | 7
    assert (made.reader[1:] == -1).all()


def test_threads_that_read_one_place_together_are_two():
    made = Shadow(4, 32)
    made.read(np.array([1, 1, 2]), np.array([0, 1, 2]), 3)
    made.settle_reads()
    assert made.reader is not None
    assert made.reader_before is not None
    assert {made.reader[1] >> 32, made.reader_before[1] >> 32} == {0, 1}
    assert made.reader_before[2] == -1


def of_place(made, kind):
    """Return the thread that is remembered of place 0."""
    past = getattr(made, kind)
    return None if past is None else past[0] >> 32


@pytest.mark.parametrize(
    ("threads", "before", "of_warp", "of_block"),
    [
        # Blocks of 64 threads: warps of threads 0 to 31, 32 to 63, 64 to 95.
        ([3, 4, 5], 4, None, None),
        ([3, 4, 40, 41], 40, 4, None),
        ([3, 40, 70, 71], 70, 40, 40),
        ([70, 3, 40, 41], 40, 3, 70),
        ([3, 4, 3, 3], 4, None, None),
    ],
)
def test_one_of_another_warp_and_one_of_another_block_are_kept(threads, before, of_warp, of_block):
    one_by_one, together = Shadow(2, 64), Shadow(2, 64)
    for thread in threads:
        one_by_one.read(np.array([0]), np.array([thread]), 1)
    together.read(np.zeros(len(threads), int), np.array(threads), 1)
    for made in (one_by_one, together):
        made.settle_reads()
        assert of_place(made, "reader") == threads[-1]
        assert of_place(made, "reader_of_warp") == of_warp
        assert of_place(made, "reader_of_block") == of_block
    assert of_place(one_by_one, "reader_before") == before


def test_so_many_reads_wait_at_most(monkeypatch):
    monkeypatch.setattr(shadow, "_MOST_WAITING", 4)
    made = Shadow(8, 32)
    for thread in range(3):
        made.read(np.array([0, 1]), np.array([2 * thread, 2 * thread + 1]), 0)
    assert made.reader is not None
    assert made.reader[0] == 4 << 32


def test_a_barrier_of_all_blocks_lets_everything_be_forgotten():
    made = read_by(1, 2)
    made.begin(0)
    made.made("writer")[:] = 5
    made.begin(0)
    assert made.writer is not None
    made.begin(1)
    assert made.writer is None
    made.settle_reads()
    assert made.reader is None
    # Kept arrays are used again, and hold nothing.
    assert (made.made("reader") == -1).all()


def test_what_some_blocks_did_after_a_barrier_that_others_had_not_passed_stays():
    made = Shadow(8, 32)
    made.begin(0)
    made.begin(None)
    made.made("writer")[:] = 5
    made.begin(1)
    assert made.writer is not None
    made.begin(2)
    assert made.writer is None


@cuda.jit
def _rotate_twice(out, second_barrier):
    row = cuda.shared.array(64, int32)
    i = cuda.threadIdx.x
    row[i] = i
    cuda.syncthreads()
    first = row[(i + 1) % 64]
    if second_barrier:
        cuda.syncthreads()
    row[i] = first
    cuda.syncthreads()
    out[cuda.grid(1)] = row[(i + 1) % 64]


@pytest.mark.parametrize("schedule", ["lockstep", "warps", "warps-reverse"])
def test_reads_before_a_write_race_with_it_unless_a_barrier_is_between(schedule):
    out = np.zeros(192, np.int32)
    run(_rotate_twice, 3, 64, out, True, schedule=schedule, checks=True)
    np.testing.assert_array_equal(out, np.tile((np.arange(64) + 2) % 64, 3))
    with pytest.raises(KernelFaultError, match="racecheck"):
        run(_rotate_twice, 3, 64, out, False, schedule=schedule, checks=True)
