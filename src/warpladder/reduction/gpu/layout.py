"""Where the elements of an array on a device lie: its memory as a matrix of rows.

Rows lie at two distances: ``inner`` of them follow each other at one, such groups at another, as
the rows of an array of three axes do whose middle one is reduced over. Element i of row k is
``data[offset + k // inner * outer + k % inner * pitch + i * step]``. Most arrays are such a matrix
as they lie, whichever axes are reduced over. What is not, because the axes that stay have more
distances or those that go have more than one, is gathered: copied once on the device, row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import cuda
from numpy.lib.stride_tricks import as_strided

from warpladder.device.cuda_array import CudaArray
from warpladder.device.foreign import numpy_dtype
from warpladder.device.grids import blocks_for
from warpladder.device.kernel_cache import cached
from warpladder.errors import InputError
from warpladder.reduction.memory.copies import step_of

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = ["THREADS", "Field", "Matrix", "beginning", "flat_memory", "matrix_of"]

THREADS = 256
"""In a block of every kernel of this engine."""

_BLOCKS_TO_GATHER = 4096


class Field(NamedTuple):
    """Memory and the way through it, in elements; see `beginning` for where a row begins."""

    data: Any
    offset: int
    pitch: int
    step: int
    outer: int = 0

    @property
    def place(self) -> tuple[int, int, int, int]:
        """The numbers, as kernels take them."""
        return self.offset, self.pitch, self.step, self.outer


class Matrix(NamedTuple):
    """Rows on the device, and the mask that lies beside them or None.

    ``inner`` rows follow each other at the pitch of a field, then comes the next such group; 0
    stands for all of them. The array's first element is ``below`` elements from the beginning of
    the memory; None where the memory is that of a copy.
    """

    values: Field
    mask: Field | None
    rows: int
    length: int
    inner: int
    below: int | None = None


@cuda.jit(device=True)
def beginning(place: Any, row: Any, inner: Any) -> Any:
    """Return where a row begins in the memory of a `Field`, of which ``place`` is the place."""
    if inner == 0:
        # A division takes as long as some loads.
        return place[0] + row * place[1]
    group = row // inner
    return place[0] + group * place[3] + (row - group * inner) * place[1]


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

    Raises
    ------
    TooLargeError
        The device has no memory left for what has to be gathered.
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
    if mask is not None:
        turned.append(_turned(_broadcast(flat_memory(device, mask), flat.shape), order))
    elif not ordered:
        turned = [_forwards(turned[0], kept)]
    shape, split = turned[0].shape, _split(turned, kept)
    fields = [_field(device, array, kept, split) for array in turned]
    rows, inner = prod(shape[:kept]), prod(shape[split:kept]) if split else 0
    below = flat.offset if fields[0].data is flat.data else None
    marks = fields[1] if fields[1:] else None
    return Matrix(fields[0], marks, rows, prod(shape[kept:]), inner, below)


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


def _field(device: Device, array: _Axes, kept: int, split: int) -> Field:
    outer, pitch, step = (
        step_of(array.shape[part], array.strides[part])
        for part in (slice(split), slice(split, kept), slice(kept, None))
    )
    if outer is not None and pitch is not None and step is not None:
        return Field(array.data, array.offset, pitch, step, outer)
    size, length = prod(array.shape), prod(array.shape[kept:])
    copy = device.empty(size, array.data.dtype)
    shape, strides = (device.to_device(np.array(part)) for part in (array.shape, array.strides))
    blocks = min(blocks_for(size, THREADS), _BLOCKS_TO_GATHER)
    device.launch(gather, blocks, THREADS, array.data, array.offset, shape, strides, copy)
    return Field(copy, 0, length, 1, length * prod(array.shape[split:kept]))


@cached
@cuda.jit
def gather(data: Any, offset: int, shape: Any, strides: Any, copy: Any) -> None:
    """Copy an array of any strides into one in C order."""
    for place in range(cuda.grid(1), copy.size, cuda.gridsize(1)):
        at, rest = offset, place
        for axis in range(shape.size - 1, -1, -1):
            whole = rest // shape[axis]
            at += (rest - whole * shape[axis]) * strides[axis]
            rest = whole
        copy[place] = data[at]
