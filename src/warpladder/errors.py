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
    │                                    a kernel that cannot be compiled or simulated
    └── DeviceError (RuntimeError)       the device asked for is not there or cannot run this
        ├── LaunchError (ValueError)     a launch configuration that the device refuses
        └── KernelFaultError                  a check of the simulator failed: which, where, who

Each also derives from the built-in class in brackets, so code that knows nothing of warpladder can
still catch it. All survive pickle and copy with their fields, as processes of a pool need it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

__all__ = [
    "DeviceError",
    "DistanceOverflowError",
    "FileFormatError",
    "InputError",
    "InputTypeError",
    "KernelCacheWarning",
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

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are made again by calling their class with `args`; those of ours that take
        # fields and make the message of them have other arguments.
        return _made_again, (type(self), self.args), self.__dict__


def _made_again(kind: type[WarpladderError], args: tuple[Any, ...]) -> WarpladderError:
    """Return an error with a message that is known, as pickle and copy make it."""
    # Not kind.__new__: that may be one of a base, such as MemoryError, which refuses the others.
    fault = Exception.__new__(kind, *args)
    # The built-in class is next; ImportError keeps the message in a place of its own.
    super(WarpladderError, fault).__init__(*args)
    return fault


class InputError(WarpladderError, ValueError):
    """An argument has a value that cannot be used.

    Attributes
    ----------
    graph
        Which graph of a batch it is about; None where there is one, or where it is about no graph.
    """

    def __init__(self, *args: object, graph: int | None = None) -> None:
        self.graph = graph
        super().__init__(*args)

    @classmethod
    def of_graph(cls, number: int | None, told: str) -> Self:
        """Return an error about a graph, named by its number if it is one of a batch.

        Examples
        --------
        >>> InputError.of_graph(3, "a weight is -inf")
        InputError('graph 3: a weight is -inf')
        """
        return cls(f"graph{'' if number is None else f' {number}'}: {told}", graph=number)


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
        What the format asks for there, and what stood there; each is kept to one line and cut
        where it is long.

    Examples
    --------
    >>> print(FileFormatError("roads.gr", 3, "an arc line 'a U V W'", "'a 1 2'"))
    roads.gr, line 3: expected an arc line 'a U V W', found 'a 1 2'
    """

    def __init__(self, path: str | Path, line: int | None, expected: str, found: str) -> None:
        self.path = Path(path)
        self.line = line
        # Either may quote the file, whose lines and names may have any length.
        self.expected = expected = _brief(expected)
        self.found = found = _brief(found)
        where = f"{path}" if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: expected {expected}, found {found}")


def _brief(text: str, limit: int = 140) -> str:
    """Return text on one line of at most `limit` characters."""
    line = " ".join(text.splitlines())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


class NegativeCycleError(InputError):
    """The graph has a cycle of negative weight, so some distances have no minimum.

    Attributes
    ----------
    cycle
        Labels of the cycle's vertices in order; the last has an edge back to the first.
    weight
        The cycle's total weight.
    """

    def __init__(self, cycle: list[Any], weight: float, graph: int | None = None) -> None:
        self.cycle = cycle
        self.weight = weight
        # An integer is exact.
        total = f"{weight}" if isinstance(weight, int) else f"{weight:g}"
        shown = [*map(str, cycle[:8]), *(["..."] if len(cycle) > 8 else []), str(cycle[0])]
        super().__init__(
            f"{'the graph' if graph is None else f'graph {graph}'} has a negative cycle of weight "
            f"{total}: {' -> '.join(shown)}; "
            'negative_cycle="mark" gives -inf for the pairs it affects',
            graph=graph,
        )


class DistanceOverflowError(InputError):
    """A distance, or a weight, does not fit the dtype that was asked for, nor any wider one."""


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

    # ImportError would not see that `args` has got another message.
    __str__ = Exception.__str__

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
    """A kernel cannot be compiled, or not simulated; why is named, with its line."""


class KernelCacheWarning(UserWarning):
    """Compiled kernels cannot be kept or were damaged: the answer is right, but it takes longer."""
