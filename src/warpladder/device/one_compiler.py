"""Of several processes that need a function compiled, one compiles it; the others find it on disk.

Workers that start together, of a pool or a test suite, would each compile the same functions: two
processes that make three small calls took 30 s of CPU time, and take 14. Whoever compiles one for
arguments of some types holds a lock on a file beside what is kept. The system lets go of it when
the process ends, however it does. What is on disk already is taken from there without a lock. Where
there are no locks, on Windows and on some file systems, each process compiles for itself, and so
does who has waited for long, from then on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from time import monotonic, sleep

__all__ = ["alone"]

if sys.platform != "win32":
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

# Seconds. Few functions take more than ten; a process that was stopped must not stop others.
_PATIENCE, _PAUSE = 60.0, 0.01
_held: set[Path] = set()
_gave_up = Event()


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the lock on a file, as far as that can be had; by one thread at a time."""
    if sys.platform == "win32" or path in _held:
        yield
        return
    try:
        file = path.open("ab")
    except OSError:
        yield
        return
    with file:
        with suppress(OSError):
            _wait_for(file.fileno())
        _held.add(path)
        try:
            yield
        finally:
            _held.remove(path)
            # Closing is not enough where a process was forked meanwhile: it has the file, too.
            with suppress(OSError):
                flock(file.fileno(), LOCK_UN)


def _wait_for(number: int) -> None:
    """Wait for the lock on an open file; not for ever, and in vain only once in a process."""
    end = monotonic() + (0 if _gave_up.is_set() else _PATIENCE)
    while sys.platform != "win32":
        try:
            flock(number, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            if monotonic() > end:
                _gave_up.set()
                return
            sleep(_PAUSE)
        else:
            return
