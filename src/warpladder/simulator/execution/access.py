"""Loads, stores and slices through array views, for all active threads at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import UnsupportedKernelError
from warpladder.simulator.execution.frame import Frame
from warpladder.simulator.machine.memory import PART, Buffer, View
from warpladder.simulator.machine.program import Site
from warpladder.simulator.machine.values import take

__all__ = [
    "field",
    "load",
    "load_at",
    "load_broadcast",
    "locate",
    "places",
    "slice_view",
    "store",
    "store_at",
    "store_region",
]

LOAD, STORE = "load", "store"

_greatest, _UNSIGNED = np.maximum.reduce, np.dtype(np.uint64)


def locate(frame: Frame, view: View, indices: tuple[Any, ...], site: Site, verb: str) -> Any:
    """Return the position of an element in units of the view, with each index in its range.

    Negative indices count from the end, as Numba has it for signed ones. What is beyond the end is
    a fault whatever the checks: there is nothing there to give.
    """
    position, shift = view.offset, 0
    for axis, index in enumerate(indices):
        extent, stride = view.shape[axis], view.strides[axis]
        if isinstance(extent, np.ndarray) and not isinstance(index, np.ndarray):
            index = np.full(frame.count, index)  # noqa: PLW2901 - the same index, for each thread
        if isinstance(index, np.ndarray):
            signed = index.dtype.kind != "u"
            if index.dtype != np.int64:
                index = index.astype(np.int64)  # noqa: PLW2901 - the same index, one type
            # A negative number is a large one without its sign: one look at all of them does.
            if isinstance(extent, np.ndarray) or _greatest(index.view(_UNSIGNED)) >= extent:
                if signed:
                    index = np.where(index < 0, index + extent, index)  # noqa: PLW2901
                outside = (index < 0) | (index >= extent)
                if outside.any():
                    frame.launch.faults.out_of_bounds(
                        frame.lanes, view, indices, axis, outside, site, verb
                    )
        else:
            signed = not isinstance(index, np.unsignedinteger)
            index = int(index)  # noqa: PLW2901
            if index < 0 and signed:
                index += int(extent)  # noqa: PLW2901
            if not 0 <= index < extent:
                everyone = np.ones(frame.count, dtype=bool)
                frame.launch.faults.out_of_bounds(
                    frame.lanes, view, indices, axis, everyone, site, verb
                )
        step = index if isinstance(stride, int) and stride == 1 else index * stride
        if isinstance(step, int):
            # One addition to the positions of all threads, for all axes together.
            shift += step
        else:
            position = step if isinstance(position, int) and position == 0 else position + step
    return position + shift if shift else position


def places(view: View, position: Any) -> Iterator[tuple[Buffer, Any, NDArray[np.intp] | None]]:
    """Yield each buffer that is reached, the positions in it, and by which threads (None: all)."""
    buffer = view.buffer
    if isinstance(buffer, Buffer):
        yield buffer, position, None
        return
    for number in np.unique(buffer.which):
        where = np.flatnonzero(buffer.which == number)
        yield buffer.buffers[number], take(position, where), where


def load(frame: Frame, view: View, indices: tuple[Any, ...], site: Site) -> Any:
    """Return the elements at these indices; of a record, a reference to it."""
    row = _row(frame, view, indices, site, LOAD)
    if row is not None:
        value: NDArray[Any] = row.copy()
        return value
    return load_at(frame, view, locate(frame, view, indices, site, LOAD), site)


def _row(
    frame: Frame, view: View, indices: tuple[Any, ...], site: Site, verb: str
) -> NDArray[Any] | None:
    """Return one element of all threads of the batch, where it is known to lie in a row.

    It does so of a local array at an index that all share. In kernels with tiles in registers
    these are nine in ten accesses.
    """
    # Nothing else begins at the place of each thread.
    if view.offset is not frame.row or frame.launch.watch is not None:
        return None
    buffer: Any = view.buffer
    if buffer.rows is None or view.dtype != buffer.rows.dtype:
        return None
    first = 0
    for index, extent, stride in zip(indices, view.shape, view.strides, strict=True):
        if isinstance(index, np.ndarray) or not 0 <= index < extent:
            return None
        first += int(index) * stride
    monitor = frame.launch.monitor
    if monitor is not None and not monitor.local(frame, buffer, verb, site):
        monitor.access(frame, buffer, view, view.offset + first, None, verb, site)
    if verb == STORE:
        frame.launch.changes += 1
    row: NDArray[Any] = buffer.rows[first // frame.count]
    return row


def load_at(frame: Frame, view: View, position: Any, site: Site) -> Any:
    """Return the elements at these positions."""
    if view.dtype.names is not None or view.dtype.subdtype is not None:
        return replace(view, offset=position, shape=(), strides=())
    monitor = frame.launch.monitor
    if isinstance(view.buffer, Buffer):
        if monitor is not None:
            monitor.access(frame, view.buffer, view, position, None, LOAD, site)
        value = _read(view.buffer, view, position)
        if frame.launch.watch is not None:
            frame.launch.watch.read(frame.reader(site, view), position, value)
        return value
    result: NDArray[Any] = np.empty(frame.count, dtype=view.dtype)
    for buffer, at, where in places(view, position):
        if monitor is not None:
            monitor.access(frame, buffer, view, at, where, LOAD, site)
        result[where] = _read(buffer, view, at)
    return result


def store(frame: Frame, view: View, indices: tuple[Any, ...], value: Any, site: Site) -> None:
    """Write ``value`` to the elements at these indices; of threads that meet, the last wins."""
    row = _row(frame, view, indices, site, STORE)
    if row is not None:
        row[...] = value
        return
    if isinstance(value, View):
        value = _record_bytes(frame, value, site)
    store_at(frame, view, locate(frame, view, indices, site, STORE), value, site)


def store_at(frame: Frame, view: View, position: Any, value: Any, site: Site) -> None:
    """Write ``value`` to the elements at these positions; of threads that meet, the last wins."""
    monitor = frame.launch.monitor
    frame.launch.changes += 1
    if isinstance(view.buffer, Buffer):
        if monitor is not None:
            monitor.access(frame, view.buffer, view, position, None, STORE, site, value)
        _write(view.buffer, view, position, value)
        return
    for buffer, at, where in places(view, position):
        written = value if where is None else take(value, where)
        if monitor is not None:
            monitor.access(frame, buffer, view, at, where, STORE, site, written)
        _write(buffer, view, at, written)


def store_region(frame: Frame, region: View, value: Any, site: Site) -> None:
    """Write to every element of a view: one value, or the elements of another view."""
    if any(isinstance(extent, np.ndarray) for extent in region.shape):
        raise UnsupportedKernelError(
            f"assignment to a slice whose length differs between threads ({site.filename}, "
            f"line {site.line})"
        )
    shape = tuple(int(extent) for extent in region.shape)
    indices = list(np.ndindex(*shape))
    items: list[Any] = [value] * len(indices)
    if isinstance(value, View):
        # All of them before the first is written: the two may overlap.
        items = [load_broadcast(frame, value, index, site) for index in indices]
    elif isinstance(value, tuple):
        items = [value[index[-1]] for index in indices]
    for index, item in zip(indices, items, strict=True):
        if isinstance(item, np.ndarray | np.generic) and item.dtype != region.dtype:
            item = item.astype(region.dtype)  # noqa: PLW2901
        store(frame, region, index, item, site)


def load_broadcast(frame: Frame, view: View, index: tuple[int, ...], site: Site) -> Any:
    """Return an element of a view by its index in the shape that the view is broadcast to."""
    trailing = index[len(index) - len(view.shape) :]
    own = tuple(0 if e == 1 else i for i, e in zip(trailing, view.shape, strict=True))
    return load(frame, view, own, site)


def _read(buffer: Buffer, view: View, position: Any) -> Any:
    dtype = view.dtype
    if view.unit == dtype.itemsize:
        return buffer.typed(dtype)[position]
    if not np.any(position % dtype.itemsize):
        return buffer.typed(dtype)[position // dtype.itemsize]
    spread = np.asarray(position)[..., None] + np.arange(dtype.itemsize)
    value = np.ascontiguousarray(buffer.raw[spread]).view(dtype)[..., 0]
    return value[()] if value.ndim == 0 else value


def _write(buffer: Buffer, view: View, position: Any, value: Any) -> None:
    dtype = view.dtype
    if not isinstance(position, np.ndarray) and isinstance(value, np.ndarray):
        value = value[-1]
    if dtype.names is not None:
        rows = np.atleast_1d(value).view(np.uint8).reshape(-1, dtype.itemsize)
        start = np.atleast_1d(position * view.unit)
        buffer.raw[start[:, None] + np.arange(dtype.itemsize)] = rows
        return
    if view.unit == dtype.itemsize:
        buffer.typed(dtype)[position] = value
    elif not np.any(position % dtype.itemsize):
        buffer.typed(dtype)[position // dtype.itemsize] = value
    else:
        spread = np.asarray(position)[..., None] + np.arange(dtype.itemsize)
        source = np.ascontiguousarray(np.broadcast_to(value, np.shape(position)), dtype=dtype)
        buffer.raw[spread] = source.reshape((*np.shape(position), 1)).view(np.uint8)


def _record_bytes(frame: Frame, record: View, site: Site) -> NDArray[Any]:
    """Return the records that ``record`` refers to, one for each thread, as plain bytes."""
    source = record.in_bytes()
    size = source.dtype.itemsize
    rows = np.empty((frame.count, size), dtype=np.uint8)
    for buffer, at, where in places(source, source.offset):
        if frame.launch.monitor is not None:
            frame.launch.monitor.access(frame, buffer, source, at, where, LOAD, site)
        rows[slice(None) if where is None else where] = buffer.raw[
            np.asarray(at)[..., None] + np.arange(size)
        ]
    return rows.view(f"V{size}").reshape(-1)


def field(view: View, name: str) -> View:
    """Return the view of a record's field (or of the field in every record of an array)."""
    fields: Any = view.dtype.fields
    dtype, shift = fields[name][:2]
    inner: tuple[int, ...] = ()
    if dtype.subdtype is not None:
        dtype, inner = dtype.subdtype
    base = view.in_bytes()
    steps, step = [], dtype.itemsize
    for extent in reversed(inner):
        steps.append(step)
        step *= extent
    return replace(
        base,
        dtype=dtype,
        offset=base.offset + shift,
        shape=(*base.shape, *inner),
        strides=(*base.strides, *reversed(steps)),
        name=f"{view.name}.{name}",
    )


