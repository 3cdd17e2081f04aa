"""Arrays of the simulated device."""

from __future__ import annotations

import itertools
import math
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from warpladder.device.array_layout import LaidOut
from warpladder.device.cuda_arguments import as_element, as_shape
from warpladder.device.host_memory import require_memory
from warpladder.errors import InputError, InputTypeError
from warpladder.simulator.machine.memory import (
    ALLOCATION_ALIGNMENT,
    INTEGER_POISON,
    Buffer,
    View,
    order_of,
    poison,
)

__all__ = ["SimulatedArray"]

_addresses = itertools.count(1)


class SimulatedArray(LaidOut):
    """An array in the memory of a simulated device.

    Host code sees ``shape``, ``dtype`` and basic slices of it, which share its memory; its contents
    come to the host by `copy_to_host`.
    """

    def __init__(self, values: NDArray[Any], buffer: Buffer) -> None:
        self._layout = self.values = values
        self.buffer = buffer

    @classmethod
    def allocate(
        cls, shape: int | tuple[int, ...], dtype: DTypeLike, order: Literal["C", "F"] = "C"
    ) -> Self:
        """Return a new array that nobody has written: poison, which the checks know of."""
        kind = as_element(dtype)
        extents = as_shape(shape)
        size = math.prod(extents) * kind.itemsize
        # Of each byte it is also kept whether it has been written.
        require_memory(2 * size, f"shape={shape!r}: elements of a simulated device")
        raw = np.empty(size, dtype=np.uint8)
        if kind.kind in "fc":
            poison(raw)
        else:
            raw[...] = INTEGER_POISON
        # Far apart: no two allocations share a line of the cache.
        address = next(_addresses) * (1 << 40) // ALLOCATION_ALIGNMENT * ALLOCATION_ALIGNMENT
        buffer = Buffer(raw, "global", "a device array", address)
        buffer.written = np.zeros(size, dtype=bool)
        values: NDArray[Any] = np.ndarray(extents, dtype=kind, buffer=raw, order=order)
        return cls(values, buffer)

    @classmethod
    def like(cls, host: NDArray[Any]) -> Self:
        """Return a new array of the shape, dtype and order of one of the host."""
        return cls.allocate(host.shape, host.dtype, order_of(host))

    @property
    def offset_bytes(self) -> int:
        """Where the first element starts in the allocation."""
        return self.values.ctypes.data - self.buffer.raw.ctypes.data if self.values.size else 0

    def seen(self, name: str = "a device array") -> View:
        """Return it as a kernel sees it."""
        return View.of(self.values, self.buffer, self.offset_bytes, name)

    @property
    def T(self) -> Self:  # noqa: N802 - NumPy's name
        """The transposed array, in the same memory."""
        return self._sharing(self.values.T)

    def reshape(self, *shape: Any, order: Any = "C") -> Self:
        """Return the same elements in another shape; the array must be contiguous."""
        return self._sharing(self.values.reshape(*shape, order=order))

    def ravel(self, order: Any = "C") -> Self:
        """Return the same elements in one dimension; the array must be contiguous."""
        return self._sharing(self.values.reshape(-1, order=order))

    def view(self, dtype: DTypeLike) -> Self:
        """Return the same bytes as elements of another dtype."""
        return self._sharing(self.values.view(dtype))

    def __getitem__(self, index: Any) -> Any:
        part = self.values[index]
        return self._sharing(part) if isinstance(part, np.ndarray) else part

    def __setitem__(self, index: Any, value: Any) -> None:
        self.values[index] = value.values if isinstance(value, SimulatedArray) else value
        self._mark(index)

    def __iter__(self) -> Any:
        return iter(self.values)

    def __str__(self) -> str:
        return str(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise InputError("an array of a device cannot be one of NumPy without a copy")
        return np.array(self.values, dtype=dtype)

    def _sharing(self, values: NDArray[Any]) -> Self:
        """Return an array of these elements, which have to be some of this one's."""
        if values.size and not np.may_share_memory(values, self.values):
            raise InputError(
                "an array on a device is sliced, and one that is contiguous reshaped: what was "
                "asked for is a copy; copy it to the host first"
            )
        return type(self)(values, self.buffer)

    def _mark(self, index: Any) -> None:
        """Note that elements have been written from the host."""
        written = self.buffer.written
        if written is None:
            return
        if self.values[index] is self.values or index is Ellipsis:
            written[:] = True
            return
        # The bytes of the elements that the index selects, through a view of the same layout.
        steps = [
            np.arange(extent) * stride
            for extent, stride in zip(self.shape, self.strides, strict=True)
        ]
        offsets = np.zeros(self.shape, dtype=np.int64) + self.offset_bytes
        for axis, step in enumerate(steps):
            offsets += step.reshape([-1 if k == axis else 1 for k in range(self.ndim)])
        starts = np.asarray(offsets[index]).reshape(-1)
        span = np.arange(self.dtype.itemsize)
        written[(starts[:, None] + span).reshape(-1)] = True

    def fill(self, host: NDArray[Any]) -> None:
        """Copy ``host`` into it."""
        np.copyto(self.values, host)
        self._mark(Ellipsis if self.values.nbytes == len(self.buffer.raw) else slice(None))

    def copy_to_host(self, ary: NDArray[Any] | None = None, stream: Any = None) -> NDArray[Any]:
        """Return the contents on the host, in ``ary`` where it is given."""
        del stream
        if ary is None:
            return self.values.copy(order="K")
        self._check_alike(ary)
        np.copyto(ary, self.values.reshape(ary.shape))
        return ary

    def copy_to_device(self, ary: Any, stream: Any = None) -> None:
        """Copy from a host array or another one of the device."""
        del stream
        given = np.asarray(ary.values if isinstance(ary, SimulatedArray) else ary)
        self._check_alike(given)
        self.fill(given.reshape(self.shape))

    def split(self, section: int, stream: Any = None) -> list[Self]:
        """Return parts of so many elements, the last of which may have fewer."""
        del stream
        return [self[first : first + section] for first in range(0, self.size, section)]

    def is_c_contiguous(self) -> bool:
        """Return whether it is contiguous in C order."""
        return bool(self.flags.c_contiguous)

    def is_f_contiguous(self) -> bool:
        """Return whether it is contiguous in Fortran order."""
        return bool(self.flags.f_contiguous)

    def _check_alike(self, host: NDArray[Any]) -> None:
        """Refuse an array between which and this one a GPU copies no bytes: of another kind."""
        if host.dtype != self.dtype:
            raise InputTypeError(
                f"incompatible dtype: {self.dtype} on the device, {host.dtype} on the host"
            )
        if host.squeeze().shape != self.values.squeeze().shape:
            raise InputError(
                f"incompatible shape: {self.shape} on the device, {host.shape} on the host"
            )
