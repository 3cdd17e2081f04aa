"""Threads that stand by in compiled code, for work that is done before a thread can be woken.

To hand work to a kept thread of Python's takes 30 us, in which a core adds a megabyte. A thread
that stands by looks at a word of a shared *board* again and again, without the interpreter, and
begins in less than one. That keeps its core busy; so threads do it only while calls follow one
another. The second of such calls summons them, and each goes when nothing was asked of it for a
while.

Work comes in *pieces* that do not depend on each other. Each worker begins at a place of its own,
so that the same core meets the same memory from call to call, and goes on with what nobody has
taken. Every other work goes back, since it may be on what the last one was on, whose end lies in
the caches of each core: sums of 8 MB of float32 by two cores of a Xeon, calls in a loop, took 188
us where all began at the front, and take 134.

Who has not begun is not waited for, and who has not for much longer than the work takes: whoever
shares the machine may hold up a thread at its piece for many times as long. Then the caller is
told, who does the work again, and the board serves nobody until that thread is back.

Who stands by is of no use on the processor of the caller, where the system may put it although
others are idle. So it is kept off there from before it is woken, a caller that comes to it leaves,
and who waits offers its core to others now and then. Of bursts of 10 ms after rests of 0.2 s, on a
virtual machine of two cores whose neighbours were busy, the median call took, in us, norms of 1, 2
and 4 MB of float64: 25, 45 and 55 while threads were woken as the system does it, 13.5, 26 and 44
so; 17 to 18, 35 and 64 by one thread.

Measured on a Xeon of which this process had 2 and 8 cores (`benchmarks/standby.py`), in us: sums of
4 MB of float32 84 and 33, by one thread alone 168 and 164. Where others keep all cores busy, such
calls took between a third less and half as much again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import RLock, get_native_id
from time import perf_counter
from typing import Any

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.device.native import call_at, code_of
from warpladder.device.processors import keep_off, leave, place_of_question, processor
from warpladder.device.subroutines import entry_for, subroutine
from warpladder.device.waiting import LOOKS, pause, wait_a_moment
from warpladder.device.words import (
    WORD_BYTES,
    exchanged_if,
    fetch_add,
    load,
    read_at,
    store,
    write_at,
)

__all__ = [
    "CLOSED",
    "DONE",
    "GIVEN",
    "GIVEN_WORDS",
    "LATE",
    "MOST_PIECES",
    "Standby",
    "is_opened",
    "share",
    "standby",
]

MOST_PIECES = 16
"""Pieces of one piece of work, at the most."""

# More share a cache and the way to memory.
_MOST_WORKERS = 8

# The board. A cache line that another core has written takes 0.1 us to come. So two lines each have
# what callers alone look at, what hardly ever changes, and each worker; between them stands what is
# asked for, as close as can be.
_APART = 16
_LOCK, _IN_TIME = range(2)
_WORKERS, _PATIENCE, _QUESTION, _CROWDED = range(_APART, _APART + 4)
_TASK, _PIECES, _IS_BACK = range(2 * _APART, 2 * _APART + 3)
GIVEN = _IS_BACK + 1
"""Where on the board stands what a task is given, up to `GIVEN_WORDS`."""
GIVEN_WORDS = 4 * _APART - GIVEN
# A worker's ticket, its processor, and how often somebody tried to take one of its own pieces. The
# caller is worker 0, whose ticket nobody looks at.
_TICKETS, _PLACE, _TAKEN = GIVEN + GIVEN_WORDS, 1, 2
_WORDS = _TICKETS + _APART * _MOST_WORKERS

# What a ticket says.
_ABSENT, _WAITING, _CALLED, _AT_WORK = range(4)

DONE, CLOSED, LATE = range(3)
"""What came of work: it is done; the board was closed; somebody was not waited for."""

# Seconds: how long a worker stands by, and how long one is waited for after any work. To summon one
# takes 0.02 to 0.08 ms from the calls that do; BLAS and OpenMP have theirs stand by for longer.
_IDLE, _LEAST_WAIT = 1e-3, 2e-4
# Calls follow one another that are not further apart. Who was summoned for nothing, because the
# caller's core was the only one free, is not summoned again for a while, twice as long each time.
_BURST, _LEAST_REST, _MOST_REST = 1e-3, 1e-3, 16e-3
# Nor is anybody after one was waited for in vain, so that the work was done twice, unless so much
# work was done in time before.
_REST_OF_ALL, _ENOUGH = 25e-3, 50
# Who has gone to another processor stays there for a while.
_STAY = 5e-3
# So few that nobody is let go ahead meanwhile.
_TRIES, _ROUNDS = 10, LOOKS - 1


@subroutine
def _ticket(worker: Any) -> Any:
    return _TICKETS + _APART * worker


@subroutine
def _processor(board: Any) -> Any:
    """Return the number of this thread's processor, -1 where the system does not say."""
    question = load(board, _QUESTION)
    return code_of(question, ()) if question else -1


