"""From Numba's typed IR to a program: control flow, calls of device functions, assignments.

Device functions are inlined, so that a barrier inside one is a barrier of the kernel. What an
expression does is in `expressions` and `elements`, what a call does in `calls`, what an attribute
is in `attributes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warpladder.device.compile_errors import defined_at
from warpladder.device.numba_target import ir, types
from warpladder.errors import InputTypeError
from warpladder.simulator.frontend.inference import typed_function
from warpladder.simulator.intrinsics.python import emit_print
from warpladder.simulator.machine.builder import Operand, Scope
from warpladder.simulator.machine.memory import Buffer, View
from warpladder.simulator.machine.ordering import finish
from warpladder.simulator.machine.program import (
    Block,
    Branch,
    Exit,
    Jump,
    Program,
    SharedLayout,
    Site,
)
from warpladder.simulator.translation.elements import set_item
from warpladder.simulator.translation.expressions import translate_expression
from warpladder.simulator.translation.inlining import Inliner, argument_names
from warpladder.simulator.translation.records import store_attribute

__all__ = ["Translator", "translate"]


class Translator(Inliner):
    """Translates functions, statement by statement."""

    def body(self, scope: Scope, entry: Block) -> None:
        """Translate the function of ``scope`` into blocks that begin at ``entry``."""
        labels = sorted(scope.function.blocks)
        translated: dict[int, Block] = {labels[0]: entry}

        def block_of(label: int) -> Block:
            if label not in translated:
                translated[label] = Block()
            return translated[label]

        for label in labels:
            self.go_on(block_of(label))
            if self.block not in self.blocks:
                self.blocks.append(self.block)
            for statement in scope.function.blocks[label].body:
                self.site = Site(
                    getattr(statement.loc, "filename", scope.function.filename),
                    int(getattr(statement.loc, "line", 0) or 0),
                )
                self.statement(scope, statement, block_of)

    def statement(self, scope: Scope, statement: Any, block_of: Callable[[int], Block]) -> None:
        """Translate one IR statement."""
        match statement:
            case ir.Assign():
                self.assign(scope, statement)
            case ir.SetItem() | ir.StaticSetItem():
                set_item(self, scope, statement)
            case ir.SetAttr():
                record = self.operand(scope, statement.target)
                store_attribute(self, record, statement.attr, self.operand(scope, statement.value))
            case ir.Jump():
                self.end(Jump(block_of(statement.target), self.site), None)
            case ir.Branch():
                self.branch(scope, statement, block_of)
            case ir.Return():
                self.leave(scope, statement)
            case ir.DynamicRaise():
                self.refuse_uncompiled(
                    "an exception with a value that is not constant", "raise it with text alone"
                )
            case ir.StaticRaise() | ir.Raise():
                self.end(Exit(self.site, raises=_exception_of(scope, statement)), None)
            case ir.Print():
                self.print_statement(scope, statement)
            case ir.Del():
                pass
            case _:
                self.refuse(f"the statement {type(statement).__name__} ({statement})")

    def branch(self, scope: Scope, statement: Any, block_of: Callable[[int], Block]) -> None:
        """Translate a conditional branch."""
        condition = self.operand(scope, statement.cond)
        slot = self.converted(condition, types.boolean)
        self.note((slot,))
        taken, other = block_of(statement.truebr), block_of(statement.falsebr)
        if slot in self.fixed:
            self.end(Jump(taken if self.template[slot] else other, self.site), None)
            return
        self.block.instructions[self.site] = self.block.instructions.get(self.site, 0) + 1
        self.end(Branch(slot, taken, other, self.site), None)

    def leave(self, scope: Scope, statement: Any) -> None:
        """Translate a return: the thread exits, or goes on behind the call."""
        if scope.after is None:
            self.end(Exit(self.site), None)
            return
        if scope.result is not None and not isinstance(scope.result.type, types.NoneType):
            self.copy(self.operand(scope, statement.value), scope.result.slot, scope.result.type)
        self.end(Jump(scope.after, self.site), None)

    def assign(self, scope: Scope, statement: Any) -> None:
        """Translate an assignment."""
        name, value = statement.target.name, statement.value
        target_type = scope.type_of(statement.target)
        once = scope.assignments[name] == 1
        if isinstance(value, ir.Const | ir.Global | ir.FreeVar):
            if isinstance(target_type, types.List | types.Set):
                # Numba types it, and compiles it for no GPU.
                self.refuse(f"{value.name}, a list or set from outside; use a tuple or an array")
            self.assign_constant(scope, name, value.value, target_type, once)
        elif isinstance(value, ir.Arg):
            source = Operand(
                scope.slots[f"arg.{value.name}"], scope.function.arguments[value.index]
            )
            if once and self.conversion(source.type, target_type) is None:
                scope.slots[name] = source.slot
            else:
                self.copy(source, self.operand(scope, statement.target).slot, target_type)
        elif isinstance(value, ir.Var):
            if value.name in scope.objects:
                self.bind(scope, name, scope.objects[value.name])
                return
            source = self.operand(scope, value)
            if once and source.slot in self.fixed:
                scope.slots[name] = self.converted(source, target_type)
            else:
                self.copy(source, self.operand(scope, statement.target).slot, target_type)
        elif isinstance(value, ir.Expr):
            translate_expression(self, scope, statement.target, value)
        else:
            self.refuse(f"the value {value}")

    def print_statement(self, scope: Scope, statement: Any) -> None:
        """Translate a ``print``."""
        operands = []
        for number, argument in enumerate(statement.args):
            known = statement.consts.get(number)
            # What else Numba takes for a constant has a type: `cuda.threadIdx` is none.
            if isinstance(known, str):
                operands.append(Operand(self.new_slot(known), types.literal(known)))
            else:
                # Text that is no constant of the call is printed by no GPU, if it is known, too.
                operand = self.operand(scope, argument)
                operands.append(operand._replace(type=types.unliteral(operand.type)))
        if statement.vararg is not None:
            operands += self.unpacked(self.operand(scope, statement.vararg))
            if any(isinstance(operand.type, types.StringLiteral) for operand in operands):
                self.refuse_uncompiled("print() of text and *arguments", "name the arguments")
        emit_print(self, operands)


def _exception_of(scope: Scope, statement: Any) -> Any:
    if isinstance(statement, ir.Raise) and statement.exception is not None:
        known = scope.objects.get(statement.exception.name, RuntimeError)
        return known if isinstance(known, tuple) else (known, ())
    kind = getattr(statement, "exc_class", None) or RuntimeError
    arguments = getattr(statement, "exc_args", None) or ()
    return kind, tuple(arguments)


def translate(dispatcher: Any, argument_types: tuple[Any, ...]) -> Program:
    """Return the program of a kernel for arguments of these Numba types.

    Raises
    ------
    UnsupportedKernelError
        It uses something that cannot be simulated; the construct and its line are named.
    """
    kernel = typed_function(dispatcher, argument_types)
    if not isinstance(kernel.result, types.NoneType):
        raise InputTypeError(
            f"{defined_at(dispatcher.py_func)}: a CUDA kernel must have void return type; it "
            f"returns {kernel.result}"
        )
    translator = Translator(kernel)
    scope = Scope(kernel)
    arguments = []
    for name in argument_names(kernel):
        slot = translator.new_slot()
        scope.slots[f"arg.{name}"] = slot
        arguments.append(slot)
    entry = translator.new_block()
    with np.errstate(all="ignore"):
        translator.body(scope, entry)
    return Program(
        name=kernel.name,
        filename=kernel.filename,
        blocks=finish(translator.blocks, entry),
        template=translator.template,
        arguments=tuple(arguments),
        argument_types=argument_types,
        shared=SharedLayout(
            translator.shared_bytes,
            frozenset(translator.shared_itemsizes),
            translator.dynamic_shared,
        ),
        local_bytes=translator.local_bytes,
        cooperative=translator.cooperative,
        debug=kernel.debug,
        viewed_itemsizes=frozenset(translator.viewed_itemsizes),
        device_arrays=tuple(
            (value.buffer, value.dtype)
            for value in translator.template
            if isinstance(value, View)
            if isinstance(value.buffer, Buffer) and value.buffer.space == "global"
        ),
    )
