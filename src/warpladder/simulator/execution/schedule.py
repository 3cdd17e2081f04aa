"""The orders in which a user may have threads run."""

from __future__ import annotations

import operator
from dataclasses import dataclass

from warpladder.errors import InputError, InputTypeError

__all__ = ["SCHEDULES", "Schedule"]

#: The schedules by name.
SCHEDULES = ("lockstep", "warps", "warps-reverse", "warps-random")


@dataclass(frozen=True, slots=True)
class Schedule:
    """The order in which threads run.

    Attributes
    ----------
    by_warps
        One warp at a time up to its next barrier; else all threads of a batch together.
    order
        Of the warps and blocks: ``"forward"``, ``"reverse"`` or ``"random"``.
    seed
        For the random order.
    """

    by_warps: bool = False
    order: str = "forward"
    seed: int = 0

    @classmethod
    def named(cls, name: str, seed: int = 0) -> Schedule:
        """Return the schedule of this name.

        Raises
        ------
        InputError
            There is none, or the seed is below 0.
        InputTypeError
            The seed is no whole number.
        """
        if name not in SCHEDULES:
            raise InputError(f"schedule={name!r} is not known; use one of {', '.join(SCHEDULES)}")
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise InputTypeError(f"seed={seed!r} must be a whole number")
        if operator.index(seed) < 0:
            raise InputError(f"seed={seed!r} must not be below 0")
        _, _, order = name.partition("-")
        return cls(name != "lockstep", order or "forward", operator.index(seed))