def slice_view(
    frame: Frame, view: View, indices: tuple[Any, ...], site: Site, verb: str = LOAD
) -> View:
    """Return ``view[indices]`` where some are slices (start, stop, step), None or Ellipsis."""
    given = sum(1 for index in indices if index is not Ellipsis and index is not None)
    full: list[Any] = []
    for index in indices:
        if index is Ellipsis:
            full += [_WHOLE] * (len(view.shape) - given)
        else:
            full.append(index)
    full += [_WHOLE] * (len(view.shape) - sum(1 for index in full if index is not None))
    position, shape, strides = view.offset, [], []
    axis = 0
    for index in full:
        if index is None:
            shape.append(1)
            strides.append(0)
            continue
        extent, stride = view.shape[axis], view.strides[axis]
        if isinstance(index, tuple):
            start, step, count = _slice_bounds(index, extent)
            position = position + start * stride
            shape.append(count)
            strides.append(stride * step)
        else:
            one = replace(view, offset=position, shape=(extent,), strides=(stride,))
            position = locate(frame, one, (index,), site, verb)
        axis += 1
    # Its indices are counted from where it begins: a[3:6] has no [3], where a has.
    name = view.name if view.name.endswith(PART) else view.name + PART
    return replace(view, offset=position, shape=tuple(shape), strides=tuple(strides), name=name)


