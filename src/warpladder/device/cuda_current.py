"""Which GPU is current for a thread: where there are several, callers keep the one they had.

PyTorch and CuPy make new arrays on the GPU that is current. So whoever makes another one current,
for the driver to work on, has to take it back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["current_context", "keep_current", "make_current"]


def current_context() -> Any:
    """Return what stands for the GPU that is current for this thread, None where none is."""
    from cuda.bindings import driver

    code, context = driver.cuCtxGetCurrent()
    return None if code or not int(context) else context


def make_current(context: Any) -> None:
    """Make a GPU current again; nothing where none was."""
    if context is not None:
        from cuda.bindings import driver

        driver.cuCtxSetCurrent(context)


def keep_current(thing: Any, names: Iterable[str]) -> None:
    """Let methods of an object leave current what was current when they were called."""
    for name in names:
        setattr(thing, name, _keeping(getattr(thing, name)))


def _keeping(work: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(work)
    def kept(*args: Any, **options: Any) -> Any:
        before = current_context()
        try:
            return work(*args, **options)
        finally:
            make_current(before)

    return kept
