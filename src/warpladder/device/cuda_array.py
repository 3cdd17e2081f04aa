"""Arrays in the memory of a GPU.

What an array looks like (shape, strides, slices, other dtypes) NumPy works out on a stand-in of the
same layout that has no memory of its own and is never read; the array adds the address.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from warpladder.device.array_layout import LaidOut
from warpladder.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["CudaArray"]

# The protocols' number for it.
_DEFAULT_STREAM = 1
_BASIC = {slice, int, type(...), type(None)}
_kinds: dict[tuple[np.dtype[Any], int, str], int] = {}
_numbers = count()


class CudaArray(LaidOut):
    """An array on a `warpladder.device.cuda_device.CudaDevice`; made by its methods.

    Slices, views and other shapes of it share its memory, which lives as long as any of them.
    Other libraries take it without a copy, by ``__cuda_array_interface__`` or DLPack; NumPy takes a
    copy.

    Attributes
    ----------
    device
        The GPU.
    address
        Of the first element; 0 where there is none.
    kind
        Stands for what a kernel is compiled for: the dtype, the number of axes, and ``"C"``,
        ``"F"`` or ``"A"`` (any) for the order in memory.
    words
        What a kernel compiled by Numba is given for the array, one machine word each.
    """

    __slots__ = ("__weakref__", "_owner", "address", "device", "kind", "words")

    def __init__(self, device: Any, owner: Any, address: int, layout: NDArray[Any]) -> None:
        self.device = device
        self._owner = owner
        self._layout = layout
        self.address = address
        order = "C" if layout.flags.c_contiguous else "F" if layout.flags.f_contiguous else "A"
        self.kind = _kind(layout.dtype, layout.ndim, order)
        # No memory that Numba counts references of, and no owner.
        sizes = (0, 0, layout.size, layout.itemsize, address)
        self.words = (*sizes, *layout.shape, *layout.strides)

    @classmethod
    def at(
        cls,
        device: Any,
        owner: Any,
        address: int,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        strides: tuple[int, ...] | None = None,
    ) -> CudaArray:
        """Return the array that begins at an address, in memory that ``owner`` keeps alive."""
        nothing: NDArray[Any] = np.empty(1, dtype)
        if strides is None:
            # Strides of a contiguous array.
            sizes = [nothing.itemsize]
            for extent in reversed(shape[1:]):
                sizes.append(sizes[-1] * max(extent, 1))
            strides = tuple(reversed(sizes[: len(shape)]))
        return cls(device, owner, address, as_strided(nothing, shape, strides))

    @property
    def T(self) -> CudaArray:  # noqa: N802 - NumPy's name
        """The transposed array, in the same memory."""
        return self._sharing(self._layout.T)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        # Work of ours is on the default stream.
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None if self.flags.c_contiguous else self.strides,
            "stream": _DEFAULT_STREAM,
        }

    def __dlpack__(self, *, stream: int | None = None, **wanted: Any) -> Any:
        """Return the array for libraries that speak DLPack; ``stream`` then waits for our work."""
        from cuda.core.utils import StridedMemoryView

        # -1 is for whoever waits otherwise; 0 and None are the default stream.
        if stream not in {None, -1, 0, _DEFAULT_STREAM}:
            from cuda.core import LEGACY_DEFAULT_STREAM, Stream

            # The default stream is that of the current GPU.
            with self.device.current:
                Stream.from_handle(stream).wait(LEGACY_DEFAULT_STREAM)
        view = StridedMemoryView.from_cuda_array_interface(self, -1)
        return view.__dlpack__(**wanted)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the kind of memory, CUDA's, and the number of the GPU."""
        return 2, self.device.index

    @property
    def _numba_type_(self) -> Any:
        from numba.cuda.np.numpy_support import from_dtype

        from warpladder.device.numba_target import types

        flags = self.flags
        order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return types.Array(from_dtype(self.dtype), self.ndim, order)

    def reshape(self, *shape: Any) -> CudaArray:
        """Return the same elements in another shape; the array must be contiguous."""
        if not self.flags.c_contiguous:
            raise InputError("reshape: only an array that is contiguous in C order can be")
        return self._sharing(self._layout.reshape(*shape))

    def view(self, dtype: DTypeLike) -> CudaArray:
        """Return the same bytes as elements of another dtype."""
        return self._sharing(self._layout.view(dtype))

    def copy_to_host(self, ary: NDArray[Any] | None = None, stream: Any = None) -> NDArray[Any]:
        """Return the contents on the host, in ``ary`` where it is given."""
        found: NDArray[Any] = self.device.to_host(self, ary, stream=stream)
        return found

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise InputError("an array on a GPU cannot be one of NumPy without a copy")
        host = self.copy_to_host()
        return host if dtype is None else host.astype(dtype, copy=False)

    def __getitem__(self, index: Any) -> CudaArray:
        parts = index if isinstance(index, tuple) else (index,)
        if not all(type(part) in _BASIC or isinstance(part, np.integer) for part in parts):
            raise InputError(
                f"an array on a GPU is not indexed by {index!r}; slice it, or copy it to the host"
            )
        # With an ellipsis an index of numbers alone leaves an array, and reads nothing.
        whole = parts if any(part is ... for part in parts) else (*parts, ...)
        return self._sharing(self._layout[whole])

    def moved(self, address: int) -> CudaArray:
        """Return an array that looks the same, in memory at an address that others keep alive."""
        return CudaArray(self.device, None, address, self._layout)

    def _sharing(self, layout: NDArray[Any]) -> CudaArray:
        here, there = (each.__array_interface__["data"][0] for each in (layout, self._layout))
        address = self.address + here - there if layout.size else 0
        return CudaArray(self.device, self._owner, address, layout)


def _kind(dtype: np.dtype[Any], axes: int, order: str) -> int:
    """Return a number for this dtype, number of axes and order, which is quick to compare."""
    # Of two threads that meet here, one may take a number in vain; none has that of another kind.
    return _kinds.setdefault((dtype, axes, order), next(_numbers))
