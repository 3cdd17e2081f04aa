"""Arrays that callers have on a GPU, whichever library made them.

CuPy, PyTorch, Numba and others describe their arrays by ``__cuda_array_interface__``, some by
DLPack alone; arrays of the simulated device count as well. Nothing is copied to take them, and
answers go back as arrays of the caller's library.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.cuda_arguments import interface_of
from warpladder.device.select import choose_device, gpu, gpu_of
from warpladder.errors import DeviceError, InputError, InputTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device

__all__ = [
    "adopted",
    "check_on",
    "device_of",
    "is_on_gpu",
    "like",
    "numpy_dtype",
    "refuse_128_bits",
    "to_numpy",
]

# DLPack's numbers for memory of a GPU, and for memory that a GPU and the host share.
_GPU_MEMORY = (2, 13)
# Its number for the stream on which work of ours waits for the exporter's.
_DEFAULT_STREAM = 1


def adopted(array: Any) -> Any:
    """Return an array on a GPU without a dtype and a shape as a `CudaArray`, all else as it is.

    That is one that only DLPack describes, or only ``__cuda_array_interface__``.

    Raises
    ------
    DeviceError
        There is no GPU that it could be on.
    InputError
        It does not say where it lies, or how.
    InputTypeError
        It is one of PyTorch that is part of a graph of gradients, or whose signs are still to be
        changed; or one of Polars with integers of 128 bits.

    Examples
    --------
    >>> array = np.ones(3)
    >>> adopted(array) is array
    True
    """
    if _has_interface(array):
        # The interface does not tell: what is in memory is of the other sign.
        if hasattr(array, "is_neg") and array.is_neg():
            raise InputTypeError(
                "an array on a GPU whose signs PyTorch has still to change; give its .resolve_neg()"
            )
        return array if hasattr(array, "dtype") and hasattr(array, "shape") else _described(array)
    if not hasattr(array, "__dlpack_device__"):
        refuse_128_bits(array)
        return array
    try:
        kind, number = array.__dlpack_device__()
    except (TypeError, ValueError, BufferError):
        # Arrow raises where values are missing, which others say better; its arrays are here.
        return array
    if kind not in _GPU_MEMORY:
        return array
    from cuda.core.utils import StridedMemoryView

    from warpladder.device.cuda_memory import lying_at

    view = StridedMemoryView.from_dlpack(array, stream_ptr=_DEFAULT_STREAM)
    strides = view.strides and tuple(stride * view.dtype.itemsize for stride in view.strides)
    return lying_at(gpu(number), view, view.ptr, view.shape, view.dtype, strides)


def refuse_128_bits(array: Any) -> None:
    """Refuse integers of Polars that panic, which is no `Exception`, where NumPy asks for them.

    Raises
    ------
    InputTypeError
        There are some.
    """
    if not (type(array).__module__.startswith("polars.") and hasattr(array, "__array__")):
        return
    kinds = getattr(array, "dtypes", [getattr(array, "dtype", None)])
    if wide := [kind for kind in map(str, kinds) if "Int128" in kind]:
        raise InputTypeError(
            f"a {type(array).__name__} of Polars with {wide[0]} is not taken; cast it to Int64, or "
            "to Float64"
        )


def _has_interface(array: Any) -> bool:
    """Return whether an array has an address on a GPU."""
    try:
        return hasattr(array, "__cuda_array_interface__")
    except RuntimeError as fault:
        # PyTorch's sparse ones raise it on the host, too.
        raise InputTypeError(f"a {type(array).__name__} that cannot be taken: {fault}") from None


def _described(array: Any) -> Any:
    """Return an array with no more than its ``__cuda_array_interface__`` as a `CudaArray`."""
    from warpladder.device.cuda_memory import described

    there = gpu_of(array)
    # Whatever stream the interface names, and whether or not it names one.
    there.synchronize()
    return described(there, array)


def is_on_gpu(array: Any) -> bool:
    """Return whether something is an array on a GPU, or on a simulated one.

    Examples
    --------
    >>> from warpladder.simulator import SimulatedDevice
    >>> is_on_gpu(np.ones(3)), is_on_gpu(SimulatedDevice().to_device(np.ones(3)))
    (False, True)
    """
    return _has_interface(array) or hasattr(array, "copy_to_host")


def device_of(array: Any, asked: Any, name: str) -> Device:
    """Return the device that an array is on.

    Parameters
    ----------
    array
        For which `is_on_gpu` holds.
    asked
        What the caller wants for a device, as for `choose_device`.
    name
        Of the argument, for errors.

    Raises
    ------
    InputError
        The CPU is wanted; the array is on a device that is no GPU, and that was not given; or on
        another GPU than the device that was.
    DeviceError
        CUDA is asked for and there is no GPU, or the array is not on it but on a simulated one;
        or numba-cuda, through which arrays on a GPU are reached, is missing.
    """
    if asked == "cpu":
        raise InputError(
            f'device="cpu": {name} is an array on a GPU; copy it to the host, or use "cuda"'
        )
    if choose_device(asked).device == "cpu":
        from warpladder.device.numba_target import FRONT_END

        missing = FRONT_END.obstacle()
        if missing and hasattr(array, "__cuda_array_interface__"):
            raise DeviceError(f"{name} is an array on a GPU, which is reached through {missing}")
        raise InputError(
            f"{name}: it is on a device that is no GPU; give that device too, as device=..."
        )
    has_address = hasattr(array, "__cuda_array_interface__")
    if isinstance(asked, str):
        if has_address:
            return gpu_of(array)
        raise DeviceError(
            f'device="{asked}": {name} is on a simulated device, not on a GPU; give that device '
            "too, as device=..."
        )
    if has_address:
        check_on(asked, array, name)
    given: Device = asked
    return given


def check_on(device: Any, array: Any, name: str) -> None:
    """Refuse an array that is on a GPU, where that is another device than the one of the call.

    Raises
    ------
    InputError
        It is.
    """
    # An array of no elements is nowhere.
    if not interface_of(array)["data"][0]:
        return
    there, index = gpu_of(array).index, getattr(device, "index", None)  # type: ignore[attr-defined]
    if there != index:
        where = device.properties.name if index is None else f"GPU {index}"
        raise InputError(
            f"{name}: it is on GPU {there}, and the call is to run on {where}; copy it"
        )


def to_numpy(array: Any) -> NDArray[Any]:
    """Return a copy of an array on the GPU, whichever library's it is."""
    if hasattr(array, "copy_to_host"):
        return np.asarray(array.copy_to_host())
    return gpu_of(array).to_host(array)


