"""A caller's operation on a GPU: elements in their order, in runs of 64.

An operation need not be commutative, so what is combined has to be neighbours. Each thread combines
a run of 64 elements; the results are elements of the next pass, until a row has few left, which the
host combines. The threads of a warp read at a distance of a run, but each sector comes from memory
once and waits in the first-level cache.
"""

from __future__ import annotations

from functools import cache
from inspect import isfunction
from typing import TYPE_CHECKING, Any

from numba import cuda

from warpladder.errors import InputError, UnsupportedKernelError
from warpladder.reduction.custom import reason_of
from warpladder.reduction.gpu.layout import THREADS, Field, Levels, Matrix
from warpladder.reduction.gpu.routes import rows_one_by_one
from warpladder.reduction.parts import CustomPart

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = ["custom_states"]

_RUN = 64
_MOST_BLOCKS = 1 << 20


@cache
def _kernel(function: Any, masked: bool, levels: Levels | None) -> Any:
    # What Numba has compiled for the CPU is compiled anew from its source; what it knows itself, as
    # max, is taken as it is.
    source = getattr(function, "py_func", function)
    combine = cuda.jit(device=True)(source) if isfunction(source) else source
    origin, find, target = rows_one_by_one(levels)

    @cuda.jit
    def combine_runs(data, place, mask, mask_place, shape, identity, states):
        count, inner, length, runs, run = shape
        number = cuda.local.array(2, states.dtype)
        for item in range(cuda.grid(1), count * runs, cuda.gridsize(1)):
            row, begin = item // runs, item % runs * run
            start, mask_start = origin(place, row, inner), origin(mask_place, row, inner)
            number[0] = identity[0]
            for i in range(begin, min(begin + run, length)):
                if masked and not mask[mask_start + find(mask_place, i)]:
                    continue
                number[1] = data[start + find(place, i)]
                number[0] = combine(number[0], number[1])
            states[target(place, row) * runs + item % runs] = number[0]

    return combine_runs


def custom_states(
    device: Device, part: CustomPart, matrix: Matrix, stream: Any = None
) -> tuple[Any, int]:
    """Return, on the device, the states of some neighbouring pieces of each row, and how many.

    Raises
    ------
    InputError
        The operation cannot be compiled for a GPU.
    """
    identity = device.to_device(part.new(1), stream=stream)
    values, mask, count, length, inner, _, levels, _ = matrix
    masked = part.masked
    while True:
        runs = -(-length // _RUN)
        states = device.empty(count * runs, part.dtype)
        blocks = min(-(-count * runs // THREADS), _MOST_BLOCKS)
        marks = mask if masked and mask is not None else values
        shape = (count, inner, length, runs, _RUN)
        try:
            device.launch(
                _kernel(part.op.function, masked, levels), blocks, THREADS,
                values.data, values.place, marks.data, marks.place, shape, identity, states,
                stream=stream,
            )  # fmt: skip
        except UnsupportedKernelError as fault:
            why = reason_of(fault.__cause__ or fault)
            raise InputError(
                f"op {part.op.name}: Numba cannot compile it for {part.dtype.name} on a GPU: {why}"
            ) from fault
        if runs <= _RUN:
            return states, runs
        values, masked, length, inner = Field(states, 0, runs, 1), False, runs, 0
        levels = None
