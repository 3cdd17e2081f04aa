"""What the environment of the process asks of Numba, and what cannot be meant.

Numba reads its variables when it is first imported; a bad number of threads ends that import with a
traceback. So these functions do without Numba, and are asked before it is needed.
"""

from __future__ import annotations

import os
import sys

from warpladder.errors import DeviceError, InputError

__all__ = ["asked_threads", "require_compiler", "worker_count"]

_NUMBER = "NUMBA_NUM_THREADS"


def asked_threads() -> int | None:
    """Return ``NUMBA_NUM_THREADS``, None where it is not set.

    Raises
    ------
    InputError
        It is no whole number above 0.
    """
    # To ask for what is not there takes twice as long as whether it is.
    if _NUMBER not in os.environ:
        return None
    asked = os.environ[_NUMBER]
    try:
        threads = int(asked)
    except ValueError:
        threads = 0
    if threads < 1:
        raise InputError(
            f"the environment has NUMBA_NUM_THREADS={asked!r}, which must be a whole number above "
            "0; unset it to use all cores"
        )
    return threads


def worker_count() -> int:
    """Return how many workers a team has: the cores this process may use, or ``NUMBA_NUM_THREADS``.

    Raises
    ------
    InputError
        ``NUMBA_NUM_THREADS`` is no whole number above 0.

    Examples
    --------
    >>> worker_count() >= 1
    True
    """
    asked = asked_threads()
    if asked is not None:
        return asked
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def require_compiler() -> None:
    """Refuse to compute where Numba is told to compile nothing.

    Pure Python has no vectors, atomics or teams, of which the engines are made.

    Raises
    ------
    DeviceError
        Compiling is switched off.
    """
    from numba import config

    if config.DISABLE_JIT:
        raise DeviceError(
            "NUMBA_DISABLE_JIT is set, so Numba compiles nothing, and what computes here is "
            "compiled; unset it. The simulator works without"
        )
