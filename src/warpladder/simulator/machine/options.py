"""What a user may choose about a simulation: the schedule, the checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from warpladder.errors import InputError

__all__ = ["CHECKS", "SCHEDULES", "Checks", "Schedule"]

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


@dataclass(frozen=True, slots=True)
class Checks:
    """Which faults are looked for.

    Attributes
    ----------
    memory
        ``"memcheck"``: misaligned accesses. An index out of bounds is a fault always.
    race
        ``"racecheck"``: threads that access a place, one of them writing, with nothing between.
    same_value
        ``"same-value"``: report races also where all threads write the same value.
    init
        ``"initcheck"``: reads of memory that nobody has written.
    sync
        ``"synccheck"``: barriers that not all threads reach, masks that name absent threads or not
        the caller, shuffles from a lane that is not there.
    """

    memory: bool = False
    race: bool = False
    same_value: bool = False
    init: bool = False
    sync: bool = False

    @classmethod
    def named(cls, wanted: bool | Iterable[str]) -> Checks:
        """Return the checks: all of them (True), none, or those named.

        Raises
        ------
        InputError
            A name is not that of a check.
        """
        if isinstance(wanted, bool):
            return cls(wanted, wanted, False, wanted, wanted)
        names = {wanted} if isinstance(wanted, str) else set(wanted)
        unknown = names - set(CHECKS)
        if unknown:
            raise InputError(
                f"checks={sorted(names)!r}: {', '.join(sorted(unknown))} is not known; "
                f"use True, False or any of {', '.join(CHECKS)}"
            )
        return cls(**{field: name in names for name, field in CHECKS.items()})

    @property
    def any(self) -> bool:
        """Whether anything is looked for that costs time on each access."""
        return any(getattr(self, field.name) for field in fields(self))


#: The checks by the name of compute-sanitizer's tool.
CHECKS = {
    "memcheck": "memory",
    "racecheck": "race",
    "same-value": "same_value",
    "initcheck": "init",
    "synccheck": "sync",
}
