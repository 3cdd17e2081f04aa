"""The arguments of `generators`: checked, and weights drawn as they say."""

from __future__ import annotations

import math
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.device.host_memory import require_memory
from warpladder.errors import InputError, InputTypeError

__all__ = [
    "check_real",
    "constant_weights",
    "generator_for",
    "integer",
    "random_weights",
    "require_room",
]

# Both ends of each, what they are made of, and the copies that a `Graph` keeps.
_EDGE_BYTES = 48


def require_room(edges: int) -> None:
    """Refuse a graph of more edges than the memory that can still be taken has room for."""
    require_memory(edges * _EDGE_BYTES, f"graph: its {edges:,} edges")


def constant_weights(weight: float, count: int, directed: bool) -> NDArray[Any]:
    """Return the same weight for every edge, an integer where it is one."""
    check_real(weight, "weight")
    _check_sign(weight, "weight", directed)
    if isinstance(weight, int | np.integer):
        return np.full(count, weight, _integer_dtype(int(weight), int(weight), "weight"))
    if not math.isfinite(weight):
        raise InputError(f"weight={weight} must be finite; give a number that every edge can weigh")
    return np.full(count, weight)


def random_weights(
    weights: tuple[int, int] | None, count: int, directed: bool, generator: np.random.Generator
) -> NDArray[Any] | None:
    """Draw integers from the lowest to the highest weight; None where edges have no weights."""
    if weights is None:
        return None
    if not isinstance(weights, tuple | list) or len(weights) != 2:
        raise InputTypeError(
            "weights must be a pair (low, high) of integers, or None for no weights"
        )
    low, high = (_as_integer(bound, "weights") for bound in weights)
    if low > high:
        raise InputError(f"weights=({low}, {high}): the lowest comes first; give ({high}, {low})")
    _check_sign(low, "weights", directed)
    dtype = _integer_dtype(low, high, "weights")
    return generator.integers(low, high, size=count, dtype=dtype, endpoint=True)


def _check_sign(lowest: float, name: str, directed: bool) -> None:
    if lowest < 0 and not directed:
        raise InputError(
            f"{name}: {lowest} is below 0, and an undirected edge of such a weight is by itself "
            "a negative cycle; give 0 or more, or make the graph directed"
        )


def _integer_dtype(low: int, high: int, name: str) -> type[np.int32 | np.int64]:
    """Return the narrower dtype that holds both, as reading a graph from a file does."""
    for dtype in (np.int32, np.int64):
        limits = np.iinfo(dtype)
        if limits.min <= low and high <= limits.max:
            return dtype
    raise InputError(f"{name}: from {low} to {high} does not fit int64; stay within 64 bits")


def generator_for(seed: int | np.random.Generator) -> np.random.Generator:
    """Return what to draw from."""
    if isinstance(seed, np.random.Generator):
        return seed
    number = _as_integer(seed, "seed")
    if number < 0:
        raise InputError(f"seed={number} must be 0 or more")
    return np.random.default_rng(number)


def integer(value: Any, name: str, *, least: int, most: int, limit: str | None = None) -> int:
    """Check an argument; `limit` says in words what the upper bound is."""
    number = _as_integer(value, name)
    if number < least:
        raise InputError(f"{name}={number} is too small; it must be at least {least}")
    if number > most:
        bound = f"{most}" if limit is None else f"{most}, {limit}"
        raise InputError(f"{name}={number} is too large; it can be at most {bound}")
    return number


def check_real(value: Any, name: str) -> None:
    """Refuse what is no real number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InputTypeError(f"{name} must be a number, not {type(value).__name__}")


def _as_integer(value: Any, name: str) -> int:
    if isinstance(value, bool):
        raise InputTypeError(f"{name} must be an integer, not bool")
    try:
        return index(value)
    except TypeError:
        raise InputTypeError(f"{name} must be an integer, not {type(value).__name__}") from None
