"""From what a caller passes to a kernel to what its threads see, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.device.numba_target import as_dtype, types
from warpladder.errors import InputError, InputTypeError
from warpladder.simulator.execution.arrays import SimulatedArray
from warpladder.simulator.frontend.signatures import argument_type
from warpladder.simulator.machine.memory import (
    ALLOCATION_ALIGNMENT,
    Buffer,
    View,
)
from warpladder.simulator.machine.values import scalar_dtype

__all__ = ["Arguments", "types_of"]


def types_of(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the Numba types of a kernel's arguments.

    Raises
    ------
    InputTypeError
        An argument is of a kind that no kernel takes.
    """
    found = []
    for position, argument in enumerate(arguments):
        try:
            found.append(argument_type(_host(argument)))
        except Exception as fault:
            # ValueErrors, and those of Numba, whose CUDA target has error classes of its own.
            kind = type(argument).__name__
            if hasattr(argument, "dtype"):
                kind += f" and dtype {argument.dtype}"
            elif isinstance(argument, int):
                kind += " and of more than 64 bits"
            raise InputTypeError(
                f"kernel argument {position} is of type {kind}, which kernels do not take: pass "
                "arrays of numbers in this machine's byte order, numbers, tuples of them or records"
            ) from fault
    return tuple(found)


def _host(argument: Any) -> Any:
    """Return the value itself of an argument wrapped in ``cuda.In``, ``Out`` or ``InOut``."""
    if isinstance(argument, SimulatedArray):
        return argument.values
    if type(argument).__module__.endswith("cuda.args") and hasattr(argument, "value"):
        return _host(argument.value)
    if isinstance(argument, tuple):
        parts = [_host(part) for part in argument]
        return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)
    return argument


