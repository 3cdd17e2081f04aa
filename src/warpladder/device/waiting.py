"""What a thread does that waits in compiled code for another one's word."""

from __future__ import annotations

import os
from platform import machine
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from warpladder.device.llvm import call_outside
from warpladder.device.subroutines import subroutine

__all__ = ["LOOKS", "pause", "wait_a_moment", "yield_core"]

LOOKS = 256
"""After so many looks a core is offered to others: they take 10 us, to offer it takes 0.3."""


@intrinsic
def pause(typingctx):
    """Let the other thread of this core go ahead, where the processor has a word for that."""

    def codegen(context, builder, signature, args):
        if machine().lower() in {"x86_64", "amd64"}:
            call_outside(builder, "llvm.x86.sse2.pause", ir.VoidType())
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def yield_core(typingctx):
    """Let another thread have this core, where the system has a plain call for it."""

    def codegen(context, builder, signature, args):
        if os.name == "posix":
            call_outside(builder, "sched_yield", ir.IntType(32))
        return context.get_dummy_value()

    return types.void(), codegen


@subroutine
def wait_a_moment(looks: Any) -> None:
    """Do nothing before a thread looks again that has looked so many times.

    Who is waited for may be waiting for this core, where the system has put both although others
    are idle.
    """
    if looks % LOOKS == LOOKS - 1:
        yield_core()
    pause()
