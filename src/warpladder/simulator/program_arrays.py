"""Arrays as numba-cuda's are to the host code of programs: what it copies, and what it refuses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from warpladder.device.cuda_arguments import as_element, as_shape
from warpladder.device.numba_target import (
    FRONT_END,
    CUDAGeneralizedUFunc,
    CUDAUFuncMechanism,
    types,
)
from warpladder.errors import InputError
from warpladder.simulator.execution.arrays import SimulatedArray
from warpladder.simulator.frontend.signatures import argument_type

__all__ = [
    "ProgramArray",
    "broadcasting",
    "device_array",
    "device_array_like",
    "host_array",
    "host_array_like",
    "require_contiguous",
    "to_device",
]


class _FromOutside(types.Array):  # type: ignore[misc]
    """The type of an array of the device that a kernel has from outside of it.

    Numba lets kernels only read what they have from outside, but for arrays with addresses on a
    GPU, by which it tells those of the device.
    """

    def copy(self, *_: Any, **__: Any) -> Any:
        """Return the plain type, which can be written to."""
        return types.Array(self.dtype, self.ndim, self.layout, aligned=self.aligned)


class ProgramArray(SimulatedArray):
    """An array of the simulated device that programs take for one of numba-cuda's."""

    @property
    def _numba_type_(self) -> Any:
        """What Numba sees where a kernel uses the array without having it as an argument."""
        if FRONT_END.package == "numba":
            # Numba's own target compiles no such kernel.
            return None
        kind = argument_type(self.values)
        return _FromOutside(kind.dtype, kind.ndim, kind.layout, aligned=kind.aligned)

    @property
    def T(self) -> ProgramArray:  # noqa: N802 - NumPy's name
        """A transposed copy."""
        return self.transpose()

    def transpose(self, axes: tuple[int, ...] | None = None) -> ProgramArray:
        """Return a transposed copy, as a GPU makes one by a kernel; of two axes only."""
        if axes and tuple(axes) == tuple(range(self.ndim)):
            return self
        if self.ndim != 2:
            raise NotImplementedError(
                f"transpose: an array of the device has to have two axes, this one is of shape "
                f"{self.shape}; turn it on the host"
            )
        if axes and sorted(axes) != [0, 1]:
            raise InputError(f"transpose: axes={axes!r} are not the two of the array; use (1, 0)")
        turned = ProgramArray.allocate(self.shape[::-1], self.dtype)
        turned.values[...] = self.values.T
        if self.buffer.written is not None and turned.buffer.written is not None:
            unit = self.dtype.itemsize
            written: NDArray[np.bool_] = np.ndarray(
                (*self.shape, unit), bool, self.buffer.written, self.offset_bytes,
                (*self.strides, 1),
            )  # fmt: skip
            turned.buffer.written[...] = written.swapaxes(0, 1).reshape(-1)
        return turned

    def copy_to_host(self, ary: NDArray[Any] | None = None, stream: Any = None) -> NDArray[Any]:
        """Return the contents on the host, in ``ary`` where it is given: its bytes as they lie."""
        if any(step < 0 for step in self.strides):
            raise NotImplementedError(
                f"copy_to_host: an array with strides {self.strides} runs backwards, and a GPU "
                "copies none such; copy it forwards and turn it on the host"
            )
        if ary is not None:
            self._check_layout(ary)
        return super().copy_to_host(ary, stream)

    def copy_to_device(self, ary: Any, stream: Any = None) -> None:
        """Copy from a host array or another one of the device."""
        if np.size(ary):
            require_contiguous("copy_to_device: the array on the device", self.values)
        if isinstance(ary, SimulatedArray):
            require_contiguous("copy_to_device: the array to copy", ary.values)
            self._check_layout(ary.values)
        super().copy_to_device(ary, stream)

    def _check_layout(self, other: NDArray[Any]) -> None:
        """Refuse an array between which and this one bytes cannot be copied as they lie."""
        self._check_alike(other)
        if self.size and other.squeeze().strides != self.values.squeeze().strides:
            raise InputError(
                f"incompatible strides: {self.strides} on the device, {other.strides} of the other"
            )

    def _sharing(self, values: NDArray[Any]) -> Self:
        try:
            return super()._sharing(values)
        except InputError as fault:
            # As Numba has it, whose functions for arrays then copy by way of the host.
            raise NotImplementedError(str(fault)) from fault

    def broadcast_to(self, shape: int | tuple[int, ...]) -> ProgramArray:
        """Return the same elements in another shape, repeated without a copy."""
        extents = as_shape(shape)
        strides = np.broadcast_to(self.values, extents).strides
        return ProgramArray(as_strided(self.values, extents, strides), self.buffer)


