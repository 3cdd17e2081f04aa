"""Threads that stand by: what they are given is done once, and nobody is waited for too long."""

from __future__ import annotations

import os
import sys
from ctypes import CFUNCTYPE, c_int, c_void_p, cast
from threading import get_ident, get_native_id
from time import monotonic, sleep

import numpy as np
import pytest
from numba import config, njit

from warpladder.device import standby
from warpladder.device.native import address_of
from warpladder.device.standby import (
    CLOSED,
    DONE,
    GIVEN,
    MOST_PIECES,
    Standby,
    is_opened,
    share,
)
from warpladder.device.words import WORD_BYTES, fetch_add, load, read_at, write_at

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")

# Words that tasks of these tests share: whether to go, how many met, how often a piece was begun,
# and who joins in at which turn.
_GO, _MET, _BEGUN = 0, 1, 2
_JOINING = _BEGUN + MOST_PIECES
_ROUNDS = 10_000_000
# Rounds for which others are waited for where a machine that holds one up must change nothing.
_AS_LONG_AS_IT_TAKES = 1 << 60


@njit(nogil=True)
def count(given, piece):
    fetch_add(read_at(given, 0), _BEGUN + piece, 1)


@njit(nogil=True)
def note_turn(given, piece):
    words = read_at(given, 0)
    write_at(words, _BEGUN + piece, fetch_add(words, _MET, 1))


@njit(nogil=True)
def let_join(given, piece):
    """Note a piece's turn, and begin it; before its end another worker takes pieces, or none."""
    words = read_at(given, 0)
    turn = fetch_add(words, _MET, 1)
    write_at(words, _BEGUN + piece, 100 * read_at(words, _BEGUN + piece) + turn + 1)
    worker = read_at(words, _JOINING + turn)
    if worker:
        standby._work(given - GIVEN * WORD_BYTES, worker)


@njit(nogil=True)
def meet(given, piece):
    """Be at a piece while another worker is at the other one."""
    words = read_at(given, 0)
    fetch_add(words, _BEGUN + piece, 1)
    for _ in range(_ROUNDS):
        if load(words, _BEGUN + 1 - piece):
            fetch_add(words, _MET, 1)
            return


@njit(nogil=True)
def hang(given, piece):
    """Leave piece 0 when somebody is at piece 1, and that when told to."""
    words = read_at(given, 0)
    fetch_add(words, _BEGUN + piece, 1)
    while not load(words, _BEGUN + 1 if piece == 0 else _GO):
        pass


@njit(nogil=True)
def ask(board, task, counts, pieces, patience):
    if not is_opened(board):
        return CLOSED
    write_at(board + GIVEN * WORD_BYTES, 0, counts)
    return share(board, task, pieces, patience)


class Asked:
    """A board, and what tasks count."""

    def __init__(self, workers=2):
        self.team, self.counts = Standby(workers), np.zeros(_JOINING + MOST_PIECES, np.int64)

    def __call__(self, task, pieces, patience=_AS_LONG_AS_IT_TAKES):
        self.counts[:_JOINING] = 0
        board, at = self.team.board, address_of(task, 1, 1)
        return ask(board, at, self.counts.ctypes.data, pieces, patience)

    @property
    def begun(self):
        return self.counts[_BEGUN:_JOINING].tolist()

    @property
    def ticket(self):
        return self.team._tickets[1]

    def summon(self):
        """Let a thread stand by that does not go by itself; wait until it is there."""
        self.team._rounds = _AS_LONG_AS_IT_TAKES
        assert self.team.is_attended(True)
        wait_until(lambda: self(meet, 2) == DONE and self.counts[_MET] == 2)

    def dismiss(self):
        """Let the thread go, whatever it is at."""
        self.counts[_GO] = 1
        wait_until(lambda: self.ticket <= standby._WAITING)
        self.team._tickets[1] = standby._ABSENT


def wait_until(is_so):
    until = monotonic() + 30
    while not is_so():
        assert monotonic() < until
        sleep(0.001)


