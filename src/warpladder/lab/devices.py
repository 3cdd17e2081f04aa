"""The devices on which rungs are run, and what the laboratory asks of them beyond `Device`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from warpladder.device.base import Device
from warpladder.errors import DeviceError, InputError

if TYPE_CHECKING:
    from warpladder.simulator.checks.counters import Counters
    from warpladder.simulator.kernel import LaunchReport

__all__ = ["KINDS", "Simulated", "Timed", "open_device"]

KINDS = ("auto", "simulator", "cuda", "cpu")


@runtime_checkable
class Simulated(Device, Protocol):
    """A device that counts what a GPU would do, and that poisons memory until it is written."""

    @property
    def counters(self) -> Counters:
        """The counters of all launches since they were last reset."""

    @property
    def line_counters(self) -> dict[tuple[str, int], Counters]:
        """The same by file and line."""

    @property
    def launches(self) -> list[LaunchReport]:
        """The launches themselves."""

    def reset_counters(self) -> None:
        """Forget what was counted."""


@runtime_checkable
class Timed(Device, Protocol):
    """A device that adds up the time of its kernels; true after `synchronize`."""

    kernel_ms: float


def open_device(kind: str, *, time_kernels: bool = False) -> Device | None:
    """Return the device of this kind; None is the CPU, which needs no device.

    Parameters
    ----------
    kind
        ``"cuda"``, ``"simulator"``, ``"cpu"``, or ``"auto"``: CUDA where there is a GPU, else the
        simulator.
    time_kernels
        Whether a GPU is to be `Timed`; that makes every launch slower.

    Raises
    ------
    InputError
        There is no such kind.
    DeviceError
        CUDA is asked for and there is no GPU.

    Examples
    --------
    >>> open_device("gpu")
    Traceback (most recent call last):
    ...
    warpladder.errors.InputError: device='gpu' is not known; use one of auto, simulator, cuda, cpu
    """
    if kind not in KINDS:
        raise InputError(f"device={kind!r} is not known; use one of {', '.join(KINDS)}")
    if kind in {"auto", "cuda"}:
        from warpladder.device.cuda_device import CudaDevice

        try:
            return CudaDevice(time_kernels=time_kernels)
        except DeviceError:
            if kind == "cuda":
                raise
    if kind == "cpu":
        return None
    from warpladder.simulator import SimulatedDevice

    # What rungs predict is counted on devices of its own, without checks.
    return SimulatedDevice(counters=False)
