"""Snapshots with their axes, for xarray (extra ``fields``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.advection.setup import Setup, cells_at, times_of
from warpladder.errors import MissingExtraError

__all__ = ["as_dataset"]


def as_dataset(setup: Setup, steps: NDArray[np.int64], snapshots: NDArray[Any]) -> Any:
    """Return a ``xarray.Dataset``: ``phi`` over time, system where there is such an axis, and x.

    Raises
    ------
    MissingExtraError
        xarray is not installed.
    """
    try:
        import xarray
    except ImportError as fault:
        raise MissingExtraError("to_xarray", "xarray", "fields") from fault
    course = setup.course
    systems = () if setup.is_single else ("system",)
    each = {"velocity": course.velocity, "courant": course.courant}
    return xarray.Dataset(
        {
            "phi": (("time", *systems, "x"), snapshots),
            **{
                name: (systems, values[0] if setup.is_single else values)
                for name, values in each.items()
            },
        },
        coords={"time": times_of(setup, steps), "x": cells_at(setup)},
        attrs={
            "scheme": setup.scheme.name,
            "boundary": setup.boundary.name,
            "dt": course.dt,
            "dx": course.dx,
        },
    )