@pytest.fixture
def asked():
    made = Asked()
    yield made
    made.dismiss()


@pytest.mark.parametrize("pieces", [0, 1, 2, 3, MOST_PIECES])
def test_each_piece_is_done_once(asked, pieces):
    def check():
        assert asked(count, pieces) == DONE
        assert asked.begun == [1] * pieces + [0] * (MOST_PIECES - pieces)

    check()
    asked.summon()
    for _ in range(200):
        check()
    asked.dismiss()
    check()


def test_every_other_call_goes_back():
    """What came last lies in the caches of a core still."""
    alone, begun = Asked(workers=1), []
    for _ in range(3):
        assert alone(note_turn, 5) == DONE
        begun.append(alone.begun[:5])
    assert sorted(begun[:2]) == [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]
    assert begun[2] == begun[0]


def test_a_worker_begins_with_pieces_of_its_own():
    team = Asked(workers=3)
    turns = [team.begun[:6] for _ in range(2) if team(note_turn, 6) == DONE]
    assert sorted(turns) == [[0, 1, 2, 3, 4, 5], [1, 0, 5, 4, 3, 2]]


@pytest.mark.parametrize("workers", range(1, standby._MOST_WORKERS + 1))
def test_each_piece_is_done_once_whoever_is_there_and_whenever_they_come(workers):
    team, rng = Asked(workers), np.random.default_rng(workers)
    for pieces in range(1, MOST_PIECES + 1):
        # Forward and back. Who joins in nowhere is absent.
        for _ in range(8):
            others = rng.permutation(np.arange(1, workers))[: rng.integers(workers)]
            team.counts[_JOINING:] = 0
            team.counts[_JOINING + rng.permutation(pieces)[: others.size]] = others[:pieces]
            assert team(let_join, pieces) == DONE
            assert sorted(team.begun) == [0] * (MOST_PIECES - pieces) + [*range(1, pieces + 1)]


