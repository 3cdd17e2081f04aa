"""CUDA's built-in functions, except those of a warp: indices, arrays, barriers, atomics, fences."""

from __future__ import annotations

import builtins
import operator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda
from numba.cuda import types
from numba.cuda.types.ext_types import GridGroup
from numba.cuda.np.numpy_support import as_dtype

from warpladder.simulator import access
from warpladder.simulator.atomics import ATOMICS, atomic
from warpladder.simulator.calls import Call, handles
from warpladder.simulator.iterators import make_iterator
from warpladder.simulator.memory import Buffer, View, contiguous_strides, poison
from warpladder.simulator.program import BLOCK, GRID, WARP
from warpladder.simulator.values import UNSET, scalar_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.simulator.translate import Translator

__all__ = ["constant_array", "emit_print"]


def _emit(t: Translator, call: Call, function: Any, reads: list[int]) -> None:
    """Emit ``target = function(frame, *values)``."""
    raw, done = t.into(call.scope, call.target, call.signature.return_type)
    slots = tuple(reads)

    def run(frame: Any) -> None:
        v = frame.variables
        v[raw] = function(frame, *[v[slot] for slot in slots])

    t.emit(run, slots, (raw,))
    done()


def _nothing(t: Translator, call: Call) -> None:
    call.scope.slots[call.target.name] = t.new_slot(None)


# ---- thread indices --------------------------------------------------------------------------


@handles(cuda.grid)
def _grid(t: Translator, call: Call) -> None:
    axes = call.arguments[0].type.literal_value
    _emit(t, call, lambda frame: _per_axis(frame, axes, _global_index), [])


@handles(cuda.gridsize)
def _gridsize(t: Translator, call: Call) -> None:
    axes = call.arguments[0].type.literal_value

    def extent(frame: Any, axis: int) -> Any:
        geometry = frame.batch.geometry
        return np.int64(geometry.grid[axis] * geometry.block[axis])

    _emit(t, call, lambda frame: _per_axis(frame, axes, extent), [])


def _per_axis(frame: Any, axes: int, index: Any) -> Any:
    parts = tuple(index(frame, axis) for axis in range(axes))
    return parts[0] if axes == 1 else parts


def _global_index(frame: Any, axis: int) -> Any:
    lanes, width = frame.lanes, np.int64(frame.batch.geometry.block[axis])
    return lanes.block[axis].astype(np.int64) * width + lanes.thread[axis]


# ---- barriers and fences ---------------------------------------------------------------------


@handles(cuda.syncthreads)
def _syncthreads(t: Translator, call: Call) -> None:
    t.barrier(BLOCK)
    _nothing(t, call)


def _reducing(reduce: Any) -> Any:
    def handler(t: Translator, call: Call) -> None:
        predicate = t.converted(call.arguments[0], types.int32)
        raw, done = t.into(call.scope, call.target, call.signature.return_type)
        t.barrier(BLOCK, predicate=predicate, reduce=reduce, result=raw)
        done()

    return handler


handles(cuda.syncthreads_count)(_reducing(lambda hits_of: hits_of[0].astype(np.int32)))
handles(cuda.syncthreads_and)(
    _reducing(lambda hits_of: (hits_of[0] == hits_of[1]).astype(np.int32))
)
handles(cuda.syncthreads_or)(_reducing(lambda hits_of: (hits_of[0] > 0).astype(np.int32)))


@handles(cuda.syncwarp)
def _syncwarp(t: Translator, call: Call) -> None:
    if call.arguments:
        mask = t.converted(call.arguments[0], types.int64)
    else:
        mask = t.new_slot(np.int64(0xFFFFFFFF))
    t.barrier(WARP, mask=mask)
    _nothing(t, call)


@handles(cuda.cg.this_grid)
def _this_grid(t: Translator, call: Call) -> None:
    t.cooperative = True
    _nothing(t, call)


@handles((GridGroup, "sync"))
def _grid_sync(t: Translator, call: Call) -> None:
    t.cooperative = True
    t.barrier(GRID)
    call.scope.slots[call.target.name] = t.new_slot(np.int32(0))


@handles(cuda.threadfence, cuda.threadfence_system)
def _fence(t: Translator, call: Call) -> None:
    def run(frame: Any) -> None:
        if frame.launch.monitor is not None:
            frame.launch.monitor.fence(frame)

    t.emit(run)
    _nothing(t, call)


@handles(cuda.threadfence_block)
def _fence_block(t: Translator, call: Call) -> None:
    t.emit(lambda frame: None)
    _nothing(t, call)


