"""Amounts as people write them: memory and time."""

from __future__ import annotations

import re

import typer

__all__ = ["as_bytes", "as_seconds"]

_SIZE = re.compile(
    r"(?P<number>\d{1,18}(\.\d{1,18})?)\s*(?P<prefix>[KMGT]?)(?P<binary>i?)B?", re.IGNORECASE
)
_PREFIXES = ["", "K", "M", "G", "T"]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_CLOCK = re.compile(
    r"((?P<days>\d{1,4})-)?(?P<hours>\d{1,4}):(?P<minutes>\d{2}):(?P<seconds>\d{2})"
)


def as_bytes(text: str | None, *, least: int = 0) -> int | None:
    """Return an amount of memory in bytes; whoever gives less than ``least`` forgot the unit.

    Examples
    --------
    >>> as_bytes("4GB"), as_bytes("1.5 MiB"), as_bytes("100k")
    (4000000000, 1572864, 100000)
    """
    if text is None:
        return None
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"--memory {text!r} is no amount of memory; write 4GB, say")
    base = 1024 if found["binary"] else 1000
    amount = int(float(found["number"]) * base ** _PREFIXES.index(found["prefix"].upper()))
    if amount < least:
        number = found["number"] if amount else 4
        raise typer.BadParameter(f"--memory {text!r} is {amount:,} bytes; write {number}GB, say")
    return amount


def as_seconds(text: str | None) -> int | None:
    """Return a length of time in seconds.

    Examples
    --------
    >>> as_seconds("90m"), as_seconds("1:30:00"), as_seconds("1-02:00:00"), as_seconds("2h")
    (5400, 5400, 93600, 7200)
    """
    if text is None:
        return None
    seconds = 0
    if clock := _CLOCK.fullmatch(text.strip()):
        days = int(clock["days"] or 0)
        seconds = int(clock["seconds"]) + 60 * int(clock["minutes"]) + 3600 * int(clock["hours"])
        seconds += 86_400 * days
    elif found := re.fullmatch(r"(\d{1,9})\s*([smhd])", text.strip()):
        seconds = int(found[1]) * _UNITS[found[2]]
    if not seconds:
        raise typer.BadParameter(
            f"--time {text!r} is no length of time; write 1:30:00 (hours, minutes, seconds) or 90m"
        )
    return seconds