class Arguments:
    """The arguments of one launch, in simulated memory.

    Parameters
    ----------
    names
        Of the kernel's parameters, for reports.
    kinds
        Numba types that the kernel is specialised for.
    """

    def __init__(
        self, names: tuple[str, ...], kinds: tuple[Any, ...], given: tuple[Any, ...]
    ) -> None:
        self._after: list[Callable[[], None]] = []
        self._next_address = ALLOCATION_ALIGNMENT
        #: The buffers of arrays, with each one's element sizes.
        self.buffers: dict[int, tuple[Buffer, set[int]]] = {}
        self.values = [
            self._value(name, kind, value)
            for name, kind, value in zip(names, kinds, given, strict=True)
        ]

    def copy_back(self) -> None:
        """Write results to arrays whose memory could not be used as it is."""
        for action in self._after:
            action()

    def _value(self, name: str, kind: Any, given: Any) -> Any:
        if type(given).__module__.endswith("cuda.args") and hasattr(given, "value"):
            plain, wrapper = given.value, type(given).__name__
            if wrapper == "In":
                plain = np.array(_host(plain), copy=True)
            elif wrapper == "Out" and isinstance(plain, np.ndarray):
                plain = self._brought_back(plain)
            given = plain
        if isinstance(kind, types.Array):
            _check_order(name, kind, given)
            if kind.mutable and isinstance(given, np.ndarray) and not given.flags.writeable:
                given = self._only_read(name, given)
            return self._as_declared(self._array(name, given), kind)
        if isinstance(kind, types.BaseTuple):
            return tuple(
                self._value(f"{name}[{k}]", part, value)
                for k, (part, value) in enumerate(zip(kind.types, given, strict=True))
            )
        if isinstance(kind, types.Record):
            return self._record(name, given)
        if isinstance(kind, types.NoneType | types.Optional):
            raise InputTypeError(
                f"kernel argument {name}: no GPU is given what may be None; pass a number that "
                "stands for it"
            )
        dtype = scalar_dtype(kind)
        if dtype is None:
            raise InputTypeError(
                f"kernel argument {name}: the simulator takes no {kind}; pass arrays, numbers, "
                "tuples of them or records"
            )
        with np.errstate(all="ignore"):
            return np.asarray(getattr(given, "value", given)).astype(dtype)[()]

    def _only_read(self, name: str, host: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of an array of which a signature does not say that it is only read."""
        copy = host.copy(order="K")

        def check() -> None:
            if copy.tobytes() != host.tobytes():
                raise InputError(
                    f"kernel argument {name}: the array is read-only, and the kernel writes to it; "
                    "give a copy"
                )

        self._after.append(check)
        return copy

    def _brought_back(self, host: NDArray[Any]) -> SimulatedArray:
        """Return an array without contents that comes to ``host`` in the end."""
        array = SimulatedArray.like(host)
        self._after.append(lambda: np.copyto(host, array.values))
        return array

    def _array(self, name: str, given: Any) -> View:
        if isinstance(given, SimulatedArray):
            array, buffer, start = given.values, given.buffer, given.offset_bytes
        else:
            array = np.asarray(given)
            whole = array.flags.c_contiguous or array.flags.f_contiguous
            if not whole or self._lies_across_another(array):
                # A GPU has a copy of each array of the host: parts of one do not meet there.
                original, array = array, array.copy(order="K" if whole else "C")
                before = array.copy()
                if original.flags.writeable:
                    self._after.append(lambda: _copy_changes(array, before, original))
            raw = _bytes_of(array)
            buffer, start = self._same_memory(raw, name), 0
            gap = len(raw) + ALLOCATION_ALIGNMENT
            self._next_address += -(-gap // ALLOCATION_ALIGNMENT) * ALLOCATION_ALIGNMENT
        self.watch(buffer, array.dtype)
        return View.of(array, buffer, start, name)

    def watch(self, buffer: Buffer, dtype: np.dtype[Any]) -> None:
        """Take note of memory that the kernel reaches as elements of this dtype."""
        _, sizes = self.buffers.setdefault(id(buffer), (buffer, set()))
        sizes.update(_granules(dtype))

    def _same_memory(self, raw: NDArray[np.uint8], name: str) -> Buffer:
        """Return the buffer of these bytes: one array given twice is one array."""
        for known, _ in self.buffers.values():
            if known.raw.ctypes.data == raw.ctypes.data and len(known.raw) == len(raw) > 0:
                return known
        return Buffer(raw, "global", name, self._next_address)

    def _lies_across_another(self, array: NDArray[Any]) -> bool:
        """Whether an array and one before it share bytes, and are not one."""
        raw = _bytes_of(array)
        return any(
            np.may_share_memory(known.raw, raw)
            and (known.raw.ctypes.data, len(known.raw)) != (raw.ctypes.data, len(raw))
            for known, _ in self.buffers.values()
        )

    def _as_declared(self, view: View, kind: Any) -> View:
        """Return the array as the kernel's signature has it: the same bytes, read as its dtype."""
        declared = np.dtype(as_dtype(kind.dtype))
        if declared == view.dtype or declared.itemsize != view.dtype.itemsize:
            return view
        return replace(view, dtype=declared)

    def _record(self, name: str, given: Any) -> View:
        array = np.array([given], dtype=given.dtype)
        view = self._array(name, array)

        def back() -> None:
            for field in given.dtype.names:
                given[field] = array[0][field]

        self._after.append(back)
        return View(view.buffer, array.dtype, 0, (), (), view.unit, name)


def _check_order(name: str, kind: Any, given: Any) -> None:
    """Refuse an array whose elements lie in another order than a signature says."""
    if kind.layout == "A":
        return
    flags = given.flags if hasattr(given, "flags") else np.asarray(given).flags
    if not (flags.c_contiguous if kind.layout == "C" else flags.f_contiguous):
        raise InputTypeError(
            f"kernel argument {name}: its signature says {kind.layout} order, in which the array "
            "does not lie, and a GPU would read it as if it did; give a copy in that order, or "
            "declare it with [:] for any order"
        )


def _copy_changes(after: NDArray[Any], before: NDArray[Any], target: NDArray[Any]) -> None:
    """Write back what the kernel changed: another argument may share the memory of the rest."""
    size = after.dtype.itemsize
    new = after.reshape(-1).view(np.uint8).reshape(-1, size)
    old = before.reshape(-1).view(np.uint8).reshape(-1, size)
    changed = (new != old).any(axis=1).reshape(after.shape)
    target[changed] = after[changed]


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the memory of a contiguous array as bytes, without a copy."""
    flat = array.reshape(-1) if array.flags.c_contiguous else array.T.reshape(-1)
    if flat.size == 0:
        return np.empty(0, dtype=np.uint8)
    return flat.view(np.uint8)


def _granules(dtype: np.dtype[Any]) -> set[int]:
    """Return the sizes at which parts of an element can be accessed on their own."""
    if dtype.names is not None:
        sizes = {int(entry[1]) for entry in (dtype.fields or {}).values()} - {0}
        return sizes.union(*(_granules(entry[0]) for entry in (dtype.fields or {}).values()))
    if dtype.subdtype is not None:
        return _granules(dtype.subdtype[0])
    return {dtype.itemsize}
