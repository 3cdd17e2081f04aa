"""Arrays that are on a GPU already: reduced there, without a copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from warpladder.device.foreign import adopted, check_on, is_on_gpu, like, numpy_dtype, to_numpy
from warpladder.device.libraries import library_of
from warpladder.device.workspace import borrowed_workspace
from warpladder.errors import InputError, InputTypeError
from warpladder.reduction.answers import check_outs, check_some, shape_left
from warpladder.reduction.gpu.finish import finished_there, refuses_when_seen
from warpladder.reduction.gpu.layout import matrix_of
from warpladder.reduction.gpu.parts import start
from warpladder.reduction.gpu.prepared import Bound, memory_of, results_like
from warpladder.reduction.intake import (
    as_axes,
    as_truths,
    check_axes_of_indices,
    check_dtype,
)
from warpladder.reduction.plan import check_mask_leaves_some
from warpladder.reduction.ready import keep

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.answers import Outs
    from warpladder.reduction.gpu.layout import Matrix
    from warpladder.reduction.plan import Plan

__all__ = ["reduce_there"]


class _Task(NamedTuple):
    """An array on a GPU, along what it is reduced, and where the results go.

    Attributes
    ----------
    device
        Where the values are.
    values
        Any array for which `warpladder.device.foreign.is_on_gpu` holds.
    axes
        To reduce over, counted from 0.
    mask
        As `_mask_for` returns it.
    shape
        Of the results.
    outs
        Where they go.
    key
        What `ready.key_of` says of the call.
    """

    device: Device
    values: Any
    axes: Sequence[int]
    mask: Any
    shape: tuple[int, ...]
    outs: Outs
    key: Any


def reduce_there(
    device: Device,
    values: Any,
    plan_for: Callable[..., Plan],
    axis: Any,
    where: Any,
    ddof: float,
    keepdims: bool,
    outs: Outs,
    key: Any,
) -> list[Any]:
    """Return the results for an array on a GPU, one array for each.

    Parameters
    ----------
    device
        Where the values are.
    values
        Any array for which `warpladder.device.foreign.is_on_gpu` holds.
    plan_for
        Returns a plan for a dtype, ``masked`` or not.
    axis, where, ddof, keepdims
        As for `warpladder.reduce`.
    outs
        Where results go.
    key
        What `ready.key_of` says of the call.

    Returns
    -------
    list
        ``outs``; without these NumPy scalars where no axis is left, else arrays of the caller's
        library on the GPU.

    Raises
    ------
    InputError
        An operation is not defined for a row without elements; or as for `warpladder.reduce`.
    TooLargeError
        The GPU has no memory left for what has to be copied.
    """
    dtype = numpy_dtype(values)
    check_dtype(dtype, "values")
    whole = tuple(values.shape)
    axes = as_axes(axis, len(whole))
    mask = _mask_for(where, whole, device)
    plan = plan_for(dtype, masked=mask is not None)
    check_axes_of_indices(plan.requests, axes, len(whole))
    shape = shape_left(whole, axes, keepdims=keepdims)
    check_outs(outs, plan, shape, device)
    check_some(plan, whole, axes)
    return _reduce(_Task(device, values, axes, mask, shape, outs, key), plan, ddof)


def _mask_for(where: Any, shape: tuple[int, ...], device: Device) -> Any:
    """Return a mask for values of a shape on a device, checked; there or on the host.

    Raises
    ------
    InputError, InputTypeError
        It does not broadcast to that shape, is none of booleans, or is on another GPU.
    """
    if where is None:
        return None
    mask = where if is_on_gpu(where) else as_truths(where)
    if hasattr(mask, "__cuda_array_interface__"):
        check_on(device, mask, "where")
    if numpy_dtype(mask) != np.bool_:
        raise InputTypeError(f"where: a mask of booleans is needed, not dtype {numpy_dtype(mask)}")
    own = tuple(mask.shape)
    pairs = zip(reversed(own), reversed(shape), strict=False)
    if len(own) > len(shape) or any(n not in {1, wanted} for n, wanted in pairs):
        raise InputError(f"where: its shape {own} does not broadcast to that of values, {shape}")
    return mask


def _reduce(task: _Task, plan: Plan, ddof: float) -> list[Any]:
    """Return the results by a plan, made for masked values where there is a mask."""
    device, values, axes, mask, shape, outs, _ = task
    whole = tuple(values.shape)
    count, length = prod(shape), prod(whole[axis] for axis in axes)
    library = library_of(values)
    stream = 0 if library is None else library.stream(values)
    if count and length and finished_there(plan):
        found = _finished_there(task, plan, ddof, stream)
        if found is not None:
            return found
        # What follows says what is wrong.
    if stream:
        device.synchronize()
    if count and length:
        matrix = matrix_of(device, values, axes, mask, ordered=plan.ordered)
        with borrowed_workspace(device) as workspace:
            collectors = [start(device, part, matrix, workspace) for part in plan.parts]
            states = [collect() for collect in collectors]
    else:
        states = plan.new(count)
    results = plan.finish(states, count, length, ddof)
    if mask is not None:

        def marks() -> NDArray[np.bool_]:
            return np.broadcast_to(to_numpy(mask) if is_on_gpu(mask) else mask, whole)

        check_mask_leaves_some(plan, results, marks, axes)
    if outs is None and not shape:
        return [result[0] for result in results]
    if outs is None:
        made = [like(device.to_device(result.reshape(shape)), values) for result in results]
    else:
        made = list(outs)
        for out, result in zip(outs, results, strict=True):
            device.to_device(result.reshape(shape), adopted(out))
    if stream:
        # What is sent may still be on its way, and the stream need not wait for it.
        device.synchronize()
    return made


def _finished_there(task: _Task, plan: Plan, ddof: float, stream: int) -> list[Any] | None:
    """Return the results that kernels make, None where one is to be refused.

    Only those without a shape, and those that may be refused, are waited for.
    """
    device, values, axes, mask, shape, _, key = task
    if stream:
        # What is brought there, made room for or lent is on the default stream, which does not wait
        # for all others, nor they for it.
        device.synchronize()
    matrix = matrix_of(device, values, axes, mask, ordered=plan.ordered)
    # Nothing is left in a caller's array before it is known that it stands.
    if key is not None and (task.outs is None or not refuses_when_seen(plan)):
        bound = Bound(device, plan, matrix, ddof)
        results = _results(bound, task, matrix, stream)
        keep(key, bound, plan.requests, shape)
        return results
    with borrowed_workspace(device) as workspace:
        bound = Bound(device, plan, matrix, ddof, workspace)
        # The next one that borrows this, or is given the memory, is on the default stream.
        return _results(bound, task, matrix, stream, waits=bool(stream))


def _results(
    bound: Bound, task: _Task, matrix: Matrix, stream: int, *, waits: bool = False
) -> list[Any] | None:
    """Return the results of a matrix, numbers of the host where they have no shape.

    None where one is to be refused.
    """
    device, values, shape, outs = task.device, task.values, task.shape, task.outs
    memory = memory_of(matrix.values.data)
    # They may be in the memory of the values, which are read to the end first.
    made = [device.empty(matrix.rows, dtype) for dtype in bound.dtypes] if outs else []
    if stream:
        device.synchronize()
    if outs is None and not shape:
        return bound.numbers(memory, stream)
    if outs is None:
        results, places = results_like(device, values, shape, bound.dtypes)
        return results if bound.into(memory, places, stream, waits) else None
    if not bound.into(memory, [memory_of(result) for result in made], stream, waits=bool(stream)):
        return None
    for out, result in zip(outs, made, strict=True):
        device.to_device(result.reshape(shape), adopted(out))
    if stream:
        device.synchronize()
    return list(outs)
