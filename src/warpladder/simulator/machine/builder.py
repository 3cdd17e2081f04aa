"""What the translation from IR to a program is made with: blocks, variables, operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from warpladder.device.numba_target import ir, types
from warpladder.errors import UnsupportedKernelError
from warpladder.simulator.frontend.inference import TypedFunction
from warpladder.simulator.machine.memory import constant_value
from warpladder.simulator.machine.program import Block, Branch, Exit, Site, Sync
from warpladder.simulator.machine.values import (
    UNSET,
    cast,
    constant,
    instead_of_cast,
    narrowed,
    scalar_dtype,
)

__all__ = ["Builder", "Operand", "Scope"]


class Operand(NamedTuple):
    """A variable of the program and its Numba type."""

    slot: int
    type: Any


class Scope:
    """One inlined instance of a function: its variables, and what is known of them beforehand."""

    def __init__(self, function: TypedFunction) -> None:
        self.function = function
        self.slots: dict[str, int] = {}
        #: Modules, functions, classes, iterators: things that no thread computes.
        self.objects: dict[str, Any] = {}
        self.assignments = Counter(
            statement.target.name
            for block in function.blocks.values()
            for statement in block.body
            if isinstance(statement, ir.Assign)
        )
        self.result: Operand | None = None
        self.after: Block | None = None

    def type_of(self, variable: Any) -> Any:
        """Return the Numba type of an IR variable."""
        return self.function.types[variable.name]


class Builder:
    """Builds a program block by block."""

    def __init__(self, kernel: TypedFunction) -> None:
        self.kernel = kernel
        self.template: list[Any] = []
        self.fixed: set[int] = set()
        self.blocks: list[Block] = []
        self.block = Block()
        self.site = Site(kernel.filename, 0)
        self.shared_arrays: dict[Any, tuple[int, int]] = {}
        self.shared_bytes = 0
        self.shared_itemsizes: set[int] = set()
        #: Of the local arrays of a thread.
        self.local_bytes = 0
        #: Item sizes of views of arrays: what the checks have to tell apart.
        self.viewed_itemsizes: set[int] = set()
        self.constants_read: list[NDArray[np.uint8]] = []
        #: Tuples made in the current block, by their variables: the variables of their parts.
        self.packed: dict[int, tuple[int, ...]] = {}
        self.dynamic_shared = False
        self.cooperative = False
        #: Device functions that are being inlined, outermost first.
        self.inlining: list[TypedFunction] = []
        #: Where they are called.
        self.calls: list[Site] = []

    # ---- blocks and operations ---------------------------------------------------------------

    def new_slot(self, value: Any = UNSET) -> int:
        """Return a new variable; one with a value is a constant."""
        self.template.append(value)
        if value is not UNSET:
            self.fixed.add(len(self.template) - 1)
        return len(self.template) - 1

    def new_block(self) -> Block:
        """Return a block that comes after all blocks so far."""
        block = Block()
        self.blocks.append(block)
        return block

    def emit(
        self,
        operation: Callable[[Any], None],
        reads: Sequence[int] = (),
        writes: Sequence[int] = (),
        *,
        counted: bool = True,
        memory: bool = False,
        idle: bool = False,
    ) -> None:
        """Append an operation; ``counted`` ones are instructions of the current source line.

        ``memory`` says that what it writes comes from memory; an ``idle`` one is of no use but for
        what it writes.
        """
        block = self.block
        if idle:
            block.idle.add(len(block.operations))
        block.operations.append(operation)
        block.flows.append((tuple(reads), tuple(writes), memory))
        self.note(reads, writes)
        if counted:
            block.instructions[self.site] = block.instructions.get(self.site, 0) + 1

    def note(self, reads: Sequence[int], writes: Sequence[int] = ()) -> None:
        """Record which variables the current block uses."""
        block = self.block
        for slot in reads:
            if slot not in block.writes and slot not in self.fixed:
                block.reads.add(slot)
        block.writes.update(writes)
        for slot in writes:
            self.packed = {
                items: parts
                for items, parts in self.packed.items()
                if slot != items and slot not in parts
            }

    def end(self, terminator: Any, following: Block | None) -> None:
        """End the current block; go on building ``following``."""
        if self.block.terminator is None:
            self.block.terminator = terminator
        if following is not None:
            self.go_on(following)

    def go_on(self, block: Block) -> None:
        """Build ``block`` from here on."""
        self.block = block
        self.packed.clear()

    def barrier(self, scope: str, **details: Any) -> None:
        """End the current block with a wait for other threads."""
        following = self.new_block()
        reads = [details[name] for name in ("mask", "predicate") if details.get(name) is not None]
        self.note(reads)
        if details.get("result") is not None:
            # Written on release, not by an operation: the following block reads it from outside.
            self.block.writes.discard(details["result"])
        if not details.get("join"):
            self.block.instructions[self.site] = self.block.instructions.get(self.site, 0) + 1
        calls = tuple(self.calls)
        self.end(Sync(scope, following, self.site, calls=calls, **details), following)

    def guard(
        self, bad: Callable[..., Any], reads: Sequence[int], kind: type[Exception], message: str
    ) -> None:
        """Emit a check: threads for which ``bad(*values)`` holds end as by ``raise kind``."""
        decided, following, ending = self.new_slot(), Block(), self.new_block()
        slots = tuple(reads)

        def run(frame: Any) -> None:
            v = frame.variables
            v[decided] = bad(*[v[slot] for slot in slots])

        self.emit(run, slots, (decided,), counted=False)
        ending.terminator = Exit(self.site, raises=(kind, (message,)))
        self.blocks.append(following)
        self.end(Branch(decided, ending, following, self.site, guard=True), following)

    def refuse(self, construct: str) -> NoReturn:
        """Raise for something that cannot be simulated, with the line at which it stands."""
        place = f"{self.site.filename}, line {self.site.line}"
        if self.calls and self.site.filename != self.calls[0].filename:
            # Library code, say behind a method of arrays: the line that a reader knows is its call.
            place = f"{self.calls[0].filename}, line {self.calls[0].line}; there {place}"
        raise UnsupportedKernelError(
            f"{self.kernel.name}: the simulator cannot run {construct} ({place})"
        )

    def refuse_uncompiled(self, construct: str, instead: str) -> NoReturn:
        """Raise for something that has a type but no code on any GPU, with what to do instead."""
        self.refuse(f"{construct}, which is compiled for no GPU: {instead}")

    # ---- variables ---------------------------------------------------------------------------

    def operand(self, scope: Scope, variable: Any) -> Operand:
        """Return the program's variable for an IR variable."""
        numba_type = scope.type_of(variable)
        if variable.name not in scope.slots:
            if variable.name in scope.objects:
                known = scope.objects[variable.name]
                if hasattr(known, "as_value"):
                    return Operand(known.as_value(self), numba_type)
                scope.slots[variable.name] = self.new_slot(known)
            else:
                literal = getattr(numba_type, "literal_value", UNSET)
                scope.slots[variable.name] = self.new_slot(
                    UNSET if literal is UNSET else constant(literal, numba_type)
                )
        return Operand(scope.slots[variable.name], numba_type)

    def result_slot(self, scope: Scope, name: str) -> int:
        """Return the variable that an IR variable of this name is assigned to."""
        return scope.slots.setdefault(name, self.new_slot())

    def bind(self, scope: Scope, name: str, value: Any) -> None:
        """Note that an IR variable stands for an object that no thread computes."""
        known = scope.objects.setdefault(name, value)
        if known is not value and known != value:
            self.refuse(f"a choice between {known!r} and {value!r}")

    def assign_constant(
        self, scope: Scope, name: str, value: Any, target_type: Any, once: bool
    ) -> None:
        """Give a variable a constant of the kernel or its module."""
        if isinstance(target_type, types.Array):
            slot = self.result_slot(scope, name)
            self.template[slot] = constant_value(value, target_type)
            self.fixed.add(slot)
            return
        is_value = scalar_dtype(target_type) is not None or isinstance(
            target_type, types.BaseTuple | types.NoneType | types.StringLiteral
        )
        if not is_value:
            self.bind(scope, name, value)
            return
        fixed = self.new_slot(constant_value(value, target_type))
        if once:
            scope.slots[name] = fixed
        else:
            self.copy(Operand(fixed, target_type), self.result_slot(scope, name), target_type)

    def into(self, scope: Scope, target: Any, produced: Any) -> tuple[int, Callable[[], None]]:
        """Return where to put a value of type ``produced`` for ``target``, and what to do then."""
        wanted = scope.type_of(target)
        slot = self.operand(scope, target).slot
        if slot in self.fixed:
            # A literal type: the value is known; what computes it may still run.
            scope.slots[target.name] = slot = self.new_slot()
        conversion = self.conversion(produced, wanted)
        if conversion is None:
            return slot, lambda: None
        raw = self.new_slot()

        def then() -> None:
            self._end_where_none(raw, produced, wanted)
            self.apply(conversion, [raw], slot)

        return raw, then

    # ---- values ------------------------------------------------------------------------------

    def conversion(self, given: Any, wanted: Any) -> Callable[[Any], Any] | None:
        """Return the conversion between two Numba types, None where none is due."""
        if instead := instead_of_cast(given, wanted):
            self.refuse_uncompiled(f"{given} as {wanted}", instead)
        try:
            return cast(given, wanted)
        except UnsupportedKernelError as fault:
            self.refuse(f"the {fault}")

    def converted(self, operand: Operand, wanted: Any) -> int:
        """Return a variable with the operand's value as the wanted Numba type."""
        conversion = self.conversion(operand.type, wanted)
        if conversion is None:
            return operand.slot
        self._end_where_none(operand.slot, operand.type, wanted)
        if operand.slot in self.fixed:
            with np.errstate(all="ignore"):
                return self.new_slot(conversion(self.template[operand.slot]))
        result = self.new_slot()
        self.apply(conversion, [operand.slot], result)
        return result

    def _end_where_none(self, slot: int, given: Any, wanted: Any) -> None:
        """Emit that threads end which take a value that is None for one that is there."""
        if not isinstance(given, types.Optional) or isinstance(
            wanted, types.Optional | types.NoneType
        ):
            return

        def is_none(value: Any) -> Any:
            return False if value is UNSET else np.logical_not(value[0])

        self.guard(is_none, [slot], TypeError, f"expected {given.type}, got None")

    def copy(self, source: Operand, target: int, target_type: Any) -> None:
        """Emit ``target = source``."""
        slot, conversion = source.slot, self.conversion(source.type, target_type)
        if conversion is not None and slot in self.fixed:
            slot, conversion = self.converted(source, target_type), None
        else:
            self._end_where_none(slot, source.type, target_type)

        def run(frame: Any) -> None:
            value = frame.variables[slot]
            # A variable that no thread has assigned yet stays so.
            frame.variables[target] = value if value is UNSET else conversion(value)  # type: ignore[misc]

        self.emit(
            assign(slot, target) if conversion is None else run, (slot,), (target,),
            counted=False, idle=True,
        )  # fmt: skip

    def pack(self, slots: Sequence[int], result: int) -> None:
        """Emit ``result = tuple(slots)``."""
        slots = tuple(slots)

        def run(frame: Any) -> None:
            v = frame.variables
            v[result] = tuple([v[slot] for slot in slots])

        self.emit(run, slots, (result,), counted=False, idle=True)
        self.packed[result] = slots

    def part(self, items: int, key: Any, result: int | None = None) -> int:
        """Emit ``result = items[key]`` of a tuple, and return the variable."""
        known = self.packed.get(items)
        if known is not None and isinstance(key, int):
            if result is None:
                return known[key]
            self.emit(
                assign(known[key], result), (known[key],), (result,), counted=False, idle=True
            )
            return result
        slot = self.new_slot() if result is None else result

        def run(frame: Any) -> None:
            frame.variables[slot] = frame.variables[items][key]

        self.emit(run, (items,), (slot,), counted=False)
        return slot

    def apply(self, function: Callable[..., Any], arguments: Sequence[int], result: int) -> None:
        """Emit ``result = function(*arguments)``."""
        slots = tuple(arguments)
        if len(slots) == 1:
            (a,) = slots

            def run(frame: Any) -> None:
                v = frame.variables
                v[result] = function(v[a])

        elif len(slots) == 2:
            a, b = slots

            def run(frame: Any) -> None:
                v = frame.variables
                v[result] = function(v[a], v[b])

        else:

            def run(frame: Any) -> None:
                v = frame.variables
                v[result] = function(*[v[slot] for slot in slots])

        self.emit(run, slots, (result,))

    def compute(
        self, scope: Scope, target: Any, function: Any, operands: list[Operand], signature: Any
    ) -> None:
        """Emit a function of scalars, its arguments and result converted as the signature says."""
        slots = [
            self.converted(operand, wanted)
            for operand, wanted in zip(operands, signature.args, strict=True)
        ]
        raw, done = self.into(scope, target, signature.return_type)
        self.apply(narrowed(function, signature), slots, raw)
        done()


def assign(source: int, target: int) -> Callable[[Any], None]:
    """Return the operation ``target = source``."""

    def run(frame: Any) -> None:
        v = frame.variables
        v[target] = v[source]

    return run