_WHOLE = (None, None, None)


def _slice_bounds(index: tuple[Any, Any, Any], extent: Any) -> tuple[Any, Any, Any]:
    """Python's rules for the ends of a slice, on uniform or varying numbers."""
    start, stop, step = index
    step = 1 if step is None else step
    if not any(isinstance(part, np.ndarray) for part in (start, stop, step, extent)):
        bounds = slice(
            None if start is None else int(start), None if stop is None else int(stop), int(step)
        )
        first, last, by = bounds.indices(int(extent))
        return first, by, len(range(first, last, by))
    extent = np.asarray(extent, dtype=np.int64)
    step = np.asarray(step, dtype=np.int64)
    forward = step > 0

    def end(value: Any, missing_forward: Any, missing_backward: Any) -> Any:
        if value is None:
            return np.where(forward, missing_forward, missing_backward)
        value = np.asarray(value, dtype=np.int64)
        value = np.where(value < 0, value + extent, value)
        low, high = np.where(forward, 0, -1), np.where(forward, extent, extent - 1)
        return np.clip(value, low, high)

    first = end(start, 0, extent - 1)
    last = end(stop, extent, -1)
    span = np.where(forward, last - first + step - 1, last - first + step + 1)
    count = np.maximum(span // step, 0)
    return first, step, count
