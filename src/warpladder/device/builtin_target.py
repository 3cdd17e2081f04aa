"""What kernels may say on numba-cuda, taught to the CUDA target that Numba itself ships.

Numba's own target stands still while numba-cuda goes on. Taught is what the rungs need, and what
the simulator can run: all of NumPy's ufuncs on numbers, and arrays of a chosen alignment. They are
typed only: nothing here compiles for a GPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.core.errors import RequireLiteralValue
from numba.core.typing import npydecl
from numba.cuda import cudadecl

__all__ = ["NEWER_UFUNCS", "complete_builtin_target"]

#: NumPy's functions that numba-cuda compiles, and Numba's own target does not.
NEWER_UFUNCS: frozenset[Any] = frozenset({np.conjugate, np.divide, np.isnan})


def complete_builtin_target() -> None:
    """Teach Numba's own CUDA target; once, before it types the first kernel."""
    known = {function for function, _ in cudadecl.registry.globals}
    for function, kind in npydecl.registry.globals:
        if isinstance(function, np.ufunc) and function not in known:
            cudadecl.registry.register_global(function, kind)
    cudadecl.Cuda_array_decl.generic = _aligned(cudadecl.Cuda_array_decl.generic)


def _aligned(plain: Any) -> Any:
    """Return how ``cuda.shared.array`` and ``cuda.local.array`` are typed, with an alignment."""

    def generic(self: Any) -> Any:
        of_shape_and_dtype = plain(self)

        def typer(shape: Any, dtype: Any, alignment: Any = None) -> Any:
            given = alignment not in {None, types.none}
            if given and not isinstance(alignment, types.IntegerLiteral):
                raise RequireLiteralValue("alignment must be a constant integer")
            # It is no part of an array's type.
            return of_shape_and_dtype(shape, dtype)

        return typer

    return generic
