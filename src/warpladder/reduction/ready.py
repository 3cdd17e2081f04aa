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

__all__ = ["Ready", "keep", "key_of", "ready_call"]

# Of these a program has a few; each holds some memory of the GPU.
_MOST = 512
_PLAIN = (str, int, bool, type(None))
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
        return named(requests, results, op)


_ready: dict[tuple[Any, ...], Ready] = {}
# Looked at one by one, the arguments of a call take as long as its array.
_plain_kinds: set[tuple[type, ...]] = set()


def key_of(values: Any, *given: Any) -> tuple[Any, ...] | None:
    """Return what a call depends on, None where that is not plain.

    Its first part is how the array is read, its last the stream. ``given`` are the other arguments:
    names, whole numbers, None, and tuples of names.
    """
    library = library_of(values)
    layout = None if library is None else library.layout(values)
    if library is None or layout is None:
        return None
    # 1, 1.0 and True are equal, and mean different things.
    kinds = tuple(map(type, given))
    if kinds not in _plain_kinds:
        for kind, each in zip(kinds, given, strict=True):
            if kind is tuple and all(type(name) is str for name in each):
                continue
            if kind not in _PLAIN:
                return None
        if tuple not in kinds:
            _plain_kinds.add(kinds)
    stream = library.stream(values)
    return None if stream == _OF_EACH_THREAD else (library, layout, given, kinds, stream)


def ready_call(key: tuple[Any, ...]) -> Ready | None:
    """Return what was kept for such a call, if anything was."""
    return _ready.get(key)


def keep(key: tuple[Any, ...], call: Ready) -> None:
    """Keep a call for the next one like it."""
    if len(_ready) >= _MOST:
        gone = list(_ready.values())
        _ready.clear()
        # Some may be at work still, in memory that is given back now.
        for device in {id(call.bound.device): call.bound.device for call in gone}.values():
            device.synchronize()
    _ready[key] = call
