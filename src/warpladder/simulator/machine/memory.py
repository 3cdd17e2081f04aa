"""Memory: buffers of bytes, and the array views through which threads reach them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from warpladder.device.numba_target import types
from warpladder.simulator.machine.values import UNSET, constant, merge, take

__all__ = [
    "PART",
    "Buffer",
    "BufferChoice",
    "View",
    "as_values",
    "constant_value",
    "contiguous_strides",
    "order_of",
    "poison",
]

#: CUDA aligns what it allocates to this many bytes.
ALLOCATION_ALIGNMENT = 512

#: What memory of integers holds that nobody has written: a number that no one takes for an answer.
INTEGER_POISON = 0xA5


def poison(raw: NDArray[np.uint8]) -> None:
    """Fill memory that nobody has written: NaN in floats, -1 in integers, True in booleans."""
    raw[...] = 0xFF


class Buffer:
    """A piece of memory of one space.

    Parameters
    ----------
    raw
        Its bytes.
    space
        ``"global"``, ``"shared"``, ``"local"`` or ``"constant"``.
    name
        For reports: the array argument, or ``"shared memory"``.
    address
        Where it would start on the device.
    instance_bytes
        Shared memory: bytes per block; local: bytes per thread's element row. Else 0.
    """

    __slots__ = (
        "address",
        "granule",
        "instance_bytes",
        "name",
        "raw",
        "rows",
        "shadow",
        "space",
        "typed_views",
        "written",
    )

    def __init__(
        self,
        raw: NDArray[np.uint8],
        space: str,
        name: str,
        address: int = 0,
        instance_bytes: int = 0,
    ) -> None:
        self.raw = raw
        self.space = space
        self.name = name
        self.address = address
        self.instance_bytes = instance_bytes
        self.typed_views: dict[np.dtype[Any], NDArray[Any]] = {}
        #: Of a local array: its elements, each a row with those of all threads.
        self.rows: NDArray[Any] | None = None
        #: Bytes at which accesses are told apart by the checks.
        self.granule = 1
        #: Per granule: written yet? None where everything is.
        self.written: NDArray[np.bool_] | None = None
        #: What the race checker remembers of past accesses.
        self.shadow: Any = None

    def typed(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the bytes as elements of ``dtype``, from the first byte on."""
        view = self.typed_views.get(dtype)
        if view is None:
            whole = len(self.raw) // dtype.itemsize * dtype.itemsize if dtype.itemsize else 0
            view = self.raw[:whole].view(dtype)
            self.typed_views[dtype] = view
        return view


@dataclass(frozen=True, slots=True)
class BufferChoice:
    """Different buffers for different threads: `which` holds each thread's index into `buffers`."""

    buffers: tuple[Buffer, ...]
    which: NDArray[np.intp]

    def taken(self, where: NDArray[Any]) -> BufferChoice:
        """Return the choice of the threads at positions ``where``."""
        return BufferChoice(self.buffers, self.which[where])


PART = "[...]"
"""What follows the name of an array in that of a part of it."""


