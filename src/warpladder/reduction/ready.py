"""Calls on arrays of a GPU that were made before, for arrays laid out alike: nothing is asked anew.

To look at the arguments, to plan and to find the memory of an array takes longer than a launch, and
longer than a kernel on few numbers. All of it depends on the arguments as they were given and on
how the array lies, so that what came of it is kept under these. What is not of the plainest kind is
not looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.libraries import library_of
from warpladder.reduction.answers import naming
from warpladder.reduction.custom import AssociativeOp

if TYPE_CHECKING:
    from warpladder.device.base import Device
    from warpladder.device.libraries import Library
    from warpladder.reduction.gpu.prepared import Bound, Call
    from warpladder.reduction.ops import Request

__all__ = ["is_plain", "keep", "key_of", "ready_call"]

# Of these a program has a few; each holds some memory of the GPU.
_MOST = 512
_WHOLE = {np.dtype(code).type for code in "bhilqBHILQ"}
_PLAIN = {str, int, bool, type(None), np.ufunc, AssociativeOp, *_WHOLE}
_PARTS_OF_TUPLES = {str, int, *_WHOLE}
_NUMBERS = {int, float, type(None), np.float16, np.float32, np.float64, *_WHOLE}
# The arguments in a key.
_GIVEN = slice(3, 9)
# The driver's name for as many streams as there are threads.
_OF_EACH_THREAD = 2

# The calls, and the GPU of each.
_ready: dict[tuple[Any, ...], tuple[Call, Device]] = {}


def key_of(
    values: Any,
    op: Any,
    axis: Any,
    accuracy: Any,
    ddof: Any,
    keepdims: Any,
    device: Any,
    others: tuple[Any, Any, Any, Any] | None = None,
) -> tuple[Any, ...] | None:
    """Return what a call depends on, None where it is not known how to read an array.

    Its first part is how that is done, its second the stream. The ``others`` are where, dtype,
    initial and out, None where none of them is given.
    """
    library = library_of(values)
    if library is None:
        return None
    looks = library.look(values)
    if looks is None:
        return None
    stream, layout = looks
    if stream == _OF_EACH_THREAD or (stream and not library.makes_on_stream):
        # Whoever takes the results does not know on which stream they are made.
        return None
    # 1, 1.0 and True are equal, and mean different things. A tuple in this one, or a look at each
    # argument, would take longer than to find the call.
    given = op, axis, accuracy, ddof, keepdims, device
    kind: Any = type(axis)
    if kind is tuple:
        kind = tuple(map(type, axis))
    if others is not None:
        where, dtype, initial, out = others
        mask, outs = _layouts((where,), library, stream), _layouts(out, library, stream)
        if mask is None or outs is None or (out is not None and library.may_be_read_only):
            return None
        # By their words 0.0 and -0.0 are two numbers, and NaN is one.
        first = repr(initial) if type(initial) in _NUMBERS else None
        others = mask, dtype, (type(initial), first), outs
    return (library, stream, layout, *given, type(op), kind, type(ddof), type(keepdims), others)


def _layouts(arrays: Any, library: Library, stream: int) -> tuple[Any, ...] | None:
    """Return how an array, or some in a tuple, are laid out.

    None of what is not of a library, or is not on the stream that this one works on.
    """
    layouts: list[Any] = []
    for array in arrays if type(arrays) is tuple else (arrays,):
        looks = None if array is None or library_of(array) is not library else library.look(array)
        if array is not None and (looks is None or looks[0] != stream):
            return None
        layouts.append(looks and looks[1])
    # One array, and a tuple of it, are not the same.
    return type(arrays) is tuple, *layouts


def is_plain(key: tuple[Any, ...]) -> bool:
    """Return whether a call can be kept under a key.

    That is so where the arguments are names, whole numbers, None, tuples of names or numbers,
    ufuncs and operations of the caller's.
    """
    others = key[-1]
    if others is not None and not _are_plain(others):
        return False
    return all(
        type(each) in _PLAIN
        or (type(each) is tuple and {type(part) for part in each} <= _PARTS_OF_TUPLES)
        for each in key[_GIVEN]
    )


def _are_plain(others: tuple[Any, ...]) -> bool:
    """Return the same for what stands for the others in a key."""
    _, dtype, (kind, _), _ = others
    return (dtype is None or isinstance(dtype, str | type | np.dtype)) and kind in _NUMBERS


def ready_call(key: tuple[Any, ...]) -> Call | None:
    """Return what was kept for such a call, if anything was."""
    try:
        return _ready[key][0]
    except (KeyError, TypeError):
        # Lists cannot be looked up.
        return None


def keep(
    key: tuple[Any, ...], bound: Bound, requests: Sequence[Request], shape: tuple[int, ...]
) -> None:
    """Keep a call for the next one like it, by what is bound to its layout and leaves a shape."""
    if len(_ready) >= _MOST:
        gone = list(_ready.values())
        _ready.clear()
        # Some may be at work still, in memory that is given back now.
        for device in {id(device): device for _, device in gone}.values():
            device.synchronize()
    library, answer = key[0], naming(requests, key[_GIVEN.start])
    if key[-1] is not None:
        call = bound.for_options(library, shape, answer)
    elif shape:
        call = bound.for_arrays(library, shape, answer)
    else:
        call = bound.for_numbers(library, answer)
    _ready[key] = call, bound.device
