"""A device whose new memory holds what no right answer contains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warpladder.lab.compare import poison
from warpladder.lab.devices import Simulated

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from warpladder.device.base import Device

__all__ = ["Poisoned"]


class Poisoned:
    """Hand everything on to a device, but fill the memory that it gives out with poison.

    A simulated device poisons its own memory: filled from here, it would pass for written.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._poisons_itself = isinstance(device, Simulated)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def empty(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> Any:
        """Return a poisoned array on the device."""
        if self._poisons_itself:
            return self._device.empty(shape, dtype)
        return self._device.to_device(poison(shape, dtype))

    def pinned(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """Return a poisoned page-locked array on the host."""
        array = self._device.pinned(shape, dtype)
        array[...] = poison(shape, dtype)
        return array
