"""Stores of what is in memory already."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.machine.memory import Buffer, View

__all__ = ["bits_of", "writes_that_change"]


def writes_that_change(
    buffer: Buffer, view: View, at: NDArray[np.int64], value: Any
) -> NDArray[np.bool_]:
    """Return which writes change what is in memory, one truth for each."""
    dtype = view.dtype
    everything = np.ones(len(at), dtype=bool)
    if dtype.names is not None:
        return everything
    if view.unit != dtype.itemsize:
        return everything
    old = buffer.typed(dtype)[at]
    new = np.broadcast_to(np.asarray(value, dtype=dtype), at.shape)
    differs: NDArray[np.bool_] = bits_of(old) != bits_of(new)
    return differs


def bits_of(values: NDArray[Any]) -> NDArray[Any]:
    """Return values as integers, so that NaN equals NaN and 0.0 differs from -0.0."""
    if values.dtype.kind == "V":
        return values
    if values.dtype.kind == "c":
        parts = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize // 2}").reshape(-1, 2)
        joined: NDArray[Any] = parts[:, 0] ^ (parts[:, 1] * np.array(31, dtype=parts.dtype))
        return joined
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