def require_contiguous(what: str, array: Any) -> None:
    """Refuse an array of the host whose elements are not side by side: no GPU is sent one."""
    if not isinstance(array, np.ndarray) or not array.size:
        return
    core = array[tuple(slice(None) if step else 0 for step in array.strides)]
    if not (core.flags.c_contiguous or core.flags.f_contiguous):
        raise InputError(
            f"{what} of shape {array.shape} and strides {array.strides} is not contiguous, and a "
            "GPU copies no such array; use numpy.ascontiguousarray"
        )


@contextlib.contextmanager
def broadcasting() -> Iterator[None]:
    """Have functions made by ``vectorize`` and ``guvectorize`` repeat arrays as these do it."""
    places = (
        (CUDAGeneralizedUFunc, "_broadcast_scalar_input"),
        (CUDAGeneralizedUFunc, "_broadcast_add_axis"),
        (CUDAUFuncMechanism, "broadcast_device"),
    )
    saved = [getattr(owner, name) for owner, name in places]
    for owner, name in places:
        setattr(owner, name, lambda _, array, shape: array.broadcast_to(shape))
    try:
        yield
    finally:
        for (owner, name), value in zip(places, saved, strict=True):
            setattr(owner, name, value)


def to_device(obj: Any, stream: Any = None, copy: bool = True, to: Any = None) -> Any:
    """Return a copy on the device, in ``to`` where it is given."""
    del copy
    if isinstance(obj, SimulatedArray) and to is None:
        return obj
    if to is None:
        host = np.asarray(obj)
        require_contiguous("to_device: the array", host)
        # What is repeated without a copy is repeated there, too: threads meet in it.
        is_repeated = host.size and 0 in host.strides
        to = (
            device_array(host.shape, host.dtype, host.strides)
            if is_repeated
            else ProgramArray.like(host)
        )
    to.copy_to_device(obj if isinstance(obj, SimulatedArray) else np.asarray(obj), stream)
    return to


def device_array(
    shape: Any,
    dtype: Any = np.float64,
    strides: Any = None,
    order: Literal["C", "F"] = "C",
    stream: Any = None,
) -> ProgramArray:
    """Return an array that nobody has written; ``strides`` may leave gaps, as pitched ones do."""
    del stream
    # An array of extents is taken, too.
    extents, kind = as_shape(tuple(shape) if np.ndim(shape) else shape), as_element(dtype)
    if strides is None:
        return ProgramArray.allocate(extents, kind, order)
    steps = as_shape(strides)
    if len(steps) != len(extents):
        raise InputError(f"strides={strides!r}: shape={shape!r} takes {len(extents)} of them")
    last = sum((extent - 1) * step for extent, step in zip(extents, steps, strict=True))
    memory = ProgramArray.allocate(last + kind.itemsize if 0 not in extents else 0, np.uint8)
    values: NDArray[Any] = np.ndarray(extents, kind, memory.buffer.raw, strides=steps)
    return ProgramArray(values, memory.buffer)


def device_array_like(ary: Any, stream: Any = None) -> ProgramArray:
    """Return an array of the shape, dtype and order of another one, that nobody has written."""
    steps: tuple[int, ...] = getattr(ary, "strides", ())
    order: Literal["C", "F"] = "F" if len(steps) > 1 and steps[0] < steps[-1] else "C"
    return device_array(ary.shape, ary.dtype, order=order, stream=stream)


def host_array_like(array: Any, **_: Any) -> Any:
    """Return an array of the host, of the shape, dtype and order of another one."""
    return np.empty_like(array.values if isinstance(array, SimulatedArray) else array)


def host_array(shape: Any, dtype: Any = np.float64, **options: Any) -> Any:
    """Return an array of the host."""
    return np.zeros(shape, dtype=dtype, order=options.get("order", "C"))