def order_of(array: NDArray[Any]) -> Literal["C", "F"]:
    """Return the order of the axes in memory."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def contiguous_strides(shape: tuple[int, ...], order: str = "C") -> tuple[int, ...]:
    """Return the strides, in elements, of an array without gaps."""
    strides, step = [], 1
    for extent in reversed(shape) if order == "C" else shape:
        strides.append(step)
        step *= int(extent)
    return tuple(reversed(strides)) if order == "C" else tuple(strides)


@dataclass(frozen=True, slots=True)
class View:
    """An array as a kernel sees it; any part of it may differ between threads.

    Attributes
    ----------
    buffer
        Where its elements are: one buffer, or a choice between several.
    dtype
        Of its elements.
    offset, strides
        Of the first element, and from element to element, in units of ``unit`` bytes.
    shape
        Its extents.
    unit
        The dtype's item size; 1 for records whose fields are not aligned.
    name
        The kernel's name for it, or for the array that it is a part of: then `PART` follows.
    """

    buffer: Buffer | BufferChoice
    dtype: np.dtype[Any]
    offset: Any
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    unit: int
    name: str

    @classmethod
    def of(cls, array: NDArray[Any], buffer: Buffer, start: int, name: str) -> View:
        """Return a view of an array whose first element is ``start`` bytes into ``buffer``."""
        unit = array.dtype.itemsize
        if array.size == 0:
            strides = contiguous_strides(array.shape)
            return cls(buffer, array.dtype, 0, array.shape, strides, unit, name)
        if start % unit or any(step % unit for step in array.strides):
            unit = 1
        steps = tuple(step // unit for step in array.strides)
        return cls(buffer, array.dtype, start // unit, array.shape, steps, unit, name)

    def taken(self, where: NDArray[Any]) -> View:
        """Return the view as the threads at positions ``where`` have it."""
        buffer, offset = self.buffer, self.offset
        if isinstance(buffer, BufferChoice):
            buffer = buffer.taken(where)
        if isinstance(offset, np.ndarray):
            offset = offset[where]
        shape, strides = _taken(self.shape, where), _taken(self.strides, where)
        if (
            offset is self.offset
            and buffer is self.buffer
            and shape is self.shape
            and strides is self.strides
        ):
            return self
        # Not by `dataclasses.replace`, which takes as long as all of the above.
        return View(buffer, self.dtype, offset, shape, strides, self.unit, self.name)

    def merged_over(self, old: Any, where: NDArray[Any], count: int) -> View:
        """Return ``old``, a view of ``count`` threads, with this one for those at ``where``."""
        if not isinstance(old, View):
            buffer = self.buffer
            first = buffer.buffers[0] if isinstance(buffer, BufferChoice) else buffer
            unset = (UNSET,) * len(self.shape)
            old = replace(self, buffer=first, offset=UNSET, shape=unset, strides=unset)
        before, after = old, self
        if before.unit != after.unit:
            before, after = before.in_bytes(), after.in_bytes()

        def join(a: Any, b: Any) -> Any:
            return merge(a, _generic(b), where, count, False)

        return replace(
            after,
            buffer=_merge_buffers(before.buffer, after.buffer, where, count),
            offset=join(_generic(before.offset), after.offset),
            shape=tuple(map(join, map(_generic, before.shape), after.shape)),
            strides=tuple(map(join, map(_generic, before.strides), after.strides)),
        )

    def in_bytes(self) -> View:
        """Return the same view counted in bytes."""
        if self.unit == 1:
            return self
        return replace(
            self,
            offset=self.offset * self.unit if self.offset is not UNSET else UNSET,
            strides=tuple(s * self.unit if s is not UNSET else UNSET for s in self.strides),
            unit=1,
        )

    def transposed(self) -> View:
        """Return the view with its axes in reverse."""
        return replace(self, shape=self.shape[::-1], strides=self.strides[::-1])

    @property
    def extents(self) -> tuple[Any, ...]:
        """Its shape as values of the kernel."""
        return as_values(self.shape)

    @property
    def size(self) -> Any:
        """Number of elements."""
        return math.prod(self.extents, start=np.int64(1))


def _taken(parts: tuple[Any, ...], where: NDArray[Any]) -> tuple[Any, ...]:
    """Return extents or strides for the threads at ``where``: the same tuple if all share them."""
    for part in parts:
        if isinstance(part, np.ndarray):
            return tuple(take(each, where) for each in parts)
    return parts


def as_values(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return extents or strides as values of the kernel."""
    return tuple(part if isinstance(part, np.ndarray) else np.int64(part) for part in parts)


def constant_value(value: Any, numba_type: Any) -> Any:
    """Return a Python constant as a variable holds it: arrays of the host in constant memory."""
    if isinstance(numba_type, types.Array):
        # An array of the device is used where it lies.
        return value.seen() if hasattr(value, "seen") else _constant_view(np.asarray(value))
    if isinstance(numba_type, types.BaseTuple) and isinstance(value, tuple):
        return tuple(constant_value(v, t) for v, t in zip(value, numba_type.types, strict=True))
    return constant(value, numba_type)


def _constant_view(array: NDArray[Any]) -> View:
    """Return a view of an array in constant memory: of a copy, as Numba freezes it."""
    order = order_of(array)
    flat = np.array(array, order=order).ravel(order="K")
    raw = (
        flat.view(np.uint8)
        if flat.dtype.names is None
        else np.frombuffer(flat.tobytes(), np.uint8).copy()
    )
    buffer = Buffer(raw.reshape(-1), "constant", "a constant array")
    strides = contiguous_strides(array.shape, order)
    return View(buffer, array.dtype, 0, array.shape, strides, array.dtype.itemsize, buffer.name)


def _generic(value: Any) -> Any:
    return np.int64(value) if isinstance(value, int) else value


def _merge_buffers(
    old: Buffer | BufferChoice, new: Buffer | BufferChoice, where: NDArray[Any], count: int
) -> Buffer | BufferChoice:
    if old is new and isinstance(new, Buffer):
        return new
    olds = old.buffers if isinstance(old, BufferChoice) else (old,)
    news = new.buffers if isinstance(new, BufferChoice) else (new,)
    buffers = (*olds, *(buffer for buffer in news if buffer not in olds))
    which = old.which.copy() if isinstance(old, BufferChoice) else np.zeros(count, dtype=np.intp)
    renumbered = np.array([buffers.index(buffer) for buffer in news], dtype=np.intp)
    which[where] = renumbered[new.which] if isinstance(new, BufferChoice) else renumbered[0]
    return BufferChoice(buffers, which)
