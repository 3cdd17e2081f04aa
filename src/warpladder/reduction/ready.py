"""Calls on arrays of a GPU that were made before, for arrays laid out alike: nothing is asked anew.

To look at the arguments, to plan and to find the memory of an array takes longer than a launch, and
longer than a kernel on few numbers. All of it depends on the arguments as they were given and on
how the array lies, so that what came of it is kept under these. What is not of the plainest kind is
not looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from warpladder.device.libraries import library_of
from warpladder.reduction.answers import named

if TYPE_CHECKING:
    from warpladder.device.libraries import Library
    from warpladder.reduction.gpu.prepared import Bound, Maker
    from warpladder.reduction.ops import Request

__all__ = ["Ready", "is_plain", "keep", "key_of", "ready_call"]

# Of these a program has a few; each holds some memory of the GPU.
_MOST = 512
_PLAIN = {str, int, bool, type(None)}
# The arguments in a key.
_GIVEN = slice(3, 9)
# The driver's name for as many streams as there are threads.
_OF_EACH_THREAD = 2


class Ready(NamedTuple):
    """A call made ready: the launch, what it answers, and what makes arrays for that.

    There is nothing to make where the results are numbers of the host.
    """

    bound: Bound
    requests: tuple[Request, ...]
    makers: tuple[Maker, ...]

    def __call__(self, library: Library, values: Any, op: Any, stream: int) -> Any:
        """Return the results for an array laid out as the one that this was made for."""
        bound, requests, makers = self
        if makers:
            results = bound.arrays(library, values, makers, stream)
        else:
            results = bound.numbers(bound.memory(library, values), stream)
        return results[0] if type(op) is str else named(requests, results, op)


_ready: dict[tuple[Any, ...], Ready] = {}


def key_of(
    values: Any, op: Any, axis: Any, accuracy: Any, ddof: Any, keepdims: Any, device: Any
) -> tuple[Any, ...] | None:
    """Return what a call depends on, None where it is not known how to read the array.

    Its first part is how that is done, its second the stream.
    """
    library = library_of(values)
    if library is None:
        return None
    layout = library.layout(values)
    stream = library.stream(values) if layout is not None else _OF_EACH_THREAD
    if stream == _OF_EACH_THREAD or (stream and not library.makes_on_stream):
        # Whoever takes the results does not know on which stream they are made.
        return None
    # 1, 1.0 and True are equal, and mean different things. A tuple in this one, or a look at each
    # argument, would take longer than to find the call.
    given = op, axis, accuracy, ddof, keepdims, device
    return (library, stream, layout, *given, type(op), type(axis), type(ddof), type(keepdims))


def is_plain(key: tuple[Any, ...]) -> bool:
    """Return whether a call can be kept under a key.

    That is so where the arguments are names, whole numbers, None and tuples of names.
    """
    return all(
        type(each) in _PLAIN or (type(each) is tuple and all(type(name) is str for name in each))
        for each in key[_GIVEN]
    )


def ready_call(key: tuple[Any, ...]) -> Ready | None:
    """Return what was kept for such a call, if anything was."""
    try:
        return _ready.get(key)
    except TypeError:
        # Lists cannot be looked up.
        return None


def keep(key: tuple[Any, ...], call: Ready) -> None:
    """Keep a call for the next one like it."""
    if len(_ready) >= _MOST:
        gone = list(_ready.values())
        _ready.clear()
        # Some may be at work still, in memory that is given back now.
        for device in {id(call.bound.device): call.bound.device for call in gone}.values():
            device.synchronize()
    _ready[key] = call
