"""What an array on a device says of itself to host code, in NumPy's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LaidOut"]


class LaidOut:
    """An array whose shape, dtype and strides are those of an array of NumPy that it keeps."""

    __slots__ = ("_layout",)

    _layout: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return self._layout.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the elements."""
        return self._layout.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._layout.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._layout.size

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from element to element along each axis."""
        return self._layout.strides

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._layout.nbytes

    @property
    def flags(self) -> Any:
        """Whether it is contiguous, as NumPy has it."""
        return self._layout.flags

    def __len__(self) -> int:
        return len(self._layout)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} shape={self.shape} dtype={self.dtype}>"
