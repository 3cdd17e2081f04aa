"""On which processor a thread runs, and how it goes to another one.

Who wakes a thread, or lets it go on, may have it put on its own processor although others are idle,
where it stays for many milliseconds: then two do in turn what one does.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

__all__ = ["keep_off", "leave", "place_of_question", "processor"]


@cache
def _question() -> Any:
    """Return the system's function that says on which processor a thread is.

    None where there is none, or a thread cannot choose.
    """
    if not hasattr(os, "sched_setaffinity"):
        return None
    try:
        # It takes less time than to let go of the interpreter.
        return ctypes.PyDLL(None).sched_getcpu
    except (AttributeError, OSError):
        return None


def place_of_question() -> int:
    """Return the address of that function, 0 where there is none."""
    question = _question()
    return 0 if question is None else ctypes.cast(question, ctypes.c_void_p).value or 0


def processor() -> int:
    """Return the number of this thread's processor, -1 where the system does not say.

    Examples
    --------
    >>> processor() >= -1
    True
    """
    question = _question()
    return -1 if question is None else int(question())


def leave(number: int) -> None:
    """Let this thread go from a processor to another that it may be on, if there is one.

    Where it goes later is up to the system again.
    """
    try:
        allowed = os.sched_getaffinity(0)
        if allowed - {number}:
            os.sched_setaffinity(0, allowed - {number})
            os.sched_setaffinity(0, allowed)
    except OSError:
        # It may be forbidden, and the processors may change meanwhile. Here is no bad place either.
        return


def keep_off(thread: int, number: int) -> None:
    """Let a thread be anywhere but on a processor, as far as this one may, if that leaves any.

    It is given by the system's number of it. To tell it before it is woken is what counts: one that
    is put on its waker's processor gets there only after milliseconds, as the waker goes on.
    """
    try:
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(thread, allowed - {number} or allowed)
    except OSError:
        # As above; the thread may be gone, too.
        return