@subroutine
def _work(board: Any, worker: Any) -> None:
    """Take pieces as long as there are any, a worker's own first, then those of the next.

    Its own are counted beside its ticket: to take one no line has to come from another core.
    """
    workers, pieces, task = load(board, _WORKERS), load(board, _PIECES), load(board, _TASK)
    given, is_back, owner = board + GIVEN * WORD_BYTES, load(board, _IS_BACK), worker
    for _ in range(workers):
        begin, end = pieces * owner // workers, pieces * (owner + 1) // workers
        taken = _ticket(owner) + _TAKEN
        # To try takes the line from all others, to look does not.
        while load(board, taken) < end - begin:
            number = fetch_add(board, taken, 1)
            if number < end - begin:
                call_at(task, (given, end - 1 - number if is_back else begin + number))
        owner += -1 if is_back else 1
        if owner < 0:
            owner += workers
        elif owner >= workers:
            owner -= workers


@cached
@njit(nogil=True)
def _stand_by(board, worker, rounds):
    """Do what is asked for, until for so many rounds it was nothing; return how often it was."""
    ticket, asked, idle = _ticket(worker), 0, 0
    place = _processor(board)
    store(board, ticket + _PLACE, place)
    while True:
        state = load(board, ticket)
        if state == _CALLED and exchanged_if(board, ticket, _CALLED, _AT_WORK):
            _work(board, worker)
            here = _processor(board)
            # The caller looks at this line again and again, and each word takes it from there.
            if here != place:
                place = here
                store(board, ticket + _PLACE, place)
            store(board, ticket, _WAITING)
            asked += 1
            idle = 0
        if state == _ABSENT or (idle > rounds and exchanged_if(board, ticket, _WAITING, _ABSENT)):
            return asked
        wait_a_moment(idle)
        idle += 1


@subroutine
def is_opened(board: Any) -> Any:
    """Open the board for a piece of work; return whether nobody is at another one.

    What the task is given goes to `GIVEN` then, and `share` has to follow.
    """
    if not exchanged_if(board, _LOCK, 0, 1):
        return False
    for worker in range(1, load(board, _WORKERS)):
        if load(board, _ticket(worker)) > _WAITING:
            store(board, _LOCK, 0)
            return False
    return True


@subroutine
def share(board: Any, task: Any, pieces: Any, patience: Any) -> Any:
    """Do the pieces of a work together with who stands by, and close the board.

    A task is the address of a compiled function of the address of `GIVEN` and a piece's number. In
    the end others are waited for so many rounds, or a few for any work. Returns `DONE`, or what
    `Standby.keep` has to know.
    """
    workers = load(board, _WORKERS)
    # Nobody reads these before it is called, which stands in order with all.
    write_at(board, _PIECES, pieces)
    write_at(board, _TASK, task)
    write_at(board, _IS_BACK, 1 - read_at(board, _IS_BACK))
    # All before the first is called, who may go on with those of others.
    for worker in range(workers):
        write_at(board, _ticket(worker) + _TAKEN, 0)
    for worker in range(1, workers):
        exchanged_if(board, _ticket(worker), _WAITING, _CALLED)
    _work(board, 0)
    left, place = max(load(board, _PATIENCE), patience), _processor(board)
    for worker in range(1, workers):
        ticket = _ticket(worker)
        is_here = place >= 0 and load(board, ticket + _PLACE) == place
        if is_here and load(board, ticket) != _ABSENT:
            store(board, _CROWDED, place + 1)
        # To try takes the line even from who is at work.
        if load(board, ticket) == _CALLED:
            exchanged_if(board, ticket, _CALLED, _WAITING)
        while left and load(board, ticket) == _AT_WORK:
            if is_here:
                wait_a_moment(left)
            else:
                pause()
            left -= 1
    if left:
        write_at(board, _IN_TIME, read_at(board, _IN_TIME) + 1)
    store(board, _LOCK, 0)
    return DONE if left else LATE


