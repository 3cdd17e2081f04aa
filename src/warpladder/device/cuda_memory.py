"""What `CudaDevice` does with memory: page-locked memory, copies, fills, arrays of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from warpladder.device.cuda_array import CudaArray
from warpladder.errors import DeviceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["adopted", "checked", "copy", "gathered", "keep", "page_locked"]


def checked(doing: str, answer: tuple[Any, ...]) -> Any:
    """Return what a function of the driver answers behind its code; a code not 0 is raised."""
    code, *values = answer
    if code:
        from cuda.bindings import driver

        told = driver.cuGetErrorString(code)[1]
        said = f" ({told.decode()})" if told else ""
        raise DeviceError(f"{doing}: {code.name}{said}")
    return values[0] if values else None


def copy(doing: str, kind: str, target: int, source: int, size: int, stream: Any) -> None:
    """Copy bytes: ``kind`` is ``"HtoD"``, ``"DtoH"`` or ``"DtoD"``; without a stream, and wait."""
    from cuda.bindings import driver

    if size == 0:
        return
    if stream is None:
        checked(doing, getattr(driver, f"cuMemcpy{kind}")(target, source, size))
    else:
        call = getattr(driver, f"cuMemcpy{kind}Async")
        checked(doing, call(target, source, size, stream.handle))


class _PageLocked:
    """Page-locked memory as NumPy sees it; lives as long as an array of it."""

    def __init__(self, buffer: Any) -> None:
        self._buffer = buffer
        self.__array_interface__ = {
            "version": 3,
            "shape": (buffer.size,),
            "typestr": "|u1",
            "data": (int(buffer.handle), False),
        }


def keep(pool: Any, size: int) -> None:
    """Let a pool give back what nothing uses beyond so many bytes."""
    from cuda.bindings import driver

    attribute = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
    answer = driver.cuMemPoolSetAttribute(pool.handle, attribute, driver.cuuint64_t(size))
    checked("setting up memory", answer)


def page_locked(size: int) -> NDArray[np.uint8]:
    """Return so many bytes of page-locked host memory."""
    from cuda.core import LegacyPinnedMemoryResource

    return np.asarray(_PageLocked(LegacyPinnedMemoryResource().allocate(size)))


def gathered(array: CudaArray, stream: Any) -> NDArray[Any]:
    """Return the contents of an array with gaps: all that lies between its ends is copied."""
    ends = [
        (extent - 1) * stride for extent, stride in zip(array.shape, array.strides, strict=True)
    ]
    below, above = sum(end for end in ends if end < 0), sum(end for end in ends if end > 0)
    raw = np.empty(above - below + array.dtype.itemsize, np.uint8)
    doing = f"copying {raw.nbytes} bytes from the GPU"
    copy(doing, "DtoH", raw.ctypes.data, array.address + below, raw.nbytes, stream)
    if stream is not None:
        stream.sync()
    first = raw[-below:][: array.dtype.itemsize].view(array.dtype).reshape(())
    return np.ascontiguousarray(as_strided(first, array.shape, array.strides))


def adopted(device: Any, array: Any) -> CudaArray:
    """Return an array of another library as one of ours, which shares its memory.

    Work of ours waits for the work that the other library has put on its stream.
    """
    interface = array.__cuda_array_interface__
    address, _ = interface["data"]
    stream = interface.get("stream")
    # 1 is the default stream, on which our own work is.
    if stream not in {None, 1}:
        from cuda.core import LEGACY_DEFAULT_STREAM, Stream

        LEGACY_DEFAULT_STREAM.wait(Stream.from_handle(int(stream)))
    shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
    strides = interface.get("strides")
    return CudaArray.at(device, array, address or 0, shape, dtype, strides and tuple(strides))