@handles(cuda.nanosleep, builtins.breakpoint)
def _pause(t: Translator, call: Call) -> None:
    t.emit(lambda frame: None)
    _nothing(t, call)


# ---- arrays ----------------------------------------------------------------------------------


def _shape_of(call: Call, t: Translator) -> tuple[int, ...]:
    argument = call.arguments[0]
    value = t.template[argument.slot]
    if value is UNSET or value is None:
        literal = getattr(argument.type, "literal_value", None)
        if literal is None:
            t.refuse("an array whose shape is not a constant")
        value = literal
    return tuple(int(v) for v in value) if isinstance(value, tuple) else (int(value),)


def _element_dtype(call: Call) -> np.dtype[Any]:
    return np.dtype(as_dtype(call.signature.return_type.dtype))


def _alignment(call: Call, t: Translator, dtype: np.dtype[Any]) -> int:
    natural = max(dtype.alignment, 1)
    if len(call.arguments) < 3 or isinstance(call.arguments[2].type, types.NoneType | types.Omitted):
        return natural
    value = int(t.template[call.arguments[2].slot])
    if value <= 0 or value & (value - 1):
        raise ValueError(f"Alignment must be a power of two, but was {value}")
    if value % 8 and value not in (1, 2, 4):
        raise ValueError(f"Alignment must be a multiple of the pointer size, but was {value}")
    return max(natural, value)


def _name_of(call: Call) -> str:
    name = call.target.name.split(".")[0]
    return "array" if name.startswith("$") else name