@pytest.mark.parametrize("workers", range(2, standby._MOST_WORKERS + 1))
def test_who_joins_in_begins_with_the_first_or_the_last_of_its_own(workers):
    team = Asked(workers)
    for pieces in range(workers, MOST_PIECES + 1):
        for worker in range(1, workers):
            own = range(pieces * worker // workers, pieces * (worker + 1) // workers)
            team.counts[_JOINING:] = 0
            team.counts[_JOINING] = worker
            second = {team.begun.index(2) for _ in range(2) if team(let_join, pieces) == DONE}
            assert second == {own[0], own[-1]}


def test_each_piece_is_done_once_where_one_of_three_others_is_there():
    team = Asked(workers=4)
    here = team.team._tickets[1:]
    team.team._rounds = _AS_LONG_AS_IT_TAKES
    assert team.team.is_attended(True)
    here[0] = here[2] = standby._ABSENT
    try:
        for _ in range(200):
            # Of few pieces and then of many: nobody goes by what was taken of those before.
            for pieces in (1, 5, MOST_PIECES):
                assert team(count, pieces) == DONE
                assert team.begun == [1] * pieces + [0] * (MOST_PIECES - pieces)
    finally:
        here[1] = standby._ABSENT


def test_what_each_worker_writes_has_cache_lines_of_its_own():
    for _ in range(5):
        assert Standby(2).board % (standby._APART * WORD_BYTES) == 0


def test_who_stands_by_is_at_work_beside_the_caller(asked):
    asked.summon()
    assert asked.begun[:2] == [1, 1]


def test_work_in_time_is_counted(asked):
    before = asked.team._words[standby._IN_TIME]
    assert asked(count, 3) == DONE
    assert asked.team._words[standby._IN_TIME] == before + 1


def test_the_board_is_free_while_all_stand_by_and_nobody_is_at_work(asked):
    assert not asked.team.is_free()
    asked.summon()
    assert asked.team.is_free()
    asked(hang, 2, patience=0)
    assert not asked.team.is_free()
    asked.dismiss()
    assert not asked.team.is_free()


def test_the_board_is_not_free_while_it_is_locked_or_some_are_absent():
    team = Standby(3)
    waiting = standby._WAITING
    for lock, tickets, is_free in (
        (0, [waiting, waiting], True),
        (1, [waiting, waiting], False),
        (0, [waiting, standby._ABSENT], False),
        (0, [waiting, standby._AT_WORK], False),
    ):
        team._words[standby._LOCK] = lock
        for worker, ticket in enumerate(tickets, start=1):
            team._tickets[worker] = ticket
        assert team.is_free() is is_free


def test_who_hangs_is_not_waited_for_and_nobody_disturbs_it(asked):
    asked.summon()
    began = monotonic()
    assert asked(hang, 2, patience=0) not in {DONE, CLOSED}
    assert monotonic() - began < 20
    assert asked.begun[:2] == [1, 1]
    words, asked.counts = asked.counts, np.zeros_like(asked.counts)
    assert asked(count, 3) == CLOSED
    assert asked.begun[:3] == [0, 0, 0]
    words[_GO] = 1
    wait_until(lambda: asked(count, 3) == DONE)
    assert asked.begun[:3] == [1, 1, 1]


def test_what_it_hangs_with_is_kept_until_it_goes(asked):
    asked.summon()
    answer = asked(hang, 2, patience=0)
    asked.team.keep("arrays", answer)
    # Somebody else's call, which was not made.
    asked.team.keep("others", CLOSED)
    assert asked.team._kept == "arrays"
    asked.dismiss()
    wait_until(lambda: asked.team._kept is None)


def test_who_goes_leaves_what_another_one_hangs_with():
    team = Standby(3)
    team._rounds, team._kept = 0, "arrays"
    for ticket_of_other, kept in ((standby._AT_WORK, "arrays"), (standby._WAITING, None)):
        team._tickets[1], team._tickets[2] = standby._WAITING, ticket_of_other
        team._be_there(1)
        assert team._kept == kept


_SAID = CFUNCTYPE(c_int)


@pytest.fixture
def said(asked):
    """Where the two threads are, as if by the system: the caller first."""
    places, caller = [3, 3], get_ident()
    function = _SAID(lambda: places[get_ident() != caller])
    asked.team._words[standby._QUESTION] = cast(function, c_void_p).value
    yield places
    asked.dismiss()
    asked.team._words[standby._QUESTION] = 0


def test_the_caller_leaves_the_processor_of_who_stands_by(asked, said, monkeypatch):
    left = []
    monkeypatch.setattr(standby, "leave", left.append)
    monkeypatch.setattr(standby, "perf_counter", lambda: 100.0)
    asked.summon()
    asked.team.spread()
    assert left == [3]
    # Not again and again: the system may have no other.
    assert asked(meet, 2) == DONE
    asked.team.spread()
    assert left == [3]
    asked.team._stays_until = 0.0
    said[0] = 4
    assert asked(meet, 2) == DONE
    asked.team.spread()
    assert left == [3]
    said[:] = -1, -1
    assert asked(meet, 2) == DONE
    asked.team.spread()
    assert left == [3]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="a thread cannot choose")
def test_who_is_summoned_is_kept_off_the_processor_of_the_caller(asked, monkeypatch):
    allowed = os.sched_getaffinity(0)
    for place in (*sorted(allowed), -1):
        monkeypatch.setattr(standby, "processor", lambda place=place: place)
        asked.summon()
        thread = asked.team._threads[1]._number
        assert thread != get_native_id()
        if place >= 0:
            assert os.sched_getaffinity(thread) == (allowed - {place} or allowed)
        asked.dismiss()
    assert os.sched_getaffinity(0) == allowed


