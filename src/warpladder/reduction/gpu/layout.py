"""Where the elements of an array on a device lie: its memory as a matrix of rows.

Rows lie at two distances: ``inner`` of them follow each other at one, such groups at another, as
the rows of an array of three axes do whose middle one is reduced over. Element i of row k is
``data[offset + k // inner * outer + k % inner * pitch + i * step]``. Most arrays are such a matrix
as they lie, whichever axes are reduced over. What is not, because the axes that stay have more
distances or those that go have more than one, is nested: it has as many levels as it has distances.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from warpladder.device.cuda_array import CudaArray
from warpladder.device.foreign import numpy_dtype
from warpladder.errors import InputError
from warpladder.reduction.memory.copies import step_of

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = ["THREADS", "Field", "Levels", "Matrix", "flat_memory", "matrix_of"]

THREADS = 256
"""In a block of every kernel of this engine."""

# The length of a level of one, and the jumps that nobody makes: of results, values and mask.
_ONE = 1, 0, 0, 0


class Levels(NamedTuple):
    """How many distances nested rows have, and the elements of each; at least one.

    The place of a field has for each of those of rows a length and a jump, and one from a row's
    result to the next, then for each of those of elements a length and a jump.
    """

    rows: int
    elements: int

    @property
    def row_lengths(self) -> int:
        """Where these begin in the place of a field, behind the offset."""
        return 1

    @property
    def row_jumps(self) -> int:
        """Where these begin."""
        return 1 + self.rows

    @property
    def targets(self) -> int:
        """Where the jumps of results begin."""
        return 1 + 2 * self.rows

    @property
    def lengths(self) -> int:
        """Where those of elements begin."""
        return 1 + 3 * self.rows

    @property
    def jumps(self) -> int:
        """Where those of elements begin."""
        return 1 + 3 * self.rows + self.elements


class Field(NamedTuple):
    """Memory and the way through it, in elements; see `routes` for how kernels take it.

    ``nested`` has what `Levels` says of rows that are; their pitch and step are those of the
    innermost level.
    """

    data: Any
    offset: int
    pitch: int
    step: int
    outer: int = 0
    nested: tuple[int, ...] = ()

    @property
    def place(self) -> tuple[int, ...]:
        """The numbers, as kernels take them."""
        if self.nested:
            return self.offset, *self.nested
        return self.offset, self.pitch, self.step, self.outer


class Matrix(NamedTuple):
    """Rows on the device, and the mask that lies beside them or None.

    ``inner`` rows follow each other at the pitch of a field, then comes the next such group; 0
    stands for all of them. The array's first element is ``below`` elements from the beginning of
    the memory, that of the mask ``mask_below`` from the beginning of its own. Nested rows have
    ``levels``.
    """

    values: Field
    mask: Field | None
    rows: int
    length: int
    inner: int
    below: int = 0
    levels: Levels | None = None
    mask_below: int = 0


class _Axes(NamedTuple):
    """An array of any shape in flat memory; strides count elements."""

    data: Any
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Memory:
    """Memory of another library's array, described anew."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__cuda_array_interface__ = interface


def matrix_of(
    device: Device, values: Any, axes: Sequence[int], mask: Any, *, ordered: bool
) -> Matrix:
    """Return an array on the device as a matrix with a row for each reduction.

    Parameters
    ----------
    device
        Where it is.
    values
        Any shape and strides; not empty.
    axes
        The axes to reduce over, counted from 0.
    mask
        Of booleans, on the device or on the host, that broadcasts to the shape of ``values``; None
        where all elements count.
    ordered
        Whether the order of elements matters; if not, they are taken as they lie.
    """
    flat = flat_memory(device, values)
    going = list(axes)
    if mask is None and len(going) == len(flat.shape) and flat.strides == _contiguous(flat.shape):
        length = prod(flat.shape)
        return Matrix(Field(flat.data, flat.offset, length, 1), None, 1, length, 0, flat.offset)
    if not ordered:
        going.sort(key=lambda axis: -abs(flat.strides[axis]))
    order = [axis for axis in range(len(flat.shape)) if axis not in going]
    kept = len(order)
    order += going
    turned = [_turned(flat, order)]
    mask_below = 0
    if mask is not None:
        marked = flat_memory(device, mask)
        mask_below = marked.offset
        turned.append(_turned(_broadcast(marked, flat.shape), order))
    elif not ordered:
        turned = [_forwards(turned[0], kept)]
    shape, split = turned[0].shape, _split(turned, kept)
    rows, length = prod(shape[:kept]), prod(shape[kept:])
    inner, levels = prod(shape[split:kept]) if split else 0, None
    fields = [field for array in turned if (field := _field(array, kept, split)) is not None]
    if len(fields) < len(turned) or (split and _is_read_apart(turned[0], split)):
        inner, (levels, fields) = 0, _nested(turned, kept)
    marks = fields[1] if mask is not None else None
    return Matrix(fields[0], marks, rows, length, inner, flat.offset, levels, mask_below)


def _split(arrays: Sequence[_Axes], kept: int) -> int:
    """Return before which axis the rows of arrays of one shape fall into groups.

    It is the first so that rows of a group have one distance in every array, and groups as well;
    0, for one group of all rows, where there is none.
    """
    shape = arrays[0].shape
    for axis in range(kept):
        if all(
            step_of(shape[:axis], array.strides[:axis]) is not None
            and step_of(shape[axis:kept], array.strides[axis:kept]) is not None
            for array in arrays
        ):
            return axis
    return 0


