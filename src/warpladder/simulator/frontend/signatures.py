"""For which types a kernel is specialised: its own signatures, or those of its arguments."""

from __future__ import annotations

from typing import Any

from warpladder.device.numba_target import (
    CUDADispatcher,
    Purpose,
    as_dtype,
    cuda_target,
    sigutils,
    typeof,
    types,
)
from warpladder.errors import InputTypeError

__all__ = [
    "argument_type",
    "as_dispatcher",
    "is_signature",
    "normalize_signature",
    "own_signatures",
    "signature_types",
]


def as_dispatcher(function: Any) -> Any:
    """Return ``function`` as one of numba-cuda's dispatchers: itself, or a plain one wrapped."""
    return function if isinstance(function, CUDADispatcher) else CUDADispatcher(function, {})


def argument_type(value: Any) -> Any:
    """Return the Numba type of a kernel argument."""
    return typeof(value, Purpose.argument)


def normalize_signature(signature: Any) -> tuple[Any, ...]:
    """Return a kernel's argument types of a signature as text, a Numba signature or a tuple."""
    arguments, result = sigutils.normalize_signature(signature)
    if result is not None and result != types.void:
        raise InputTypeError(
            f"signature {signature}: a CUDA kernel must have void return type, not {result}"
        )
    return tuple(arguments)


def own_signatures(dispatcher: Any) -> tuple[tuple[Any, ...], ...]:
    """Return the signatures that a kernel was compiled for ahead; none for one that is lazy."""
    return () if dispatcher._can_compile else tuple(dispatcher.overloads)


def signature_types(
    dispatcher: Any, given: tuple[Any, ...], signatures: tuple[tuple[Any, ...], ...]
) -> tuple[Any, ...]:
    """Return the types for which a kernel is specialised when called with ``given`` ones.

    A kernel without signatures of its own takes the types as they are; one with signatures takes
    the closest that they convert to.

    Raises
    ------
    TypeError
        No signature fits, or several fit as well as each other.
    """
    if not signatures or given in signatures:
        return given
    ranked = sorted(
        (cost, position)
        for position, candidate in enumerate(signatures)
        if (cost := _conversion_cost(given, candidate)) is not None
    )
    if not ranked:
        raise InputTypeError(
            f"{dispatcher.py_func.__name__}: No matching definition for argument type(s) "
            f"{', '.join(map(str, given))}; there are "
            f"{'; '.join(', '.join(map(str, candidate)) for candidate in signatures)}"
        )
    best = [signatures[position] for cost, position in ranked if cost == ranked[0][0]]
    if len(best) > 1:
        raise InputTypeError(
            f"{dispatcher.py_func.__name__}: Ambiguous overloading for argument type(s) "
            f"{', '.join(map(str, given))}: {'; '.join(', '.join(map(str, one)) for one in best)}"
        )
    return best[0]


def _conversion_cost(given: tuple[Any, ...], declared: tuple[Any, ...]) -> list[int] | None:
    """Return how many conversions of each kind a call needs, worst first; None if impossible."""
    if len(given) != len(declared):
        return None
    context = cuda_target.typing_context
    kinds = []
    for one, wanted in zip(given, declared, strict=True):
        if isinstance(one, types.Array) and isinstance(wanted, types.Array):
            # A kernel compiled ahead is given an array's address and reads what it declared.
            sizes = as_dtype(one.dtype).itemsize, as_dtype(wanted.dtype).itemsize
            if one.ndim != wanted.ndim or sizes[0] != sizes[1]:
                return None
            # The launch tells, with the array at hand, whether it lies in the order declared.
            in_order = 0 if one.layout == wanted.layout else 3 if wanted.layout == "A" else 4
            kinds.append(in_order if one.dtype == wanted.dtype else 4)
            continue
        conversion = context.can_convert(one, wanted)
        if conversion is None:
            return None
        kinds.append(int(conversion))
    return [kinds.count(kind) for kind in (4, 3, 2, 1)]


def is_signature(value: Any) -> bool:
    """Whether ``value`` is a Numba signature, or a list of them."""
    return isinstance(value, list) or bool(sigutils.is_signature(value))
