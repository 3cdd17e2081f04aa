"""The library: CUB's device-wide reduction, through NVIDIA's `cuda.compute`.

Idea: somebody has done this before. CUB, which Thrust is built on, reduces an array with kernels
chosen and tuned for each GPU; `cuda.compute` compiles them for the types at hand when they are
first asked for. Two calls: one tells how much memory it needs, one reduces.

Below: everything up to here, written by hand.

Expect: one pass over memory at nearly all of its bandwidth, as few launches as the size allows: one
for small arrays, two for large ones. The source found it the fastest of all, by little. For an
operation that libraries know, this is the measure of what one writes oneself.

It is code that is compiled already: there is nothing of it that the simulator could run or count,
so it is verified and timed on a GPU only. It needs the package that the extra `cccl` names.

Source: RD 13

Question: For which of these does the order not matter in which a library combines the numbers: the
sum of int32 modulo 2**32, the largest of float32, the sum of float32?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.errors import DeviceError, MissingExtraError
from warpladder.reduction.rungs._tasks import SUM
from warpladder.rung import Bound, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["RUNG", "run"]

_LIMITS = (
    "CUB's kernels are compiled code, which no simulator runs; "
    "with a GPU: pip install 'warpladder[cccl]'"
)


def run(device: Device, problem: Numbers) -> NDArray[Any]:
    """Return the sum in an array of one."""
    try:
        from cuda import compute
    except ImportError as fault:
        raise MissingExtraError("CUB's reduction", "cuda-cccl", "cccl") from fault
    values = problem.values
    data, result = device.to_device(values), device.empty(1, values.dtype)
    if not hasattr(data, "__cuda_array_interface__"):
        raise DeviceError(f"{device.properties.name}: {_LIMITS}")
    compute.reduce_into(
        d_in=data,
        d_out=result,
        num_items=values.size,
        op=compute.OpKind.PLUS,
        h_init=np.zeros(1, values.dtype),
    )
    return device.to_host(result)


RUNG = Rung(
    name="cub-library",
    title="The library: CUB through cuda.compute",
    source="RD 13",
    run=run,
    task=SUM,
    bound=Bound("dram", "4 n bytes over the memory bandwidth"),
    limits=_LIMITS,
    on="gpu",
)
