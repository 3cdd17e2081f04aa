"""Memory of a device that one call after another uses: allocating costs as much as a launch.

A workspace belongs to one call at a time, and to work that runs in one order: that of one stream.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from warpladder.device.cuda_arguments import bytes_of
from warpladder.device.staging import Kept

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

    from warpladder.device.base import Device

__all__ = ["Workspace", "borrowed_workspace"]

# What is larger is not kept: beside a matrix of so many rows an allocation is little.
_MOST_BYTES = 1 << 20


class Workspace:
    """Arrays on a device, kept by their use."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}

    def empty(
        self, device: Device, use: Hashable, shape: int | tuple[int, ...], dtype: DTypeLike
    ) -> Any:
        """Return an array of undefined contents, or of those that its last user left."""
        looks, size = (shape, dtype), bytes_of(shape, dtype)
        return self._array(use, looks, size, lambda: device.empty(shape, dtype))

    def zeros(
        self, device: Device, use: Hashable, shape: int | tuple[int, ...], dtype: DTypeLike
    ) -> Any:
        """Return an array of zeros, which whoever uses it has to leave as zeros."""
        looks, size = (shape, dtype), bytes_of(shape, dtype)
        return self._array(use, looks, size, lambda: device.full(shape, 0, dtype))

    def mapped(self, device: Device, use: Hashable, dtype: np.dtype[Any]) -> tuple[Any, Any]:
        """Return an array of one element of the host, and the same memory as one of the device."""
        found: tuple[Any, Any] = self._array(use, dtype, 0, lambda: device.mapped(1, dtype))
        return found

    def _array(self, use: Hashable, looks: Any, size: int, make: Callable[[], Any]) -> Any:
        found = self._kept.get(use)
        if found is not None and found[0] == looks:
            return found[1]
        array = make()
        if size <= _MOST_BYTES:
            self._kept[use] = looks, array
        return array


_workspaces = Kept(lambda _device: Workspace())


def borrowed_workspace(device: Device) -> AbstractContextManager[Workspace]:
    """Lend a workspace for work on the default stream; it comes back once the work is done.

    Not after a fault, which may leave what should be zeros as something else.
    """
    return _workspaces.lent(device)
