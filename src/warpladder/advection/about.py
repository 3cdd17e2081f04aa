"""What a run is, as JSON: enough to go on from a snapshot with the same bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.advection.boundaries import Boundary, Side
from warpladder.advection.course import Course

if TYPE_CHECKING:
    from warpladder.advection.setup import Setup

__all__ = ["FORMAT", "as_document", "boundary_of", "course_of", "scheme_of"]

FORMAT = 1
"""Of the document: another one means something else."""

_SIDES = ("copy", "value", "function", "periodic")


def as_document(setup: Setup) -> dict[str, Any]:
    """Return a document of a setup; of functions, own weights by their values, inflows by name."""
    scheme, boundary, course = setup.scheme, setup.boundary, setup.course
    document: dict[str, Any] = {
        "format": FORMAT,
        "method": setup.method,
        "scheme": scheme.name,
        # JSON has all digits of a float64.
        "courant": course.courant.tolist(),
        "velocity": course.velocity.tolist(),
        "dx": course.dx,
        "dt": course.dt,
        "boundary": {
            "name": boundary.name,
            "follows_velocity": boundary.follows_velocity,
            "left": _side(boundary.left),
            "right": _side(boundary.right),
        },
    }
    if scheme.limit is None and scheme.weights is not None:
        weights = (np.broadcast_to(w, setup.systems) for w in scheme.weights(course.courant))
        document["weights"] = {
            str(offset): column.tolist()
            for offset, column in zip(scheme.offsets, weights, strict=True)
        }
    return document


def scheme_of(document: dict[str, Any]) -> Any:
    """Return the scheme of a document, as `warpladder.advect` takes it."""
    if "weights" in document:
        return {int(offset): column for offset, column in document["weights"].items()}
    return document["scheme"]


def course_of(document: dict[str, Any], systems: int) -> Course:
    """Return the course of a document.

    Raises
    ------
    KeyError, TypeError, ValueError
        The document is not one of `as_document`, of so many systems.
    """
    courant, velocity = (
        np.array(document[name], np.float64).reshape(systems) for name in ("courant", "velocity")
    )
    dx, dt = float(document["dx"]), float(document["dt"])
    if not (min(dx, dt) > 0 and np.isfinite([dx, dt, *courant, *velocity]).all()):
        raise ValueError(f"dx={dx}, dt={dt} are of no run")
    return Course(courant, velocity, dx, dt)


def boundary_of(document: dict[str, Any], systems: int) -> Boundary:
    """Return the boundary of a document; functions of time, which are not kept, are None in it.

    Raises
    ------
    KeyError, TypeError, ValueError
        The document is not one of `as_document`, of so many systems.
    """
    known = document["boundary"]
    left, right = (_as_side(known[name], systems) for name in ("left", "right"))
    if (left.kind == "periodic") != (right.kind == "periodic"):
        raise ValueError("one end alone is periodic")
    return Boundary(left, right, bool(known["follows_velocity"]), str(known["name"]))


def _side(side: Side) -> dict[str, Any]:
    return {"kind": side.kind, **({"value": side.value.tolist()} if side.kind == "value" else {})}


def _as_side(known: dict[str, Any], systems: int) -> Side:
    kind = known["kind"]
    if kind not in _SIDES:
        raise ValueError(f"no side is {kind}")
    is_value = kind == "value"
    return Side(kind, np.array(known["value"], np.float64).reshape(systems) if is_value else None)
