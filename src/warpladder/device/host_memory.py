"""How much memory of the host a computation may still take, and what sets the limit.

What the machine has free is one limit; the control groups (cgroups) in which containers and batch
systems run their processes are others, and so is what ``ulimit`` allows. On Linux going beyond them
ends in the kernel killing the process without a word, so it is asked before.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from warpladder.errors import TooLargeError

__all__ = ["HostMemory", "host_memory", "in_words", "require_memory"]

_PROCESS = Path("/proc/self")
_MACHINE = Path("/proc/meminfo")
_MACHINE_HAS = "this machine has, with its swap space"
# Reading the limits takes 0.2 ms, answering for a small graph less.
_NOT_WORTH_ASKING = 2**26
# No machine has as much. The first version of control groups has a number that says no limit.
_NO_LIMIT = 2**60


class HostMemory(NamedTuple):
    """The narrowest limit on memory.

    Attributes
    ----------
    available
        Bytes that can still be taken. Files that the system holds in memory count as available.
    total
        The limit itself in bytes.
    source
        What sets it, to follow "the 4 GiB that ...".
    """

    available: int
    total: int
    source: str

    def __str__(self) -> str:
        """Return it in words: ``"310 MiB are left of the 500 MiB that ..."``."""
        return (
            f"{in_words(self.available)} are left of the {in_words(self.total)} that {self.source}"
        )


class _ControlGroup(NamedTuple):
    """The files of one version of control groups, and what in ``memory.stat`` can be given up."""

    limit: str
    usage: str
    reclaimable: tuple[str, ...]


_FIRST = _ControlGroup(
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    ("total_inactive_file", "total_active_file"),
)
_SECOND = _ControlGroup("memory.max", "memory.current", ("inactive_file", "active_file"))

# Lines of /proc/self/mountinfo and /proc/self/cgroup, as proc(5) and cgroups(7) have them.
_MOUNT = re.compile(
    r"\S+ \S+ \S+ (?P<root>\S+) (?P<point>\S+) .*- (?P<kind>cgroup2?) \S+ (?P<options>\S+)"
)
_GROUP = re.compile(r"\d+:(?P<controllers>[^:]*):(?P<path>.*)")


def host_memory() -> HostMemory | None:
    """Return the narrowest limit on memory, None where the system tells of none.

    Examples
    --------
    >>> memory = host_memory()
    >>> memory is None or 0 <= memory.available <= memory.total
    True
    """
    limits = [*_of_machine(), *_of_control_groups(_PROCESS), *_of_process(_PROCESS)]
    return min(limits, default=None)


def require_memory(needed: int, what: str) -> None:
    """Refuse what does not fit the memory that can still be taken.

    Parameters
    ----------
    needed
        Bytes. Where they are less than 64 MiB, nothing is asked.
    what
        Needs them, in the plural, after the name of the argument.

    Raises
    ------
    TooLargeError
        It does not fit; the message says how much there is, and what sets the limit.

    Examples
    --------
    >>> require_memory(2**70, "values: their squares")
    Traceback (most recent call last):
    ...
    warpladder.errors.TooLargeError: values: their squares take 1,099,511,627,776 GiB; ...
    """
    if needed < _NOT_WORTH_ASKING:
        return
    memory = host_memory()
    if memory is not None and needed > memory.available:
        raise TooLargeError(f"{what} take {in_words(needed)}; {memory}")


def in_words(count: int) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> in_words(500 * 2**20), in_words(3 * 2**40)
    ('500 MiB', '3,072 GiB')
    """
    if count < 10 * 2**30:
        return f"{count / 2**20:,.0f} MiB"
    return f"{count / 2**30:,.0f} GiB"


def _of_machine() -> Iterator[HostMemory]:
    if sys.platform == "linux":
        found = _numbers(_MACHINE)
        if "MemAvailable" in found and "MemTotal" in found:
            # What other programs left idle goes to the swap space.
            available = found["MemAvailable"] + found.get("SwapFree", 0)
            total = found["MemTotal"] + found.get("SwapTotal", 0)
            yield HostMemory(1024 * available, 1024 * total, _MACHINE_HAS)
        return
    import psutil

    memory = psutil.virtual_memory()
    if sys.platform == "darwin":
        # macOS compresses memory and makes swap space as it is needed: what is free just now does
        # not say what can be had.
        yield HostMemory(memory.total, memory.total, _MACHINE_HAS)
        return
    swap = psutil.swap_memory()
    available, total = memory.available + swap.free, memory.total + swap.total
    yield HostMemory(available, total, _MACHINE_HAS)


def _of_control_groups(process: Path) -> Iterator[HostMemory]:
    """Read the limits of the groups that a process is in, and of those around them."""
    for folder, top, names in _control_groups(process):
        for group in (folder, *folder.parents):
            limit = _number(group / names.limit)
            usage = None if limit is None else _number(group / names.usage)
            if limit is not None and usage is not None:
                held = _numbers(group / "memory.stat")
                usage -= sum(held.get(name, 0) for name in names.reclaimable)
                source = f"{group / names.limit} allows"
                yield HostMemory(min(max(limit - usage, 0), limit), limit, source)
            if group == top:
                break


def _control_groups(process: Path) -> Iterator[tuple[Path, Path, _ControlGroup]]:
    """Find the groups that account for memory: their folder, and the topmost that is visible."""
    groups = [group for line in _lines(process / "cgroup") if (group := _GROUP.fullmatch(line))]
    for line in _lines(process / "mountinfo"):
        mount = _MOUNT.fullmatch(line)
        if mount is None:
            continue
        if mount["kind"] == "cgroup2":
            names, controller = _SECOND, ""
        elif "memory" in mount["options"].split(","):
            names, controller = _FIRST, "memory"
        else:
            continue
        top = Path(mount["point"])
        for group in groups:
            if controller in group["controllers"].split(","):
                yield top / _below(mount["root"], group["path"]), top, names


def _below(mounted: str, path: str) -> PurePosixPath:
    """Return where a group is below the point at which its tree is mounted."""
    group = PurePosixPath(path)
    if group.is_relative_to(mounted) and ".." not in group.parts:
        return group.relative_to(mounted)
    # A container sees its own group as the top, whatever it is called outside.
    return PurePosixPath()


def _of_process(process: Path) -> Iterator[HostMemory]:
    """Read what ``ulimit`` allows; other systems than Linux do not hold anyone to it."""
    if sys.platform != "linux":
        return
    from resource import RLIM_INFINITY, RLIMIT_AS, RLIMIT_DATA, getrlimit

    for kind, name, size in (
        (RLIMIT_AS, "RLIMIT_AS (ulimit -v)", "VmSize"),
        (RLIMIT_DATA, "RLIMIT_DATA (ulimit -d)", "VmData"),
    ):
        limit = getrlimit(kind)[0]
        used = _numbers(process / "status") if limit != RLIM_INFINITY else {}
        if size in used:
            yield HostMemory(max(limit - 1024 * used[size], 0), limit, f"{name} allows")


def _number(file: Path) -> int | None:
    """Read a limit, or how much of it is used; None where there is none."""
    try:
        number = int(file.read_text())
    except (OSError, ValueError):
        # The root has no such files; "max" is no limit.
        return None
    return number if number < _NO_LIMIT else None


def _numbers(file: Path) -> dict[str, int]:
    """Read lines of a name and a whole number, as the kernel writes them."""
    found = {}
    for line in _lines(file):
        name, _, value = line.replace(":", " ", 1).partition(" ")
        number = value.split()[:1]
        if number and number[0].isdecimal():
            found[name] = int(number[0])
    return found


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
