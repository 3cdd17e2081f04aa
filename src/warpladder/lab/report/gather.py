"""Everything that a report tells: ladders, explorations and the machine, put into one document.

The document is plain values. It is what JSON has, and the page is made from it alone.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from multiprocessing import active_children, get_context, resource_tracker
from threading import current_thread, main_thread
from time import perf_counter
from typing import Any

from warpladder.errors import DeviceError, WarpladderError
from warpladder.lab.documents import ladder_document, recorded_document, recording_document
from warpladder.lab.explore.registry import find_exploration
from warpladder.lab.recorded import Recording, recording_of, timed_of
from warpladder.lab.registry import find_ladder
from warpladder.lab.report.examine import Examiner, Job
from warpladder.lab.sources import SOURCES
from warpladder.rung import Ladder
from warpladder.simulator.checks.counters import NSIGHT_COMPUTE
from warpladder.version import __version__

__all__ = ["gather"]

#: A process takes 300 MB; more of them than this wait for the slowest rung.
_MOST_PROCESSES = 8

_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


def gather(
    names: Sequence[str],
    explorations: Sequence[str],
    examiner: Examiner | None,
    *,
    processes: int = 1,
    progress: Callable[[float], None] = lambda _done: None,
) -> dict[str, Any]:
    """Return the document of a report; numbers that are none are null.

    Parameters
    ----------
    names
        Of the ladders, in the order of the report.
    explorations
        Names of those to run.
    examiner
        Runs rungs and explorations here, one after the other. With None others do, on the
        simulator.
    processes
        How many of those.
    progress
        Told the fraction that is done.

    Raises
    ------
    InputError
        There is no such ladder or exploration.
    """
    from warpladder.device.doctor import doctor

    began = perf_counter()
    ladders = [find_ladder(name) for name in names]
    jobs = [
        Job("rung", name, rung.name)
        for name, ladder in zip(names, ladders, strict=True)
        for rung in (*ladder.rungs, *(wrong.rung for wrong in ladder.wrong))
    ]
    jobs += [Job("exploration", "", find_exploration(name).name) for name in explorations]
    done = []
    with _examined(jobs, examiner, processes) as results:
        for result in results:
            done.append(result)
            progress(len(done) / len(jobs))
    results = iter(done)
    chapters = [_chapter(ladder, results) for ladder in ladders]
    ceilings = examiner.ceilings.measured() if examiner and examiner.ceilings else []
    return {
        "warpladder": __version__,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": perf_counter() - began,
        "ok": all(rung["ok"] for part in chapters for rung in (*part["rungs"], *part["wrong"])),
        "machine": doctor().as_dict(),
        "device": examiner.device.properties.name if examiner else "the simulator",
        "simulated": examiner is None or examiner.is_simulated,
        "ceilings": [known._asdict() for known in ceilings],
        "ladders": chapters,
        "explorations": list(results),
        "sources": [asdict(source) for source in SOURCES.values()],
        "nsight_compute": NSIGHT_COMPUTE,
    }


def _chapter(ladder: Ladder, examined: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Return a ladder with what became of its rungs, which come in their order."""
    stated = ladder_document(ladder)
    return {
        **stated,
        "rungs": [{**rung, **next(examined)} for rung in stated["rungs"]],
        "wrong": [{**rung, **next(examined)} for rung in stated["wrong"]],
        "recorded": _recorded(ladder, recording_of(ladder.name)),
    }


def _recorded(ladder: Ladder, recording: Recording | None) -> dict[str, Any] | None:
    """Return the recorded times of a ladder's rungs, in their order."""
    stated = recording_document(recording)
    times = [
        {"rung": rung.name, **time}
        for rung in ladder.rungs
        for time in recorded_document(recording, rung)
    ]
    return stated and {**stated, "of": timed_of(ladder.rungs), "times": times}


@contextmanager
def _examined(
    jobs: Sequence[Job], examiner: Examiner | None, processes: int
) -> Iterator[Iterator[dict[str, Any]]]:
    """Give the results of jobs in their order; whoever works on them ends with the block."""
    if examiner is not None:
        yield map(examiner.examine, jobs)
        return
    others = set(active_children())
    most = min(processes, len(jobs), _MOST_PROCESSES)
    # A process that is forked while others hold locks may wait for them for ever.
    pool = ProcessPoolExecutor(most, get_context("spawn"), initializer=_begin)
    try:
        asked = _asked(pool, jobs)
        yield (one.result() for one in asked)
    except WarpladderError:
        # What else runs ends soon; to end it now would leave the pool's own thread in disorder.
        pool.shutdown(cancel_futures=True)
        raise
    except BrokenProcessPool as fault:
        raise DeviceError(
            "a process that ran rungs on the simulator was ended from outside; if memory was "
            "short, ask for a ladder at a time"
        ) from fault
    except BaseException:
        for child in set(active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _asked(pool: ProcessPoolExecutor, jobs: Sequence[Job]) -> list[Future[dict[str, Any]]]:
    """Hand jobs to a pool, which starts its processes for them."""
    with _signals_later(), _interruptions_blocked():
        # Not by map(), which cancels what is left: the pool's own thread, told that its processes
        # are ended, stumbles over that.
        return [pool.submit(_examine, job) for job in jobs]


@contextmanager
def _signals_later() -> Iterator[None]:
    """Keep signals that ask to end until the block has ended.

    A process that one of them found half started would be known to nobody, and would tell of its
    end at length.
    """
    came: list[int] = []
    before: dict[int, Any] = {}
    # Python lets only the main thread handle signals.
    if current_thread() is main_thread():
        for name in _ENDING:
            if (number := getattr(signal, name, None)) is not None:
                before[number] = signal.signal(number, lambda asked, _frame: came.append(asked))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came[:1]:
            signal.raise_signal(number)


@contextmanager
def _interruptions_blocked() -> Iterator[None]:
    """Let processes that are started have Ctrl-C blocked, which would end their imports aloud."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Its own start would unblock the signal.
    resource_tracker.ensure_running()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


_ours: Examiner | None = None


def _begin() -> None:
    """Make this process one that examines."""
    global _ours  # noqa: PLW0603 - a pool hands its processes nothing else to keep
    # Ctrl-C is for the process that was started, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _ours = Examiner.on_simulator()


def _examine(job: Job) -> dict[str, Any]:
    assert _ours is not None  # noqa: S101 - `_begin` came before
    return _ours.examine(job)
