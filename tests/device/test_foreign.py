"""Arrays of other libraries that DLPack alone describes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpladder.device import foreign
from warpladder.device.cuda_array import CudaArray

pytest.importorskip("cuda.core")


class Exported:
    """Gives its array by DLPack and by nothing else, and says that it is on a GPU."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        self.asked: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        self.asked.append(stream)
        return self.array.__dlpack__(**options)


@pytest.mark.numba_cuda
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64", "uint16"])
def test_what_dlpack_alone_describes_is_adopted(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign, "gpu", lambda number: f"GPU {number}")
    whole = np.arange(60, dtype=dtype).reshape(6, 10)
    for array in (whole, whole[::2, 1:], whole.T, whole[0], whole[:0]):
        given = Exported(array)
        ours = foreign.adopted(given)
        assert isinstance(ours, CudaArray)
        assert (ours.shape, ours.dtype) == (array.shape, array.dtype)
        if array.size:
            # Where it lies is what the exporter said; that is all we may know of it here.
            assert ours.address == array.ctypes.data
            assert ours.strides == array.strides
        # Its work is waited for by the default stream.
        assert given.asked == [1]


class Refuses:
    """Has no DLPack for what it holds, as arrays of Arrow with missing values."""

    def __dlpack_device__(self) -> tuple[int, int]:
        raise TypeError("can only use DLPack on arrays with no nulls")


def test_arrays_of_the_host_are_left_as_they_are() -> None:
    refuses = Refuses()
    assert foreign.adopted(refuses) is refuses
    array = np.ones(3)
    assert foreign.adopted(array) is array
    assert foreign.adopted(None) is None
