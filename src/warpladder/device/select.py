"""Which device runs a computation, and why."""

from __future__ import annotations

from typing import NamedTuple

from warpladder.errors import DeviceError, InputError

__all__ = ["DEVICES", "Choice", "choose_device"]

DEVICES = ("auto", "cpu", "cuda")


class Choice(NamedTuple):
    """The device chosen, and the reason, for people."""

    device: str
    why: str


def choose_device(asked: str) -> Choice:
    """Return the device for ``asked`` (``"auto"``, ``"cpu"`` or ``"cuda"``).

    Raises
    ------
    InputError
        ``asked`` is none of these.
    DeviceError
        CUDA is asked for; this version has no engine for it.

    Examples
    --------
    >>> choose_device("cpu").device
    'cpu'
    """
    if asked not in DEVICES:
        raise InputError(f"device={asked!r} is not known; use one of {', '.join(DEVICES)}")
    if asked == "cuda":
        raise DeviceError(
            'device="cuda": this version has no CUDA engine yet; use device="cpu" or "auto"'
        )
    return Choice("cpu", "as asked" if asked == "cpu" else "this version has no CUDA engine yet")
