"""What callers get: results in the shape that is left, in their own arrays, under their names."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations, starmap
from math import prod
from operator import itemgetter
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from warpladder.device.foreign import adopted, is_on_gpu, numpy_dtype
from warpladder.device.select import gpu_of
from warpladder.errors import InputError, InputTypeError
from warpladder.reduction.ops import Operation, Request
from warpladder.reduction.plan import Plan

__all__ = [
    "Outs",
    "are_axes",
    "are_names",
    "as_keepdims",
    "as_outs",
    "axes_of",
    "check_outs",
    "check_some",
    "may_take",
    "named",
    "naming",
    "put_into",
    "shape_left",
    "shaped",
]

# So many are reduced in the time that the long way takes.
_MOST_TRIED = 1 << 20

Outs = Sequence[Any] | None
"""Where the results go, one array for each operation; None for new arrays."""


def as_keepdims(keepdims: Any) -> bool:
    """Return whether axes that are reduced over stay, with one element."""
    if keepdims is True or keepdims is False:
        return keepdims
    if isinstance(keepdims, np.bool_):
        return bool(keepdims)
    raise InputTypeError(f"keepdims={keepdims!r} must be True or False")


def are_axes(axis: Any) -> bool:
    """Tell whether these are several numbers of axes, and of no type but Python's own."""
    return type(axis) is tuple and all(type(one) is int for one in axis)


def are_names(op: Any) -> TypeGuard[tuple[str, ...]]:
    """Tell whether these are the names of several operations, if they are any."""
    return type(op) is tuple and len(op) > 1 and all(type(one) is str for one in op)


def axes_of(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...] | None:
    """Return axes counted from 0, in order; None where they are not axes, or one is there twice.

    Examples
    --------
    >>> axes_of((-1, 0), 3), axes_of(None, 2), axes_of(2, 2), axes_of((0, -2), 2)
    ((0, 2), (0, 1), None, None)
    """
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    if not given or not all(-ndim <= one < ndim for one in given):
        return None
    found = tuple(sorted({one % ndim for one in given}))
    return found if len(found) == len(given) else None


def shape_left(shape: Sequence[int], axes: Sequence[int], *, keepdims: bool) -> tuple[int, ...]:
    """Return the shape of a result.

    Examples
    --------
    >>> shape_left((3, 4, 5), (0, 2), keepdims=False), shape_left((3, 4), (1,), keepdims=True)
    ((4,), (3, 1))
    """
    if keepdims:
        return tuple(1 if axis in axes else n for axis, n in enumerate(shape))
    return tuple(n for axis, n in enumerate(shape) if axis not in axes)


def as_outs(out: Any, op: Any, count: int) -> Outs:
    """Return the caller's arrays, one for each of so many operations.

    Raises
    ------
    InputTypeError
        There are not as many.
    """
    if out is None:
        return None
    if isinstance(op, Operation):
        return (out,)
    if not isinstance(out, tuple | list) or len(out) != count:
        raise InputTypeError(f"out: a tuple of {count} arrays is needed, one for each operation")
    return out


def check_outs(outs: Outs, plan: Plan, shape: tuple[int, ...], device: Any = None) -> None:
    """Refuse arrays that cannot take the results.

    Parameters
    ----------
    outs
        The arrays.
    plan
        Of what.
    shape
        Of each result.
    device
        The GPU that the results are on, None for the host.

    Raises
    ------
    InputError, InputTypeError
        One is of another shape or dtype, elsewhere, cannot be written to, or is there twice.
    """
    if outs is None:
        return
    seen = []
    for given, request, dtype in zip(outs, plan.requests, plan.dtypes, strict=True):
        out = _checked_on_host(given) if device is None else _checked_on_gpu(given, device)
        seen.append(out)
        found, found_dtype = tuple(out.shape), numpy_dtype(out)
        if found != shape or found_dtype != dtype:
            raise InputError(
                f"out: {request.name} is {dtype} of shape {shape}, this is {found_dtype} of shape "
                f"{found}; give one made with empty({shape}, '{dtype}')"
            )
    for one, other in combinations(seen, 2):
        if one is other or _share_memory(one, other, device):
            raise InputError("out: two operations cannot share memory; give each an array")


def _share_memory(one: Any, other: Any, device: Any) -> bool:
    """Return whether two arrays for results, contiguous where they are on a GPU, share memory."""
    if device is None:
        return np.shares_memory(one, other)
    (first, end), (begin, last) = _extent(one), _extent(other)
    return first < last and begin < end


def _extent(out: Any) -> tuple[int, int]:
    """Return where a contiguous array on a device begins and ends."""
    interface = getattr(out, "__cuda_array_interface__", None)
    begin = out.values.ctypes.data if interface is None else interface["data"][0] or 0
    return begin, begin + prod(out.shape) * numpy_dtype(out).itemsize


