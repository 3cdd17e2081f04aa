"""A call that is to be translated, as the handler of an intrinsic sees it.

A handler gets a `Builder`, which can emit operations but translates no further code: what has to be
inlined is no intrinsic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from warpladder.simulator.machine.builder import Builder, Operand, Scope
from warpladder.simulator.machine.program import Site

__all__ = ["Call", "Handlers", "emit", "nothing"]


@dataclass(slots=True)
class Call:
    """A call to be translated.

    Attributes
    ----------
    scope, target
        Where it stands, and the IR variable for its result.
    arguments
        Its arguments in the order of the parameters.
    signature
        As Numba typed it.
    this
        The object of a method, else None.
    site
        The source line.
    """

    scope: Scope
    target: Any
    arguments: list[Operand]
    signature: Any
    this: Operand | None
    site: Site

    @property
    def receiver(self) -> int:
        """The variable of the object whose method is called."""
        return self.this.slot if self.this is not None else -1


#: Handlers by function (the object itself), name of a method, or ``(type class, method)``.
Handlers = dict[Any, Callable[[Builder, Call], None]]


def emit(t: Builder, call: Call, function: Any, reads: list[int], *, memory: bool = False) -> None:
    """Emit ``target = function(frame, *values)``."""
    raw, done = t.into(call.scope, call.target, call.signature.return_type)
    slots = tuple(reads)

    def run(frame: Any) -> None:
        v = frame.variables
        v[raw] = function(frame, *[v[slot] for slot in slots])

    t.emit(run, slots, (raw,), memory=memory)
    done()


def nothing(t: Builder, call: Call) -> None:
    """Let the call have no result."""
    call.scope.slots[call.target.name] = t.new_slot(None)
