"""From Numba's typed IR to a program: control flow, variables, expressions.

Device functions are inlined, so that a barrier inside one is a barrier of the kernel. What a call
does is looked up in `warpladder.simulator.calls`; attributes in `warpladder.simulator.attributes`.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numba.cuda import types
from numba.cuda.core import ir

from warpladder.errors import UnsupportedKernelError
from warpladder.simulator import access
from warpladder.simulator.frontend import TypedFunction, typed_function
from warpladder.simulator.memory import View
from warpladder.simulator.operators import operator_function
from warpladder.simulator.program import (
    Block,
    Branch,
    Exit,
    Jump,
    Program,
    SharedLayout,
    Site,
    Sync,
    finish,
)
from warpladder.simulator.values import UNSET, cast, constant, scalar_dtype

__all__ = ["Operand", "Scope", "Translator", "translate"]

_DIVISIONS = (
    operator.truediv, operator.floordiv, operator.mod,
    operator.itruediv, operator.ifloordiv, operator.imod,
)  # fmt: skip


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


class Translator:
    """Builds a `Program` block by block."""

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
        self.dynamic_shared = False
        self.cooperative = False
        #: Device functions that are being inlined, outermost first.
        self.inlining: list[TypedFunction] = []
        self.files: set[str] = {kernel.filename}

    # ---- building blocks ---------------------------------------------------------------------

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
    ) -> None:
        """Append an operation; ``counted`` ones are instructions of the current source line."""
        block = self.block
        block.operations.append(operation)
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

    def end(self, terminator: Any, following: Block | None) -> None:
        """End the current block; go on building ``following``."""
        if self.block.terminator is None:
            self.block.terminator = terminator
        if following is not None:
            self.block = following

    def barrier(self, scope: str, **details: Any) -> None:
        """End the current block with a wait for other threads."""
        following = self.new_block()
        reads = [details[name] for name in ("mask", "predicate") if details.get(name) is not None]
        self.note(reads)
        if details.get("result") is not None:
            # Written on release, not by an operation: the following block reads it from outside.
            self.block.writes.discard(details["result"])
        self.block.instructions[self.site] = self.block.instructions.get(self.site, 0) + 1
        self.end(Sync(scope, following, self.site, **details), following)

    def refuse(self, construct: str) -> NoReturn:
        """Raise for something that cannot be simulated, with the line at which it stands."""
        raise UnsupportedKernelError(
            f"{self.kernel.name}: the simulator cannot run {construct} "
            f"({self.site.filename}, line {self.site.line})"
        )

    def apply(
        self, function: Callable[..., Any], arguments: Sequence[int], result: int
    ) -> None:
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

    def converted(self, operand: Operand, wanted: Any) -> int:
        """Return a variable with the operand's value as the wanted Numba type."""
        conversion = self.conversion(operand.type, wanted)
        if conversion is None:
            return operand.slot
        if operand.slot in self.fixed:
            with np.errstate(all="ignore"):
                return self.new_slot(conversion(self.template[operand.slot]))
        result = self.new_slot()
        self.apply(conversion, [operand.slot], result)
        return result

    def copy(self, source: Operand, target: int, target_type: Any) -> None:
        """Emit ``target = source``."""
        slot, conversion = source.slot, self.conversion(source.type, target_type)
        if conversion is not None and slot in self.fixed:
            slot, conversion = self.converted(source, target_type), None

        def run(frame: Any) -> None:
            value = frame.variables[slot]
            # A variable that no thread has assigned yet stays so.
            frame.variables[target] = (
                value if conversion is None or value is UNSET else conversion(value)
            )

        self.emit(run, (slot,), (target,), counted=False)

    def conversion(self, given: Any, wanted: Any) -> Callable[[Any], Any] | None:
        """Return the conversion between two Numba types, None where none is due."""
        try:
            return cast(given, wanted)
        except UnsupportedKernelError as fault:
            self.refuse(f"the {fault}")

    # ---- functions ---------------------------------------------------------------------------

    def function(self, scope: Scope, entry: Block) -> None:
        """Translate the function of ``scope`` into blocks that begin at ``entry``."""
        labels = sorted(scope.function.blocks)
        starts = {label: entry if label == labels[0] else None for label in labels}
        self.files.add(scope.function.filename)
        translated: dict[int, Block] = {labels[0]: entry}

        def block_of(label: int) -> Block:
            if label not in translated:
                translated[label] = Block()
            return translated[label]

        del starts
        for label in labels:
            self.block = block_of(label)
            if self.block not in self.blocks:
                self.blocks.append(self.block)
            for statement in scope.function.blocks[label].body:
                self.site = Site(
                    getattr(statement.loc, "filename", scope.function.filename),
                    int(getattr(statement.loc, "line", 0) or 0),
                )
                self.statement(scope, statement, block_of)

    def statement(
        self, scope: Scope, statement: Any, block_of: Callable[[int], Block]
    ) -> None:
        """Translate one IR statement."""
        match statement:
            case ir.Assign():
                self.assign(scope, statement)
            case ir.SetItem() | ir.StaticSetItem():
                self.set_item(scope, statement)
            case ir.SetAttr():
                self.set_attribute(scope, statement)
            case ir.Jump():
                self.end(Jump(block_of(statement.target)), None)
            case ir.Branch():
                self.branch(scope, statement, block_of)
            case ir.Return():
                self.leave(scope, statement)
            case ir.StaticRaise() | ir.DynamicRaise() | ir.Raise():
                self.end(Exit(self.site, raises=_exception_of(scope, statement)), None)
            case ir.Print():
                self.print_statement(scope, statement)
            case ir.Del():
                pass
            case _:
                self.refuse(f"the statement {type(statement).__name__} ({statement})")

    def branch(self, scope: Scope, statement: Any, block_of: Callable[[int], Block]) -> None:
        condition = self.operand(scope, statement.cond)
        slot = self.converted(condition, types.boolean)
        self.note((slot,))
        taken, other = block_of(statement.truebr), block_of(statement.falsebr)
        if slot in self.fixed:
            self.end(Jump(taken if self.template[slot] else other), None)
            return
        self.block.instructions[self.site] = self.block.instructions.get(self.site, 0) + 1
        self.end(Branch(slot, taken, other, self.site), None)

    def leave(self, scope: Scope, statement: Any) -> None:
        if scope.after is None:
            self.end(Exit(self.site), None)
            return
        if scope.result is not None and not isinstance(scope.result.type, types.NoneType):
            self.copy(self.operand(scope, statement.value), scope.result.slot, scope.result.type)
        self.end(Jump(scope.after), None)

    def inline(
        self, function: TypedFunction, arguments: Sequence[Operand], result: Operand
    ) -> None:
        """Emit a call of a device function as a copy of its body."""
        if function in self.inlining:
            self.refuse(f"{function.name}, which calls itself; write it as a loop")
        self.inlining.append(function)
        scope = Scope(function)
        site = self.site
        following = Block()
        scope.after = following
        scope.result = result
        names = _argument_names(function)
        for name, wanted, operand in zip(names, function.arguments, arguments, strict=True):
            scope.slots[f"arg.{name}"] = self.converted(operand, wanted)
        entry = self.new_block()
        self.end(Jump(entry), entry)
        self.function(scope, entry)
        self.inlining.pop()
        self.blocks.append(following)
        self.block = following
        self.site = site

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

    def assign(self, scope: Scope, statement: Any) -> None:
        name, value = statement.target.name, statement.value
        target_type = scope.type_of(statement.target)
        once = scope.assignments[name] == 1
        if isinstance(value, ir.Const | ir.Global | ir.FreeVar):
            self.assign_constant(scope, name, value.value, target_type, once)
        elif isinstance(value, ir.Arg):
            source = Operand(scope.slots[f"arg.{value.name}"], scope.function.arguments[value.index])
            if once and cast(source.type, target_type) is None:
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
            self.expression(scope, statement.target, value)
        else:
            self.refuse(f"the value {value}")

    def assign_constant(
        self, scope: Scope, name: str, value: Any, target_type: Any, once: bool
    ) -> None:
        if isinstance(target_type, types.Array):
            from warpladder.simulator.intrinsics import constant_array

            constant_array(self, np.asarray(value), self.result_slot(scope, name), name)
            return
        is_value = scalar_dtype(target_type) is not None or isinstance(
            target_type, types.BaseTuple | types.NoneType | types.StringLiteral
        )
        if not is_value:
            self.bind(scope, name, value)
            return
        fixed = self.new_slot(constant(value, target_type))
        if once:
            scope.slots[name] = fixed
        else:
            self.copy(Operand(fixed, target_type), self.result_slot(scope, name), target_type)

    def result_slot(self, scope: Scope, name: str) -> int:
        """Return the variable that an IR variable of this name is assigned to."""
        return scope.slots.setdefault(name, self.new_slot())

    def bind(self, scope: Scope, name: str, value: Any) -> None:
        """Note that an IR variable stands for an object that no thread computes."""
        known = scope.objects.setdefault(name, value)
        if known is not value and known != value:
            self.refuse(f"a choice between {known!r} and {value!r}")

    # ---- expressions -------------------------------------------------------------------------

    def expression(self, scope: Scope, target: Any, expr: Any) -> None:
        """Translate ``target = expr``."""
        handler = getattr(self, f"expr_{expr.op}", None)
        if handler is None:
            self.refuse(f"the expression {expr}")
        handler(scope, target, expr)

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
        return raw, lambda: self.apply(conversion, [raw], slot)

    def compute(
        self, scope: Scope, target: Any, function: Any, operands: list[Operand], signature: Any
    ) -> None:
        """Emit a function of scalars, its arguments and result converted as the signature says."""
        slots = [
            self.converted(operand, wanted)
            for operand, wanted in zip(operands, signature.args, strict=True)
        ]
        raw, done = self.into(scope, target, signature.return_type)
        self.apply(narrowed(function, signature.return_type), slots, raw)
        done()

    def expr_binop(self, scope: Scope, target: Any, expr: Any) -> None:
        operands = [self.operand(scope, expr.lhs), self.operand(scope, expr.rhs)]
        self.apply_operator(scope, target, expr, expr.fn, operands)

    expr_inplace_binop = expr_binop

    def expr_unary(self, scope: Scope, target: Any, expr: Any) -> None:
        self.apply_operator(scope, target, expr, expr.fn, [self.operand(scope, expr.value)])

    def apply_operator(
        self, scope: Scope, target: Any, expr: Any, function: Any, operands: list[Operand]
    ) -> None:
        signature = scope.function.signatures[expr]
        computed = operator_function(function, signature)
        if computed is None:
            from warpladder.simulator.calls import call_operator

            call_operator(self, scope, target, expr, function, operands, signature)
            return
        if scope.function.debug and function in _DIVISIONS:
            self.guard(lambda b: b == 0, [operands[1].slot], ZeroDivisionError, "division by zero")
        self.compute(scope, target, computed, operands, signature)

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
        self.end(Branch(decided, ending, following, self.site), following)

    def expr_cast(self, scope: Scope, target: Any, expr: Any) -> None:
        if expr.value.name in scope.objects:
            self.bind(scope, target.name, scope.objects[expr.value.name])
            return
        source = self.operand(scope, expr.value)
        self.copy(source, self.operand(scope, target).slot, scope.type_of(target))

    def expr_null(self, scope: Scope, target: Any, expr: Any) -> None:
        """Leave a variable unset on the paths that do not assign it."""
        del expr
        self.operand(scope, target)

    expr_undef = expr_null

    def expr_build_tuple(self, scope: Scope, target: Any, expr: Any) -> None:
        target_type = scope.type_of(target)
        operands = [self.operand(scope, item) for item in expr.items]
        wanted = getattr(target_type, "types", [operand.type for operand in operands])
        slots = [self.converted(o, w) for o, w in zip(operands, wanted, strict=True)]
        if all(slot in self.fixed for slot in slots):
            if scope.assignments[target.name] == 1:
                value = tuple(self.template[slot] for slot in slots)
                scope.slots[target.name] = self.new_slot(value)
                return
        result = self.operand(scope, target).slot

        def run(frame: Any) -> None:
            v = frame.variables
            v[result] = tuple([v[slot] for slot in slots])

        self.emit(run, slots, (result,), counted=False)

    def expr_exhaust_iter(self, scope: Scope, target: Any, expr: Any) -> None:
        source = self.operand(scope, expr.value)
        if not isinstance(source.type, types.BaseTuple):
            self.refuse(f"unpacking of {source.type}")
        self.copy(source, self.operand(scope, target).slot, scope.type_of(target))

    def expr_pair_first(self, scope: Scope, target: Any, expr: Any) -> None:
        self.pick(scope, target, expr, 0)

    def expr_pair_second(self, scope: Scope, target: Any, expr: Any) -> None:
        self.pick(scope, target, expr, 1)

    def pick(self, scope: Scope, target: Any, expr: Any, number: int) -> None:
        pair = self.operand(scope, expr.value)
        part = (pair.type.first_type, pair.type.second_type)[number]
        raw, done = self.into(scope, target, part)
        source = pair.slot

        def run(frame: Any) -> None:
            frame.variables[raw] = frame.variables[source][number]

        self.emit(run, (source,), (raw,), counted=False)
        done()

    def expr_getiter(self, scope: Scope, target: Any, expr: Any) -> None:
        from warpladder.simulator.iterators import make_iterator

        self.bind(scope, target.name, make_iterator(self, self.operand(scope, expr.value)))

    def expr_iternext(self, scope: Scope, target: Any, expr: Any) -> None:
        iterator = scope.objects.get(expr.value.name)
        if iterator is None:
            self.refuse("an iterator that is itself computed")
        iterator.advance(self, self.operand(scope, target).slot)

    def expr_getattr(self, scope: Scope, target: Any, expr: Any) -> None:
        from warpladder.simulator.attributes import get_attribute

        get_attribute(self, scope, target, expr)

    def expr_call(self, scope: Scope, target: Any, expr: Any) -> None:
        from warpladder.simulator.calls import call

        call(self, scope, target, expr)

    # ---- elements ----------------------------------------------------------------------------

    def expr_getitem(self, scope: Scope, target: Any, expr: Any) -> None:
        self.get_item(scope, target, expr, self.operand(scope, expr.index))

    def expr_static_getitem(self, scope: Scope, target: Any, expr: Any) -> None:
        container = self.operand(scope, expr.value)
        if isinstance(container.type, types.BaseTuple):
            self.tuple_item(scope, target, container, expr.index)
        elif isinstance(container.type, types.Record) or isinstance(expr.index, str):
            from warpladder.simulator.attributes import record_field

            record_field(self, scope, target, container, expr.index)
        elif expr.index_var is not None:
            self.get_item(scope, target, expr, self.operand(scope, expr.index_var))
        else:
            index = Operand(self.new_slot(np.int64(expr.index)), types.intp)
            self.get_item(scope, target, expr, index)

    expr_typed_getitem = expr_getitem

    def tuple_item(self, scope: Scope, target: Any, container: Operand, index: Any) -> None:
        source = container.slot
        if isinstance(index, slice):
            produced: Any = types.Tuple(container.type.types[index])
        else:
            produced = container.type.types[index]
        if source in self.fixed and scope.assignments[target.name] == 1:
            part = Operand(self.new_slot(self.template[source][index]), produced)
            scope.slots[target.name] = self.converted(part, scope.type_of(target))
            return
        raw, done = self.into(scope, target, produced)

        def run(frame: Any) -> None:
            frame.variables[raw] = frame.variables[source][index]

        self.emit(run, (source,), (raw,), counted=False)
        done()

    def get_item(self, scope: Scope, target: Any, expr: Any, index: Operand) -> None:
        container = self.operand(scope, expr.value)
        site = self.site
        if isinstance(container.type, types.UniTuple | types.NamedUniTuple):
            raw, done = self.into(scope, target, container.type.dtype)
            source, number = container.slot, self.converted(index, types.intp)
            length = len(container.type)
            self.guard(
                lambda n: (n < -length) | (n >= length), [number], IndexError,
                "tuple index out of range",
            )  # fmt: skip

            def choose(frame: Any) -> None:
                v = frame.variables
                v[raw] = select_item(frame, v[source], v[number], site)

            self.emit(choose, (source, number), (raw,))
            done()
            return
        if not isinstance(container.type, types.Array):
            self.refuse(f"indexing of {container.type}")
        indices, basic = self.index_slots(index)
        view = container.slot
        if basic and len(indices) == container.type.ndim:
            raw, done = self.into(scope, target, container.type.dtype)

            def run(frame: Any) -> None:
                v = frame.variables
                v[raw] = access.load(frame, v[view], tuple([v[i] for i in indices]), site)

        else:
            raw, done = self.into(scope, target, scope.type_of(target))

            def run(frame: Any) -> None:
                v = frame.variables
                v[raw] = access.slice_view(frame, v[view], tuple([v[i] for i in indices]), site)

        self.emit(run, (view, *indices), (raw,))
        done()

    def index_slots(self, index: Operand) -> tuple[list[int], bool]:
        """Return one variable per index, and whether all of them are integers."""
        if isinstance(index.type, types.BaseTuple):
            parts = []
            for number, part in enumerate(index.type.types):
                if index.slot in self.fixed:
                    parts.append(Operand(self.new_slot(self.template[index.slot][number]), part))
                    continue
                slot = self.new_slot()

                def run(frame: Any, slot: int = slot, number: int = number) -> None:
                    frame.variables[slot] = frame.variables[index.slot][number]

                self.emit(run, (index.slot,), (slot,), counted=False)
                parts.append(Operand(slot, part))
        else:
            parts = [index]
        slots, basic = [], True
        for part in parts:
            plain = types.unliteral(part.type)
            if isinstance(plain, types.Integer):
                slots.append(self.converted(part, types.intp if plain.signed else types.uintp))
            elif isinstance(plain, types.Boolean | types.IntEnumMember | types.Float):
                slots.append(self.converted(part, types.intp))
            elif isinstance(plain, types.SliceType | types.NoneType | types.EllipsisType):
                slots.append(part.slot)
                basic = False
            else:
                self.refuse(f"an index of type {part.type}")
        return slots, basic

    def set_item(self, scope: Scope, statement: Any) -> None:
        container = self.operand(scope, statement.target)
        if not isinstance(container.type, types.Array):
            if isinstance(container.type, types.Record):
                from warpladder.simulator.attributes import store_field

                value = self.operand(scope, statement.value)
                store_field(self, container, statement.index, value)
                return
            self.refuse(f"assignment to an element of {container.type}")
        if isinstance(statement, ir.StaticSetItem) and statement.index_var is None:
            index = Operand(self.new_slot(np.int64(statement.index)), types.intp)
        else:
            name = statement.index_var if isinstance(statement, ir.StaticSetItem) else statement.index
            index = self.operand(scope, name)
        value = self.operand(scope, statement.value)
        indices, basic = self.index_slots(index)
        self.store(container, indices, basic, value)

    def store(
        self, container: Operand, indices: list[int], basic: bool, value: Operand
    ) -> None:
        """Emit ``container[indices] = value``."""
        view, site = container.slot, self.site
        whole = basic and len(indices) == container.type.ndim
        source = (
            value.slot
            if isinstance(value.type, types.Array | types.Record | types.BaseTuple)
            else self.converted(value, container.type.dtype)
        )

        def run(frame: Any) -> None:
            v = frame.variables
            access.store(frame, v[view], tuple([v[i] for i in indices]), v[source], site)

        def run_region(frame: Any) -> None:
            v = frame.variables
            region = access.slice_view(
                frame, v[view], tuple([v[i] for i in indices]), site, access.STORE
            )
            store_region(frame, region, v[source], container.type.dtype, site)

        self.emit(run if whole else run_region, (view, source, *indices))

    def set_attribute(self, scope: Scope, statement: Any) -> None:
        from warpladder.simulator.attributes import store_field

        store_field(
            self,
            self.operand(scope, statement.target),
            statement.attr,
            self.operand(scope, statement.value),
        )

    def print_statement(self, scope: Scope, statement: Any) -> None:
        from warpladder.simulator.intrinsics import emit_print

        slots = []
        for number, argument in enumerate(statement.args):
            known = statement.consts.get(number, UNSET)
            slots.append(
                self.operand(scope, argument).slot if known is UNSET else self.new_slot(known)
            )
        emit_print(self, slots)


