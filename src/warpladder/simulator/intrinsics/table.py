"""The intrinsics: all functions and methods with a handler of their own."""

from __future__ import annotations

from warpladder.simulator.intrinsics import (
    arrays,
    atomics,
    barriers,
    python,
    shared_adds,
    threads,
    warps,
    wide_loads,
)
from warpladder.simulator.intrinsics.call import Handlers

__all__ = ["HANDLERS"]

HANDLERS: Handlers = {
    **threads.HANDLERS,
    **barriers.HANDLERS,
    **atomics.HANDLERS,
    **warps.HANDLERS,
    **arrays.HANDLERS,
    **wide_loads.HANDLERS,
    **shared_adds.HANDLERS,
    **python.HANDLERS,
}
