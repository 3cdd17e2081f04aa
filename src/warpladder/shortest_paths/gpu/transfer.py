"""Matrices from the host to the device and back, filled up to whole tiles on the way.

What is added are vertices without edges. The dtype changes where the device computes in another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.device.staging import Lane, lane

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device

__all__ = ["download", "fetch", "send", "upload"]


def upload(device: Device, host: NDArray[Any], filled: Any, no_path: Any) -> None:
    """Copy a matrix to the device, where it becomes the upper left part of a larger one.

    Parameters
    ----------
    device
        Where to.
    host
        Shape (n, n).
    filled
        On the device, shape (m, m), m >= n; receives the matrix in its dtype. What is added are
        vertices without edges: 0 on the diagonal, ``no_path`` elsewhere.
    no_path
        What stands where there is no edge.
    """
    with lane(device) as way:
        send(way, host, filled, no_path)


def download(device: Device, filled: Any, host: NDArray[Any]) -> None:
    """Copy the upper left part of a matrix on the device into a smaller one on the host.

    Parameters
    ----------
    device
        Where from.
    filled
        Shape (m, m).
    host
        Shape (n, n), n <= m; receives it in its dtype.
    """
    with lane(device) as way:
        fetch(way, filled, host)


def send(way: Lane, host: NDArray[Any], filled: Any, no_path: Any, first_vertex: int = 0) -> None:
    """Copy some rows of a matrix into the upper left part of as many or more, wider rows.

    On return ``host`` has been read; the last bands may still be on the bus.

    Parameters
    ----------
    way
        To the device.
    host
        Rows of the matrix.
    filled
        On the device.
    no_path
        What is added, but for 0 on the diagonal of vertices that only fill up.
    first_vertex
        The column of the diagonal in row 0.
    """
    n = host.shape[1]

    def prepare(rows: NDArray[Any], first: int) -> None:
        known = max(min(first + len(rows), len(host)) - first, 0)
        np.copyto(rows[:known, :n], host[first : first + known], casting="unsafe")
        rows[:known, n:] = no_path
        rows[known:] = no_path
        added = np.arange(known, len(rows))
        rows[added, first_vertex + first + added] = 0

    way.send(filled, prepare)


def fetch(way: Lane, filled: Any, host: NDArray[Any]) -> None:
    """Copy the upper left part of rows on the device into those of ``host``, and wait for it.

    What the device computed in a wider dtype fits the narrower one again.
    """
    n = host.shape[1]

    def take(rows: NDArray[Any], first: int) -> None:
        np.copyto(host[first : first + len(rows)], rows[:, :n], casting="unsafe")

    way.fetch(filled, len(host), take)