def narrowed(function: Callable[..., Any], result_type: Any) -> Callable[..., Any]:
    """Return ``function`` with its result in the dtype that Numba inferred."""
    dtype = scalar_dtype(result_type)
    if dtype is None or (isinstance(function, np.ufunc) and dtype.kind == "b"):
        return function

    def run(*values: Any) -> Any:
        result = function(*values)
        return result if getattr(result, "dtype", None) == dtype else np.asarray(result).astype(dtype)[()]

    return run


def select_item(frame: Any, items: tuple[Any, ...], number: Any, site: Site) -> Any:
    """Return ``items[number]`` of a tuple, each thread its own."""
    wrapped = np.where(number < 0, number + len(items), number)
    if wrapped.ndim == 0:
        return items[int(wrapped)]
    if not all(isinstance(item, np.ndarray | np.generic) for item in items):
        raise UnsupportedKernelError(
            f"{frame.launch.program.name}: the simulator cannot run a tuple of "
            f"{type(items[0]).__name__} indexed by each thread on its own ({site.filename}, "
            f"line {site.line})"
        )
    table = np.stack([frame.spread(item) for item in items])
    return table[wrapped, np.arange(frame.count)]


def store_region(frame: Any, region: View, value: Any, dtype: Any, site: Site) -> None:
    """Write to every element of a view: one value, or the elements of another view."""
    if any(isinstance(extent, np.ndarray) for extent in region.shape):
        raise UnsupportedKernelError(
            f"assignment to a slice whose length differs between threads ({site.filename}, "
            f"line {site.line})"
        )
    del dtype
    shape = tuple(int(extent) for extent in region.shape)
    for index in np.ndindex(*shape):
        item = value
        if isinstance(value, View):
            trailing = index[len(index) - len(value.shape) :]
            own = tuple(0 if e == 1 else i for i, e in zip(trailing, value.shape, strict=True))
            item = access.load(frame, value, own, site)
        elif isinstance(value, tuple):
            item = value[index[-1]]
        if isinstance(item, np.ndarray | np.generic) and item.dtype != region.dtype:
            item = item.astype(region.dtype)
        access.store(frame, region, index, item, site)