def _checked_on_host(out: Any) -> NDArray[Any]:
    if is_on_gpu(out):
        raise InputError(
            "out: it is on a GPU, and values are not; give a NumPy array, or values on that GPU"
        )
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        raise InputTypeError(f"out: a plain NumPy array is needed, not {type(out).__name__}")
    if not out.flags.writeable:
        raise InputError("out: it is read-only; give a copy")
    return out


def _checked_on_gpu(given: Any, device: Any) -> Any:
    """Return an array for a result as one with a shape and a dtype."""
    out = adopted(given)
    if not is_on_gpu(out):
        raise InputError(
            "out: it is not on a GPU, as values are; give an array there, or leave it out and copy "
            "the result"
        )
    interface = getattr(out, "__cuda_array_interface__", None)
    if interface is None:
        contiguous = bool(out.flags.c_contiguous)
    else:
        # As it was given: an array of ours does not say.
        address, is_read_only = getattr(given, "__cuda_array_interface__", interface)["data"]
        if is_read_only:
            raise InputError("out: it is read-only; give a copy")
        there = gpu_of(out).index if address else None  # type: ignore[attr-defined]  # of a GPU
        if there not in {None, getattr(device, "index", None)}:
            raise InputError(f"out: it is on GPU {there}, and values are not; give one beside them")
        strides = interface.get("strides")
        layout: NDArray[Any] = np.empty(0, numpy_dtype(out))
        whole = np.lib.stride_tricks.as_strided(layout, out.shape, strides)
        contiguous = strides is None or bool(whole.flags.c_contiguous)
    if not contiguous:
        raise InputError("out: on a GPU it has to be contiguous; give such a one and copy from it")
    return out


def shaped(results: list[NDArray[Any]], shape: tuple[int, ...], outs: Outs) -> list[Any]:
    """Return results of the host in their shape, in the caller's arrays where there are such."""
    if outs is None:
        # An index of () makes a scalar of an array of no dimensions, and leaves others alone.
        return [result.reshape(shape)[()] for result in results]
    for out, result in zip(outs, results, strict=True):
        np.copyto(out, result.reshape(shape))
    return list(outs)


def check_some(plan: Plan, shape: tuple[int, ...], axes: Sequence[int]) -> None:
    """Refuse what is not defined for no elements also where there is no row of them, as NumPy does.

    Raises
    ------
    InputError
        As `Plan.finish` does for a row without elements.
    """
    if 0 in shape and not prod(shape[axis] for axis in axes):
        plan.finish(plan.new(1), 1, 0, 0)


def may_take(out: Any, values: NDArray[Any]) -> bool:
    """Tell whether results are found first, and then put into an array or several (`put_into`).

    Of many values they would be found for nothing where something is to be said.
    """
    if values.size > _MOST_TRIED:
        return False
    return all(map(_is_writable, out)) if type(out) is tuple else _is_writable(out)


def put_into(out: Any, found: Any) -> Any:
    """Put results into the arrays that `may_take` them; return these as `reduce` does.

    Where they do not take them None is returned and nothing said: that has to be looked at in the
    order in which `reduce` does.
    """
    if type(out) is not tuple:
        if isinstance(found, tuple) or _differ(out, found):
            return None
        out[...] = found
        return out
    if not isinstance(found, tuple) or len(found) != len(out) or any(map(_differ, out, found)):
        return None
    # That bounds overlap is found in a third of the time, and most do not.
    if any(starmap(np.may_share_memory, combinations(out, 2))):
        return None
    for one, result in zip(out, found, strict=True):
        one[...] = result
    return type(found)(*out)


def _is_writable(out: Any) -> bool:
    return type(out) is np.ndarray and out.flags.writeable


def _differ(out: NDArray[Any], result: Any) -> bool:
    return out.shape != result.shape or bool(out.dtype != result.dtype)


def named(requests: Sequence[Request], results: list[Any], op: Any) -> Any:
    """Return the result, or several under the names of their operations."""
    return naming(requests, op)(results)


def naming(requests: Sequence[Request], op: Any) -> Callable[[list[Any]], Any]:
    """Return what makes of results what `named` does."""
    # To look into the union takes longer than all the rest.
    if type(op) is str or isinstance(op, Operation):
        return itemgetter(0)
    record = _record(tuple(request.name for request in requests))
    return lambda results: record(*results)


@cache
def _record(names: tuple[str, ...]) -> Any:
    # Made when asked for, the class cannot be found by its name: a pickle makes it anew.
    ways = {"__slots__": (), "__reduce__": lambda self: (_remade, (names, *self))}
    return type("Reductions", (namedtuple("Reductions", names),), ways)


def _remade(names: tuple[str, ...], *results: Any) -> Any:
    return _record(names)(*results)
