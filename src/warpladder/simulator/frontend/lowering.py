"""What Numba types and compiles for no GPU, asked of the code generation of its CUDA target.

More has a type than there is code for. A kernel with the rest would run here and nowhere else.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core.errors import NumbaError

from warpladder.device.numba_target import (
    cuda_target,
    newer_ufuncs,
    types,
    ufunc_find_matching_loop,
)

__all__ = ["allocates", "has_code", "is_aligned", "ufunc_has_code"]


def has_code(function: Any, signature: Any) -> bool:
    """Whether there is code of a function or operator for the types of its signature."""
    try:
        cuda_target.target_context.get_function(function, signature)
    except NotImplementedError:
        return False
    return True


def ufunc_has_code(ufunc: np.ufunc, signature: Any) -> bool:
    """Whether there is code of one of NumPy's functions for the elements of these types."""
    if any(kind == types.float16 for kind in signature.args):
        # Numbers of it are refused, arrays of it are not.
        return False
    elements = [_element(kind) for kind in signature.args]
    if len(elements) == ufunc.nin:
        results = signature.return_type
        elements += list(results) if isinstance(results, types.BaseTuple) else [results]
    loop = ufunc_find_matching_loop(ufunc, tuple(elements))
    try:
        loops = cuda_target.target_context.get_ufunc_info(ufunc)
    except KeyError:
        return ufunc in newer_ufuncs
    return loop is not None and loop.ufunc_sig in loops


def _element(kind: Any) -> Any:
    kind = getattr(kind, "type", kind) if isinstance(kind, types.Optional) else kind
    return kind.dtype if isinstance(kind, types.Array) else kind


def is_aligned(record: Any, name: str) -> bool:
    """Whether a field of a record lies where a GPU can read it."""
    try:
        cuda_target.target_context.sentry_record_alignment(record, name)
    except NumbaError:
        return False
    return True


def allocates() -> bool:
    """Whether kernels allocate memory, which they do only where Numba is told that they may."""
    return bool(cuda_target.target_context.enable_nrt)
