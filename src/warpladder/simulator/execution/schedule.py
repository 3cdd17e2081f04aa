"""The orders in which a user may have threads run."""

from __future__ import annotations

from dataclasses import dataclass

from warpladder.errors import InputError

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
            There is none.
        """
        if name not in SCHEDULES:
            raise InputError(f"schedule={name!r} is not known; use one of {', '.join(SCHEDULES)}")
        _, _, order = name.partition("-")
        return cls(name != "lockstep", order or "forward", seed)
