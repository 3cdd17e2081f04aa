"""Barriers and fences."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
from numba import cuda

from warpladder.device.numba_target import GridGroup, types
from warpladder.simulator.intrinsics.call import Call, Handlers, nothing
from warpladder.simulator.machine.builder import Builder
from warpladder.simulator.machine.program import BLOCK, GRID, WARP

__all__ = ["HANDLERS"]


def _syncthreads(t: Builder, call: Call) -> None:
    t.barrier(BLOCK)
    nothing(t, call)


def _reducing(reduce: Any) -> Any:
    def handler(t: Builder, call: Call) -> None:
        predicate = t.converted(call.arguments[0], types.int32)
        raw, done = t.into(call.scope, call.target, call.signature.return_type)
        t.barrier(BLOCK, predicate=predicate, reduce=reduce, result=raw)
        done()

    return handler


def _syncwarp(t: Builder, call: Call) -> None:
    if call.arguments:
        mask = t.converted(call.arguments[0], types.int64)
    else:
        mask = t.new_slot(np.int64(0xFFFFFFFF))
    t.barrier(WARP, mask=mask)
    nothing(t, call)


def _this_grid(t: Builder, call: Call) -> None:
    t.cooperative = True
    nothing(t, call)


def _grid_sync(t: Builder, call: Call) -> None:
    t.cooperative = True
    t.barrier(GRID)
    call.scope.slots[call.target.name] = t.new_slot(np.int32(0))


def _fence(*, within: bool) -> Any:
    def handler(t: Builder, call: Call) -> None:
        def run(frame: Any) -> None:
            if frame.launch.monitor is not None:
                frame.launch.monitor.fence(frame, within=within)

        t.emit(run)
        nothing(t, call)

    return handler


def _do_nothing(frame: Any) -> None:
    """Stand for an instruction without an effect here: it is counted."""
    del frame


def _pause(t: Builder, call: Call) -> None:
    t.emit(_do_nothing)
    nothing(t, call)


HANDLERS: Handlers = {
    cuda.syncthreads: _syncthreads,
    cuda.syncthreads_count: _reducing(lambda hits_of: hits_of[0].astype(np.int32)),
    cuda.syncthreads_and: _reducing(lambda hits_of: (hits_of[0] == hits_of[1]).astype(np.int32)),
    cuda.syncthreads_or: _reducing(lambda hits_of: (hits_of[0] > 0).astype(np.int32)),
    cuda.syncwarp: _syncwarp,
    cuda.cg.this_grid: _this_grid,
    (GridGroup, "sync"): _grid_sync,
    cuda.threadfence: _fence(within=False),
    cuda.threadfence_system: _fence(within=False),
    cuda.threadfence_block: _fence(within=True),
    cuda.nanosleep: _pause,
    builtins.breakpoint: _pause,
}