def test_a_worker_has_the_same_thread_each_time(asked):
    threads = set()
    for _ in range(3):
        asked.summon()
        threads.add(asked.team._threads[1]._number)
        asked.dismiss()
    assert len(threads) == 1


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="a thread cannot choose")
def test_two_on_one_processor_come_to_an_end(asked):
    """Who waits for the other keeps it from its work there."""
    allowed = os.sched_getaffinity(0)
    asked.summon()
    try:
        for thread in (0, asked.team._threads[1]._number):
            os.sched_setaffinity(thread, {min(allowed)})
        for _ in range(20):
            assert asked(meet, 2) == DONE
            assert asked.begun[:2] == [1, 1]
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.fixture
def clock(monkeypatch):
    """The time, and who is summoned and does not come."""

    class Clock:
        now, summoned = 100.0, 0

        def summon(self, _worker, _place):
            self.summoned += 1
            return True

    found = Clock()
    made = Asked()
    monkeypatch.setattr(standby, "perf_counter", lambda: found.now)
    monkeypatch.setattr(made.team, "_is_summoned", found.summon)
    found.team = made.team
    return found


class TestSummons:
    def test_the_second_of_calls_that_follow_one_another(self, clock):
        assert not clock.team.is_attended(False)
        clock.now += 2 * standby._BURST
        assert not clock.team.is_attended(False)
        assert clock.summoned == 0
        clock.now += standby._BURST / 2
        assert not clock.team.is_attended(False)
        assert clock.summoned == 1
        # Who was summoned is awaited; nobody else is.
        assert clock.team.is_attended(False)
        assert clock.summoned == 1

    def test_nobody_for_a_while_after_work_that_was_done_twice_too_often(self, clock):
        for in_time, is_there in ((0, True), (standby._ENOUGH, True), (standby._ENOUGH - 1, False)):
            clock.team._words[standby._IN_TIME] += in_time
            clock.team.keep("arrays", standby.LATE)
            assert clock.team.is_attended(True) is is_there
            clock.team._tickets[1] = standby._ABSENT
        clock.now += standby._REST_OF_ALL
        assert clock.team.is_attended(True)

    def test_where_threads_take_no_more_work_nobody_stands_by(self, clock, monkeypatch):
        """So it is as the interpreter ends, and where the system starts no further thread."""
        monkeypatch.undo()
        monkeypatch.setattr(standby, "perf_counter", lambda: clock.now)
        asked = []

        def refuse(*_given):
            asked.append(1)
            raise RuntimeError("no more")

        monkeypatch.setattr(standby, "_Thread", refuse)
        for _ in range(3):
            clock.team.is_attended(True)
            assert clock.team._tickets[1] == standby._ABSENT
        assert len(asked) == 1
        clock.now = clock.team._rests_until
        clock.team.is_attended(True)
        assert len(asked) == 2

    def test_long_work_summons_at_once(self, clock):
        assert clock.team.is_attended(True)
        assert clock.summoned == 1

    def test_who_came_for_nothing_rests_longer_each_time(self, clock):
        rests = []
        for _ in range(7):
            assert clock.team.is_attended(True)
            clock.team._rounds = 0
            clock.team._be_there(1)
            assert not clock.team.is_attended(True)
            rests.append(clock.team._rests_until - clock.now)
            clock.now = clock.team._rests_until
        assert rests[0] == pytest.approx(standby._LEAST_REST)
        assert rests[1] == pytest.approx(2 * rests[0])
        assert rests[-1] == rests[-2] == pytest.approx(standby._MOST_REST)
        assert clock.summoned == 7


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes are not forked safely")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_nobody_standing_by(asked):
    """A thread of the parent would be waited for, and the board stay closed, for ever."""
    asked.summon()
    before, asked.team._tickets[1] = asked.ticket, standby._AT_WORK
    asked.team._words[standby._LOCK] = 1
    child = os.fork()
    if not child:
        is_right = asked.ticket == standby._ABSENT and asked(count, 2) == DONE
        os._exit(0 if is_right else 1)
    asked.team._tickets[1], asked.team._words[standby._LOCK] = before, 0
    assert os.waitpid(child, 0)[1] == 0