def flat_memory(device: Device, array: Any) -> _Axes:
    """Return the memory that an array takes as an array of one dimension."""
    shape, dtype = tuple(array.shape), numpy_dtype(array)
    if isinstance(array, np.ndarray):
        # Of a number without dimensions NumPy would make a row.
        array = device.to_device(np.ascontiguousarray(array).reshape(shape))
    interface = getattr(array, "__cuda_array_interface__", None)
    strides = array.strides if interface is None else interface.get("strides")
    steps = _contiguous(shape) if strides is None else _in_elements(strides, dtype.itemsize)
    if isinstance(array, CudaArray) and steps == (1,) and dtype.kind != "b":
        # Such memory already, and of no other library whose stream is to be waited for.
        return _Axes(array, 0, shape, steps)
    # What is below and above the first element, in elements.
    reach = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]
    below, above = -sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    extent = below + above + 1
    kind = np.dtype(np.uint8) if dtype.kind == "b" else dtype
    if interface is None:
        # The lowest element, as an array of no dimensions.
        lowest = array.values[(*(-1 if step < 0 else 0 for step in steps), ...)]
        memory = type(array)(
            as_strided(lowest, (extent,), (dtype.itemsize,)).view(kind), array.buffer
        )
    else:
        address, read_only = interface["data"]
        described: Any = _Memory(
            array,
            interface
            | {
                "shape": (extent,),
                "strides": None,
                "typestr": kind.str,
                "data": (address - below * dtype.itemsize, read_only),
            },
        )
        memory = device.to_device(described)
    return _Axes(memory, below, shape, steps)


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _in_elements(strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    if any(stride % itemsize for stride in strides):
        raise InputError(
            f"values: strides of {strides} bytes are no multiples of an element's {itemsize}; "
            "copy the array"
        )
    return tuple(stride // itemsize for stride in strides)


def _broadcast(array: _Axes, shape: tuple[int, ...]) -> _Axes:
    added = len(shape) - len(array.shape)
    pairs = zip(array.shape, array.strides, shape[added:], strict=True)
    strides = tuple(0 if own == 1 < wanted else stride for own, stride, wanted in pairs)
    return array._replace(shape=shape, strides=(0,) * added + strides)


def _turned(array: _Axes, order: Sequence[int]) -> _Axes:
    return array._replace(
        shape=tuple(array.shape[axis] for axis in order),
        strides=tuple(array.strides[axis] for axis in order),
    )


def _forwards(array: _Axes, kept: int) -> _Axes:
    """Turn axes that run backwards and go: the same elements in another order."""
    offset, strides = array.offset, list(array.strides)
    for axis in range(kept, len(strides)):
        if strides[axis] < 0:
            offset += (array.shape[axis] - 1) * strides[axis]
            strides[axis] = -strides[axis]
    return array._replace(offset=offset, strides=tuple(strides))


def _field(array: _Axes, kept: int, split: int) -> Field | None:
    """Return the way through an array whose first axes are rows; None where it is not regular."""
    outer, pitch, step = (
        step_of(array.shape[part], array.strides[part])
        for part in (slice(split), slice(split, kept), slice(kept, None))
    )
    if outer is None or pitch is None or step is None:
        return None
    return Field(array.data, array.offset, pitch, step, outer)


def _is_read_apart(array: _Axes, split: int) -> bool:
    """Tell whether neighbours in memory are of rows between which others are counted."""
    nearest = min(
        range(len(array.shape)), key=lambda axis: (array.shape[axis] == 1, abs(array.strides[axis]))
    )
    return nearest < split


def _nested(arrays: Sequence[_Axes], kept: int) -> tuple[Levels, list[Field]]:
    """Return the ways through arrays of one shape whose first axes are rows, by levels."""
    shape, first = arrays[0].shape, arrays[0].strides
    by_distance = sorted(range(kept), key=lambda axis: -abs(first[axis]))
    targets = _contiguous(shape[:kept])
    jumps = [array.strides for array in arrays]
    rows = _joined(
        (shape[axis], targets[axis], *(of[axis] for of in jumps)) for axis in by_distance
    )
    elements = _joined(
        (shape[axis], *(of[axis] for of in jumps)) for axis in range(kept, len(shape))
    )
    fields = []
    for number, array in enumerate(arrays):
        pitch, step = rows[-1][2 + number], elements[-1][1 + number]
        place = (
            *(level[0] for level in rows),
            *(level[2 + number] for level in rows),
            *(level[1] for level in rows),
            *(level[0] for level in elements),
            *(level[1 + number] for level in elements),
        )
        fields.append(Field(array.data, array.offset, pitch, step, nested=place))
    return Levels(len(rows), len(elements)), fields


def _joined(axes: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return axes, each a length and jumps, with those joined that count as one; at least one."""
    levels: list[tuple[int, ...]] = [_ONE]
    for length, *jumps in axes:
        outer = levels[-1]
        if length == 1:
            continue
        if outer is _ONE:
            levels[-1] = length, *jumps
        elif all(far == length * jump for far, jump in zip(outer[1:], jumps, strict=True)):
            levels[-1] = outer[0] * length, *jumps
        else:
            levels.append((length, *jumps))
    return levels