@handles(cuda.shared.array)
def _shared_array(t: Translator, call: Call) -> None:
    shape, dtype = _shape_of(call, t), _element_dtype(call)
    t.shared_itemsizes.add(dtype.itemsize)
    name = _name_of(call)
    dynamic = shape == (0,)
    if dynamic:
        t.dynamic_shared = True
        start = -1
    else:
        # One allocation for each place in the source, however often its function is inlined.
        key = (call.scope.function, call.site, call.target.name)
        size = int(np.prod(shape)) * dtype.itemsize
        if key not in t.shared_arrays:
            alignment = _alignment(call, t, dtype)
            begin = -(-t.shared_bytes // alignment) * alignment
            t.shared_arrays[key] = (begin, size)
            t.shared_bytes = begin + size
        start = t.shared_arrays[key][0]

    def make(frame: Any) -> View:
        buffer = frame.batch.shared_memory()
        launch = frame.launch
        first = launch.dynamic_start if dynamic else start
        extents = (launch.shared_dynamic // dtype.itemsize,) if dynamic else shape
        unit = dtype.itemsize
        whole = buffer.instance_bytes % unit == 0 and first % unit == 0
        unit = unit if whole else 1
        scale = dtype.itemsize // unit
        offset: Any = first // unit
        if frame.batch.blocks > 1:
            offset = frame.lanes.slot * np.int64(buffer.instance_bytes // unit) + np.int64(offset)
        strides = tuple(scale * step for step in contiguous_strides(extents))
        return View(buffer, dtype, offset, extents, strides, unit, name)

    _emit(t, call, make, [])


@handles(cuda.local.array)
def _local_array(t: Translator, call: Call) -> None:
    shape, dtype = _shape_of(call, t), _element_dtype(call)
    _alignment(call, t, dtype)
    name = _name_of(call)
    elements = int(np.prod(shape))
    key = object()

    def make(frame: Any) -> View:
        batch = frame.batch
        if key not in batch.storage:
            # Element by element, all threads side by side, as local memory is interleaved.
            raw: NDArray[np.uint8] = np.empty(
                max(elements, 1) * batch.places * dtype.itemsize, dtype=np.uint8
            )
            poison(raw)
            batch.storage[key] = Buffer(raw, "local", name)
            frame.launch.adopt(batch.storage[key], dtype.itemsize)
        strides = tuple(step * batch.places for step in contiguous_strides(shape))
        return View(
            batch.storage[key], dtype, frame.lanes.place, shape, strides, dtype.itemsize, name
        )

    _emit(t, call, make, [])


@handles(cuda.const.array_like)
def _const_array_like(t: Translator, call: Call) -> None:
    argument = call.arguments[0]
    t.copy(argument, t.operand(call.scope, call.target).slot, call.signature.return_type)


def constant_array(t: Translator, array: NDArray[Any], slot: int, name: str) -> None:
    """Put a global array of the kernel's module into constant memory."""
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    flat = np.array(array, order=order).ravel(order="K")  # a copy: what Numba freezes when compiling
    raw = flat.view(np.uint8) if flat.dtype.names is None else np.frombuffer(
        flat.tobytes(), np.uint8
    ).copy()
    del name
    buffer = Buffer(raw.reshape(-1), "constant", "a constant array")
    view = View(
        buffer, array.dtype, 0, array.shape, contiguous_strides(array.shape, order),
        array.dtype.itemsize, "a constant array",
    )  # fmt: skip
    t.template[slot] = view
    t.fixed.add(slot)


@handles((types.Array, "view"), "array.view")
def _array_view(t: Translator, call: Call) -> None:
    wanted = np.dtype(as_dtype(call.signature.return_type.dtype))

    def reinterpret(frame: Any, view: View) -> View:
        del frame
        base = view.in_bytes()
        extents = list(base.shape)
        if extents and wanted.itemsize != view.dtype.itemsize:
            extents[-1] = extents[-1] * view.dtype.itemsize // wanted.itemsize
            steps = (*base.strides[:-1], wanted.itemsize)
        else:
            steps = base.strides
        return replace(base, dtype=wanted, shape=tuple(extents), strides=steps)

    assert call.this is not None
    _emit(t, call, reinterpret, [call.this.slot])


@handles("array.reshape")
def _array_reshape(t: Translator, call: Call) -> None:
    assert call.this is not None
    packed = len(call.arguments) == 1 and isinstance(call.arguments[0].type, types.BaseTuple)
    slots = [a.slot if packed else t.converted(a, types.intp) for a in call.arguments]
    site = t.site

    def reshape(frame: Any, view: View, *parts: Any) -> View:
        wanted = [int(part) for part in (parts[0] if packed else parts)]
        if -1 in wanted and len(view.shape):
            rest = int(np.prod([part for part in wanted if part != -1]))
            wanted[wanted.index(-1)] = int(view.size) // rest if rest else 0
        if int(np.prod(wanted)) != int(view.size) or min(wanted, default=0) < 0:
            frame.launch.faults.reshape(frame, view, wanted, site)
        extents = tuple(wanted)
        return replace(view, shape=extents, strides=_scaled(view, contiguous_strides(extents)))

    _emit(t, call, reshape, [call.this.slot, *slots])


def _scaled(view: View, strides: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(step * (view.dtype.itemsize // view.unit) for step in strides)


@handles("array.ravel")
def _array_ravel(t: Translator, call: Call) -> None:
    assert call.this is not None
    if call.this.type.layout != "C":
        t.refuse("ravel() of an array that is not C-contiguous")

    def ravel(_: Any, view: View) -> View:
        return replace(view, shape=(int(view.size),), strides=_scaled(view, (1,)))

    _emit(t, call, ravel, [call.this.slot])


@handles("array.transpose")
def _array_transpose(t: Translator, call: Call) -> None:
    assert call.this is not None
    if call.arguments:
        t.refuse("transpose() with axes")

    def transpose(_: Any, view: View) -> View:
        return replace(view, shape=view.shape[::-1], strides=view.strides[::-1])

    _emit(t, call, transpose, [call.this.slot])


@handles("array.item")
def _array_item(t: Translator, call: Call) -> None:
    assert call.this is not None
    site = t.site

    def item(frame: Any, view: View) -> Any:
        return access.load(frame, view, (np.int64(0),) * len(view.shape), site)

    _emit(t, call, item, [call.this.slot])


# ---- atomics ---------------------------------------------------------------------------------


def _atomic_handler(name: str) -> Any:
    update = ATOMICS[name]

    def handler(t: Translator, call: Call) -> None:
        array, index, *values = call.arguments
        indices, basic = t.index_slots(index)
        _emit_atomic(t, call, array, indices, basic, values, update)

    return handler


def _emit_atomic(
    t: Translator, call: Call, array: Any, indices: list[int], basic: bool, values: Any, update: Any
) -> None:
    if not basic or len(indices) != array.type.ndim:
        t.refuse("an atomic operation on a slice")
    operands = [t.converted(value, array.type.dtype) for value in values]
    view, site, count = array.slot, t.site, len(indices)

    def run(frame: Any, target: View, *rest: Any) -> Any:
        return atomic(frame, target, rest[:count], update, rest[count:], site)

    _emit(t, call, run, [view, *indices, *operands])


for _name in ATOMICS:
    handles(getattr(cuda.atomic, _name))(_atomic_handler(_name))


@handles(cuda.atomic.compare_and_swap)
def _compare_and_swap(t: Translator, call: Call) -> None:
    array, *values = call.arguments
    zero = t.new_slot(np.int64(0))
    _emit_atomic(t, call, array, [zero], True, values, ATOMICS["cas"])


# ---- Python's own ----------------------------------------------------------------------------


@handles(builtins.range)
def _range(t: Translator, call: Call) -> None:
    wanted = call.signature.return_type.dtype
    dtype = scalar_dtype(wanted)
    assert dtype is not None
    zero, one = t.new_slot(dtype.type(0)), t.new_slot(dtype.type(1))
    slots = [t.converted(argument, wanted) for argument in call.arguments]
    if len(slots) == 3:
        message = "range() arg 3 must not be zero"
        t.guard(lambda step: step == 0, [slots[2]], ValueError, message)
    bounds = {1: lambda: [zero, *slots, one], 2: lambda: [*slots, one], 3: lambda: slots}
    _emit(t, call, lambda _, *parts: tuple(parts), bounds[len(slots)]())


@handles(builtins.enumerate)
def _enumerate(t: Translator, call: Call) -> None:
    counted, *start = call.arguments
    begin = t.converted(start[0], types.intp) if start else t.new_slot(np.int64(0))
    endless = t.new_slot(np.int64(2**62))
    one = t.new_slot(np.int64(1))
    from warpladder.simulator.iterators import counter

    parts = [counter(t, [begin, endless, one]), make_iterator(t, counted)]
    call.scope.slots[call.target.name] = t.new_slot(parts)


@handles(builtins.zip)
def _zip(t: Translator, call: Call) -> None:
    parts = [make_iterator(t, argument) for argument in call.arguments]
    call.scope.slots[call.target.name] = t.new_slot(parts)


@handles(builtins.iter)
def _iter(t: Translator, call: Call) -> None:
    t.bind(call.scope, call.target.name, make_iterator(t, call.arguments[0]))


@handles(builtins.len)
def _len(t: Translator, call: Call) -> None:
    (argument,) = call.arguments
    if isinstance(argument.type, types.BaseTuple):
        length = len(argument.type.types)
        call.scope.slots[call.target.name] = t.new_slot(np.int64(length))
        return
    if not isinstance(argument.type, types.Array):
        t.refuse(f"len() of {argument.type}")

    def extent(_: Any, view: View) -> Any:
        first = view.shape[0]
        return first if isinstance(first, np.ndarray) else np.int64(first)

    _emit(t, call, extent, [argument.slot])


@handles(builtins.slice)
def _slice(t: Translator, call: Call) -> None:
    slots = [
        argument.slot
        if isinstance(argument.type, types.NoneType)
        else t.converted(argument, types.intp)
        for argument in call.arguments
    ]
    none = t.new_slot(None)
    if len(slots) == 1:
        slots = [none, slots[0]]
    if len(slots) == 2:
        slots = [*slots, none]
    _emit(t, call, lambda _, *parts: tuple(parts), slots)


@handles(operator.getitem)
def _getitem(t: Translator, call: Call) -> None:
    array, index = call.arguments
    indices, basic = t.index_slots(index)
    if not isinstance(array.type, types.Array) or not basic:
        t.refuse("operator.getitem on this")
    site = t.site
    _emit(
        t, call, lambda f, view, *where: access.load(f, view, where, site), [array.slot, *indices]
    )


@handles(operator.setitem)
def _setitem(t: Translator, call: Call) -> None:
    array, index, value = call.arguments
    indices, basic = t.index_slots(index)
    t.store(array, indices, basic, value)
    _nothing(t, call)


@handles(builtins.print)
def _print(t: Translator, call: Call) -> None:
    emit_print(t, [argument.slot for argument in call.arguments])
    _nothing(t, call)


def emit_print(t: Translator, slots: list[int]) -> None:
    """Emit a ``print``: a line for each thread, in the order of the threads."""

    def run(frame: Any) -> None:
        values = [frame.variables[slot] for slot in slots]
        for thread in range(frame.count):
            frame.launch.say(" ".join(_shown(_own(value, thread)) for value in values))

    t.emit(run, slots)


def _shown(value: Any) -> str:
    """Format as device ``printf`` does for Numba: integers as they are, floats with six places."""
    if isinstance(value, tuple):
        parts = [_shown(part) for part in value]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    if isinstance(value, np.floating):
        return f"{float(value):f}"
    return str(value)


def _own(value: Any, thread: int) -> Any:
    if isinstance(value, tuple):
        return tuple(_own(part, thread) for part in value)
    return value[thread] if isinstance(value, np.ndarray) else value
