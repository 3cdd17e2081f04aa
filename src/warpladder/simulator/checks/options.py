"""Which checks a user may choose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from warpladder.errors import InputError, InputTypeError

__all__ = ["CHECKS", "Checks"]


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
        ``"same-value"``: report races also where all threads write the same value, or what is in
        global memory already.
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
        InputTypeError
            There are no names.
        """
        if isinstance(wanted, bool):
            return cls(wanted, wanted, False, wanted, wanted)
        try:
            names = {wanted} if isinstance(wanted, str) else set(wanted)
            are_names = all(isinstance(name, str) for name in names)
        except TypeError:
            are_names = False
        if not are_names:
            raise InputTypeError(
                f"checks={wanted!r} is not taken; use True, False or any of {', '.join(CHECKS)}"
            )
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
