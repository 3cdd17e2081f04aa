"""Which device runs a computation, and why."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from warpladder.device.cuda import FORKED, CudaReport, has_driver, probe_cuda
from warpladder.device.cuda_arguments import interface_of
from warpladder.errors import DeviceError, InputError

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = ["DEVICES", "Choice", "choose_device", "gpu", "gpu_of"]

DEVICES = ("auto", "cpu", "cuda")

_NONE = "there is no CUDA GPU"
_is_forked = False


class Choice(NamedTuple):
    """What runs a computation: ``"cpu"``, or ``"cuda"`` for a GPU; and the reason, for people."""

    device: str
    why: str


def choose_device(asked: Any, *, too_small: str = "") -> Choice:
    """Return what runs a computation.

    Parameters
    ----------
    asked
        ``"auto"``, ``"cpu"`` or ``"cuda"``; or a `warpladder.device.base.Device`, which is taken
        like a GPU.
    too_small
        Why a GPU would not be worth its while, if that is so. ``"auto"`` then does not even look
        for one.

    Raises
    ------
    InputError
        ``asked`` is none of these.
    DeviceError
        CUDA is asked for and there is no GPU; the message says why.

    Examples
    --------
    >>> choose_device("cpu").device
    'cpu'
    >>> choose_device("auto", too_small="3 vertices")
    Choice(device='cpu', why='3 vertices')
    """
    if not isinstance(asked, str | type) and hasattr(asked, "launch"):
        return Choice("cuda", "as asked")
    if not (isinstance(asked, str) and asked in DEVICES):
        other = "" if isinstance(asked, str) else ", or a Device"
        raise InputError(f"device={asked!r} is not known; use one of {', '.join(DEVICES)}{other}")
    if asked == "cpu":
        return Choice("cpu", "as asked")
    if asked == "auto" and too_small:
        return Choice("cpu", too_small)
    if asked == "auto" and not _may_find_one():
        return Choice("cpu", _NONE)
    obstacle = _obstacle()
    if obstacle:
        if asked == "cuda":
            raise DeviceError(f'device="cuda": there is no GPU to use: {obstacle}')
        idle = _found().driver is not None and not _found().gpus
        return Choice("cpu", obstacle if idle or _is_forked else _NONE)
    return Choice("cuda", "as asked" if asked == "cuda" else "there is a CUDA GPU")


@cache
def gpu(index: int = 0) -> Device:
    """Return a GPU by its number, the same object every time."""
    from warpladder.device.cuda_device import CudaDevice

    return CudaDevice(index)


def gpu_of(array: Any) -> Device:
    """Return the GPU that an array with ``__cuda_array_interface__`` is on.

    Raises
    ------
    InputError
        The array does not say where it lies.
    DeviceError
        There is no driver, or it knows nothing of the array.
    """
    address, _ = interface_of(array)["data"]
    if not address:
        # An array of no elements is nowhere; its library may say of which GPU it is.
        tell = getattr(array, "__dlpack_device__", None)
        return gpu(tell()[1]) if tell else gpu()
    try:
        from warpladder.device.driver_calls import gpu_at

        number = gpu_at(address)
    except (ImportError, RuntimeError) as fault:
        # The package is not there, or the driver's library.
        raise DeviceError(f"an array says that it is on a GPU, which cannot be: {fault}") from fault
    if number is None:
        raise DeviceError(
            f"an array on a GPU lies at {address:#x}, of which the driver knows nothing"
        )
    return gpu(number)


@cache
def _may_find_one() -> bool:
    """Tell whether it is worth looking for a GPU."""
    return has_driver()


@cache
def _found() -> CudaReport:
    """Return what `probe_cuda` finds, looked for once."""
    return probe_cuda()


def _obstacle() -> str:
    """Return why there is no GPU to use, or nothing where there is one."""
    return FORKED if _is_forked else _found().why_not.rstrip(".")


def _leave_gpus() -> None:
    """Use no GPU in a process that was forked from one that has found some.

    Of the driver it has what is in memory, and nothing behind it: calls are refused, and behind one
    that was begun the next may end the process.
    """
    global _is_forked  # noqa: PLW0603 - the system calls this once in each forked process
    _is_forked = _is_forked or bool(_found.cache_info().currsize and _found().gpus)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_gpus)