def _exception_of(scope: Scope, statement: Any) -> Any:
    if isinstance(statement, ir.Raise) and statement.exception is not None:
        known = scope.objects.get(statement.exception.name, RuntimeError)
        return known if isinstance(known, tuple) else (known, ())
    kind = getattr(statement, "exc_class", None) or RuntimeError
    arguments = getattr(statement, "exc_args", None) or ()
    return kind, tuple(a for a in arguments if not isinstance(a, ir.Var))


def _argument_names(function: TypedFunction) -> list[str]:
    by_index: dict[int, str] = {}
    for block in function.blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Arg):
                by_index[statement.value.index] = statement.value.name
    return [by_index.get(k, f"unused{k}") for k in range(len(function.arguments))]


def translate(dispatcher: Any, argument_types: tuple[Any, ...]) -> Program:
    """Return the program of a kernel for arguments of these Numba types.

    Raises
    ------
    UnsupportedKernelError
        It uses something that cannot be simulated; the construct and its line are named.
    """
    kernel = typed_function(dispatcher, argument_types)
    translator = Translator(kernel)
    scope = Scope(kernel)
    arguments = []
    for name in _argument_names(kernel):
        slot = translator.new_slot()
        scope.slots[f"arg.{name}"] = slot
        arguments.append(slot)
    entry = translator.new_block()
    with np.errstate(all="ignore"):
        translator.function(scope, entry)
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
        cooperative=translator.cooperative,
        debug=kernel.debug,
        sites=frozenset(translator.files),
    )


