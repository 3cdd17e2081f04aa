"""What every verb of the library shares: where a call runs and why, options, progress, memory.

A computation brings its plan, its two engines and its result; what stands here it does not write
again, so that `shortest_paths`, `reduce` and the others refuse the same mistakes in the same words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from warpladder.device.select import choose_device, gpu
from warpladder.errors import InputError, TooLargeError
from warpladder.flags import check_progress

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = [
    "Progress",
    "Target",
    "check_option",
    "check_progress",
    "joined",
    "naming_memory",
    "naming_reader",
    "target_for",
]

Progress = Callable[[float], None]
"""Called now and then, in the calling thread, with the fraction done; what it raises passes."""


class Target(NamedTuple):
    """Where a call runs.

    Attributes
    ----------
    device
        The GPU, or a device taken like one; None for the engine on the CPU.
    why
        The reason, for people.
    is_asked
        Whether the caller chose it, so that nobody needs to be told.
    """

    device: Device | None
    why: str
    is_asked: bool

    @property
    def remark(self) -> str:
        """What an answer says of it: the reason, or nothing where the caller chose."""
        return "" if self.is_asked else self.why


def target_for(asked: Any, *, too_small: str = "") -> Target:
    """Return where a call runs.

    Parameters
    ----------
    asked
        ``"auto"``, ``"cpu"`` or ``"cuda"``; or a `warpladder.device.base.Device`.
    too_small
        Why a GPU would not be worth its while, if that is so.

    Raises
    ------
    InputError
        ``asked`` is none of these.
    DeviceError
        CUDA is asked for and there is no GPU; the message says why.

    Examples
    --------
    >>> target_for("cpu")
    Target(device=None, why='as asked', is_asked=True)
    >>> target_for("auto", too_small="3 vertices").remark
    '3 vertices'
    """
    choice = choose_device(asked, too_small=too_small)
    is_asked = not isinstance(asked, str) or asked != "auto"
    if choice.device == "cpu":
        return Target(None, choice.why, is_asked)
    return Target(gpu() if isinstance(asked, str) else asked, choice.why, is_asked)


def check_option(name: str, value: object, known: tuple[str, ...]) -> None:
    """Refuse an option that is none of those known.

    Examples
    --------
    >>> check_option("method", "magic", ("auto", "dijkstra"))
    Traceback (most recent call last):
    ...
    warpladder.errors.InputError: method='magic' is not known; use one of auto, dijkstra
    """
    if not (isinstance(value, str) and value in known):
        raise InputError(f"{name}={value!r} is not known; use one of {', '.join(known)}")


def joined(*remarks: str) -> str:
    """Return remarks as one text; empty ones do not count.

    Examples
    --------
    >>> joined("on one core", "", "as asked")
    'on one core; as asked'
    """
    return "; ".join(filter(None, remarks))


@contextmanager
def naming_reader(reader: str, arguments: str, verb: str) -> Iterator[None]:
    """Say which function takes what errors over a file ask for, where the verb does not.

    Parameters
    ----------
    reader
        The function, which the verb has called for a path.
    arguments
        What messages call its arguments: a regular expression.
    verb
        Who called it.
    """
    try:
        yield
    except InputError as fault:
        if re.search(rf"\b(?:{arguments})", str(fault)):
            fault.add_note(f"These are arguments of {reader}; {verb} takes what it returns.")
        raise


@contextmanager
def naming_memory(argument: str, what: str) -> Iterator[None]:
    """Say for which argument, and what it is, that memory does not hold where allocating fails."""
    try:
        yield
    except TooLargeError:
        # Refused before, or a GPU's memory, about which more has been said already.
        raise
    except MemoryError:
        raise TooLargeError(f"{argument}: the memory at hand does not hold {what}") from None
