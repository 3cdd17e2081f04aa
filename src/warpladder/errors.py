"""Everything warpladder raises on purpose.

The tree::

    WarpladderError
    ├── InputError (ValueError)          an argument cannot be used; the message says what to do
    │   ├── FileFormatError              a file is malformed: path, line, expected, found
    │   ├── NegativeCycleError           the graph has a negative cycle; carries its vertices
    │   └── DistanceOverflowError        a distance does not fit the dtype that was asked for
    ├── InputTypeError (TypeError)       an argument is of a kind that is not taken
    ├── UnknownVertexError (KeyError)    no vertex has that label or index
    ├── TooLargeError (MemoryError)      the answer does not fit this machine's memory
    ├── MissingExtraError (ImportError)  an optional dependency is needed; names the install line
    ├── UnsupportedKernelError (NotImplementedError)
    │                                    the simulator cannot run a construct of a kernel
    └── DeviceError (RuntimeError)       the device asked for is not there or cannot run this
        ├── LaunchError (ValueError)     a launch configuration that the device refuses
        └── KernelFaultError                  a check of the simulator failed: which, where, who

Each also derives from the built-in class in brackets, so code that knows nothing of warpladder can
still catch it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = [
    "DeviceError",
    "DistanceOverflowError",
    "FileFormatError",
    "InputError",
    "InputTypeError",
    "KernelFaultError",
    "LaunchError",
    "MissingExtraError",
    "NegativeCycleError",
    "TooLargeError",
    "UnknownVertexError",
    "UnsupportedKernelError",
    "WarpladderError",
]


class WarpladderError(Exception):
    """Base of every error that warpladder raises on purpose."""


class InputError(WarpladderError, ValueError):
    """An argument has a value that cannot be used."""


class InputTypeError(WarpladderError, TypeError):
    """An argument is of a kind that is not taken."""


class FileFormatError(InputError):
    """A file does not follow its format.

    Parameters
    ----------
    path
        The file.
    line
        Line number counted from 1, or None where the fault has no line.
    expected, found
        What the format asks for there, and what stood there.

    Examples
    --------
    >>> print(FileFormatError("roads.gr", 3, "an arc line 'a U V W'", "'a 1 2'"))
    roads.gr, line 3: expected an arc line 'a U V W', found 'a 1 2'
    """

    def __init__(self, path: str | Path, line: int | None, expected: str, found: str) -> None:
        self.path = Path(path)
        self.line = line
        self.expected = expected
        self.found = found
        where = f"{path}" if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: expected {expected}, found {found}")


class NegativeCycleError(InputError):
    """The graph has a cycle of negative weight, so some distances have no minimum.

    Attributes
    ----------
    cycle
        Labels of the cycle's vertices in order; the last has an edge back to the first.
    weight
        The cycle's total weight.
    """

    def __init__(self, cycle: list[Any], weight: float) -> None:
        self.cycle = cycle
        self.weight = weight
        shown = [*map(str, cycle[:8]), *(["..."] if len(cycle) > 8 else []), str(cycle[0])]
        super().__init__(
            f"the graph has a negative cycle of weight {weight:g}: {' -> '.join(shown)}; "
            'negative_cycle="mark" gives -inf for the pairs it affects'
        )


class DistanceOverflowError(InputError):
    """A distance does not fit the dtype that was asked for, nor any wider one."""


class UnknownVertexError(WarpladderError, KeyError):
    """No vertex has that label or index."""

    # KeyError would print the message in quotes.
    __str__ = Exception.__str__


class TooLargeError(WarpladderError, MemoryError):
    """The answer does not fit this machine's memory."""


class MissingExtraError(WarpladderError, ImportError):
    """An optional dependency is needed.

    Examples
    --------
    >>> print(MissingExtraError("reading Parquet", "pyarrow", "parquet"))
    reading Parquet needs pyarrow, which is not installed: pip install 'warpladder[parquet]'
    """

    def __init__(self, purpose: str, package: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed: pip install 'warpladder[{extra}]'"
        )


class DeviceError(WarpladderError, RuntimeError):
    """The device asked for is not there or cannot run this."""


class LaunchError(DeviceError, ValueError):
    """A launch configuration goes beyond what the device or the kernel allows."""


class KernelFaultError(DeviceError):
    """A check of the simulator found a fault in a kernel.

    Attributes
    ----------
    check
        ``"memcheck"``, ``"racecheck"``, ``"initcheck"``, ``"synccheck"`` or ``"livelock"``.
    """

    def __init__(self, check: str, message: str) -> None:
        self.check = check
        super().__init__(f"{check}: {message}")


class UnsupportedKernelError(WarpladderError, NotImplementedError):
    """A kernel uses a construct that the simulator cannot run; it is named, with its line."""
