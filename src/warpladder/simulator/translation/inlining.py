"""Calls of functions written in Python: each becomes a copy of the function's body.

So a barrier inside a device function is a barrier of the kernel. A body has calls of its own: what
translates those needs an `Inliner`, which leaves it to the `Translator` how a body is translated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from warpladder.device.numba_target import ir
from warpladder.simulator.frontend.inference import TypedFunction, typed_function
from warpladder.simulator.machine.builder import Builder, Operand, Scope
from warpladder.simulator.machine.program import Block, Jump

__all__ = ["Inliner", "argument_names"]


class Inliner(Builder, ABC):
    """A builder that can call functions written in Python."""

    @abstractmethod
    def body(self, scope: Scope, entry: Block) -> None:
        """Translate the function of ``scope`` into blocks that begin at ``entry``."""

    def unpacked(self, items: Operand) -> list[Operand]:
        """Return the parts of a tuple."""
        return [
            Operand(self.part(items.slot, number), kind)
            for number, kind in enumerate(items.type.types)
        ]

    def call_python(
        self, scope: Scope, target: Any, dispatcher: Any, operands: list[Operand], signature: Any
    ) -> None:
        """Translate ``target = function(*operands)``, typed for the types in ``signature``."""
        receiver = () if signature.recvr is None else (signature.recvr,)
        function = typed_function(dispatcher, (*receiver, *signature.args))
        raw, done = self.into(scope, target, signature.return_type)
        if function in self.inlining:
            self.refuse(f"{function.name}, which calls itself; write it as a loop")
        self.inlining.append(function)
        site = self.site
        self.calls.append(site)
        following = Block()
        inner = Scope(function)
        inner.after = following
        inner.result = Operand(raw, signature.return_type)
        names = argument_names(function)
        for name, wanted, operand in zip(names, function.arguments, operands, strict=True):
            inner.slots[f"arg.{name}"] = self.converted(operand, wanted)
        entry = self.new_block()
        self.end(Jump(entry, self.site), entry)
        self.body(inner, entry)
        self.inlining.pop()
        self.calls.pop()
        self.blocks.append(following)
        self.go_on(following)
        self.site = site
        done()


def argument_names(function: TypedFunction) -> list[str]:
    """Return what the parameters of a function are called in its IR."""
    by_index: dict[int, str] = {}
    for block in function.blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Arg):
                by_index[statement.value.index] = statement.value.name
    return [by_index.get(k, f"unused{k}") for k in range(len(function.arguments))]
