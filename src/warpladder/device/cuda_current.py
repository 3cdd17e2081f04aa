"""Which GPU the driver works on: ours during a call, and afterwards again whichever it was.

The driver has one current GPU for each thread. PyTorch and CuPy make new arrays on it, and Numba
launches there; a call that left its own behind would move what the caller does next to another GPU.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from warpladder.device.cuda_faults import named

__all__ = ["CurrentGpu", "Held", "current_context"]


class CurrentGpu:
    """Makes a GPU the current one of a thread, as long as a ``with`` statement lasts.

    Parameters
    ----------
    gpu
        The device of cuda.core.
    index
        Of the GPU.
    is_alone
        Whether there is no other. It need then be made current once on each thread, and stays so.
    """

    def __init__(self, gpu: Any, index: int, *, is_alone: bool) -> None:
        self._gpu, self._index, self.is_alone = gpu, index, is_alone
        self._thread = threading.local()

    def __enter__(self) -> None:
        if self.is_alone and hasattr(self._thread, "before"):
            return
        before = None if self.is_alone else current_context()
        with named(f"opening GPU {self._index}"):
            self._gpu.set_current()
        if not hasattr(self._thread, "before"):
            self._thread.before = []
        self._thread.before.append(before)

    def __exit__(self, *_: object) -> None:
        if not self.is_alone:
            _make_current(self._thread.before.pop())


class Held:
    """Memory of one of several GPUs: it goes back on the default stream of that one.

    Parameters
    ----------
    buffer
        The buffer of cuda.core.
    current
        Makes its GPU current.
    """

    def __init__(self, buffer: Any, current: CurrentGpu) -> None:
        self._buffer, self._current = buffer, current

    def fill(self, pattern: bytes, *, stream: Any) -> None:
        """Fill it with a pattern of 1, 2 or 4 bytes."""
        self._buffer.fill(pattern, stream=stream)

    def __del__(self) -> None:
        # At the end of the process nothing can be imported any more, and all goes back anyway.
        if not sys.is_finalizing():
            with self._current:
                self._buffer.close()


def current_context() -> Any:
    """Return the context of the driver that is current on this thread; none may be."""
    from cuda.bindings import driver

    return driver.cuCtxGetCurrent()[1]


def _make_current(context: Any) -> None:
    from cuda.bindings import driver

    driver.cuCtxSetCurrent(context)