def numpy_dtype(array: Any) -> np.dtype[Any]:
    """Return the dtype of an array in NumPy's terms; PyTorch has its own.

    Raises
    ------
    InputTypeError
        NumPy has none like it.
    """
    try:
        known: np.dtype[Any] = np.dtype(array.dtype)
    except TypeError:
        try:
            known = np.dtype(str(array.dtype).rpartition(".")[2])
        except TypeError:
            raise InputTypeError(
                f"an array on a GPU of dtype {array.dtype}, which NumPy does not know, is not "
                "taken; convert it there"
            ) from None
    return known


def like(array: Any, given: Any) -> Any:
    """Return an array of the device as one of the library of ``given``, in the same memory.

    CuPy, PyTorch and Numba are known; anything else gets a `CudaArray`, which every library takes
    by ``__cuda_array_interface__`` or DLPack.
    """
    library = type(given).__module__.partition(".")[0]
    if library == "cupy":
        # It takes an array as one of the current GPU.
        with given.device:
            return sys.modules["cupy"].asarray(array)
    if library == "torch":
        return sys.modules["torch"].as_tensor(array, device=given.device)
    if library == "numba":
        # Whoever waits for the stream that the interface names is the caller's own work.
        return sys.modules["numba.cuda"].as_cuda_array(array, sync=False)
    return array
