"""The CPU engine on some of the cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["limited"]

_WORKERS = "NUMBA_NUM_THREADS"


@contextmanager
def limited(workers: int) -> Iterator[None]:
    """Let a team of the CPU engine have so many workers."""
    before = os.environ.get(_WORKERS)
    os.environ[_WORKERS] = str(workers)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_WORKERS]
        else:
            os.environ[_WORKERS] = before