class _Thread:
    """A kept thread of its own: whoever wakes it knows which one, and where it may be."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="warpladder")
        self._number = self._pool.submit(get_native_id).result()

    def wake(self, call: Callable[[int], object], worker: int, of_caller: int) -> None:
        if of_caller >= 0:
            keep_off(self._number, of_caller)
        self._pool.submit(call, worker)


class Standby:
    """A board, and the threads that stand by it.

    Attributes
    ----------
    board
        Where the words are that all share.
    workers
        How many threads share a work at the most, the caller one of them.
    attended
        Its element is 0 where nobody stands by.
    crowded
        Its element is not 0 where this thread should `spread`.
    """

    def __init__(self, workers: int) -> None:
        room = np.zeros(_WORDS + _APART, np.int64)
        begin = -room.ctypes.data // WORD_BYTES % _APART
        self._words = room[begin : begin + _WORDS]
        self.board = self._words.ctypes.data
        self._tickets = self._words.data[_TICKETS::_APART]
        self.attended, self._lock = self._tickets[1:2], self._words.data[_LOCK : _LOCK + 1]
        self._places = self._words.data[_TICKETS + _PLACE :: _APART]
        self.crowded = self._words.data[_CROWDED : _CROWDED + 1]
        self._words[_QUESTION] = place_of_question()
        self.workers = self._words[_WORKERS] = min(workers, _MOST_WORKERS)
        self._helpers, self._changes = range(1, self.workers), RLock()
        self._others = self._tickets[1 : self.workers]
        self._all_waiting = [_WAITING] * len(self._helpers)
        self._threads: dict[int, _Thread] = {}
        self._stand_by = entry_for(_stand_by, 1, 1, 1)
        self._rate = self._rounds_per_second()
        self._rounds = self.rounds(_IDLE)
        self._words[_PATIENCE], self._words[_IN_TIME] = self.rounds(_LEAST_WAIT), _ENOUGH
        self._asked_last = self._rests_until = self._stays_until = 0.0
        self._rest = _LEAST_REST
        # What a thread works with that was not waited for.
        self._kept: Any = None
        _known.append(self)

    def rounds(self, seconds: float) -> int:
        """Return how often who waits looks for news in so many seconds."""
        return int(self._rate * seconds)

    def is_attended(self, is_long: bool) -> bool:
        """Tell whether somebody is there; summon all where calls follow one another.

        Who is summoned is there while work that is long goes on.
        """
        if self.attended[0]:
            return True
        now = perf_counter()
        is_wanted = is_long or now - self._asked_last < _BURST
        self._asked_last = now
        if not is_wanted or now < self._rests_until:
            return False
        with self._changes:
            here = processor()
            for worker in self._helpers:
                if self._tickets[worker] == _ABSENT:
                    self._places[worker] = -1
                    self._tickets[worker] = _WAITING
                    is_summoned = False
                    try:
                        is_summoned = self._is_summoned(worker, here)
                    finally:
                        if not is_summoned:
                            self._tickets[worker] = _ABSENT
        return is_long

    def is_free(self) -> bool:
        """Tell whether all stand by, and nobody is at a piece of work."""
        return not self._lock[0] and self._others.tolist() == self._all_waiting

    def _is_summoned(self, worker: int, of_caller: int) -> bool:
        """Wake the thread of a worker elsewhere than on the caller's processor; tell whether."""
        try:
            if worker not in self._threads:
                self._threads[worker] = _Thread()
            self._threads[worker].wake(self._be_there, worker, of_caller)
        except RuntimeError:
            # The interpreter is about to end, or the system starts no further thread.
            self._rests_until = perf_counter() + _REST_OF_ALL
            return False
        return True

    def spread(self) -> None:
        """Go elsewhere if this thread was on the processor of one that stands by.

        Threads that hand each other the interpreter pull each other there, and the system may leave
        them there for as long as calls go on. But it knows best where all are in use: then others
        would be met again and again.
        """
        crowded = self.crowded[0]
        if crowded:
            self.crowded[0] = 0
            now = perf_counter()
            if now > self._stays_until:
                self._stays_until = now + _STAY
                leave(crowded - 1)

    def keep(self, what: Any, answer: int) -> None:
        """Keep what work goes on with, whose answer was not `DONE`, until no thread is at it."""
        if answer != LATE:
            return
        with self._changes:
            self._kept = what
        if self._words[_IN_TIME] < _ENOUGH:
            self._rests_until = perf_counter() + _REST_OF_ALL
        self._words[_IN_TIME] = 0

    def begin_anew(self) -> None:
        """Forget all threads: a forked process has none of them."""
        self._words[_LOCK] = 0
        for worker in self._helpers:
            self._tickets[worker] = _ABSENT
        self._changes, self._threads = RLock(), {}

    def _be_there(self, worker: int) -> None:
        if self._stand_by(self.board, worker, self._rounds):
            self._rest = _LEAST_REST
        else:
            self._rests_until = perf_counter() + self._rest
            self._rest = min(2 * self._rest, _MOST_REST)
        with self._changes:
            if all(self._tickets[each] <= _WAITING for each in self._helpers):
                self._kept = None

    def _rounds_per_second(self) -> float:
        """Return how often a second who stands by looks at its ticket."""
        words, most = np.zeros_like(self._words), 0.0
        for _ in range(_TRIES):
            words[_TICKETS + _APART] = _WAITING
            began = perf_counter()
            self._stand_by(words.ctypes.data, 1, _ROUNDS)
            # This thread may lose its core meanwhile.
            most = max(most, _ROUNDS / (perf_counter() - began))
        return most


_known: list[Standby] = []


@cache
def standby(workers: int) -> Standby:
    """Return the board of so many workers, the caller one of them."""
    return Standby(workers)


def _begin_anew() -> None:
    for each in _known:
        each.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
