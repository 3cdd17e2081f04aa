"""Numba's CUDA target: numba-cuda's where it can be imported, else the one that Numba ships.

Both are ``numba.cuda`` to a program, and kernels are the same for both. numba-cuda puts itself in
place of Numba's own when Python starts; it is the one that drives GPUs, and the extras ``cu12`` and
``cu13`` bring it. Typing a kernel, all that the simulator needs, Numba's own does as well: on
macOS, for which there is no numba-cuda, and beside a NumPy that numba-cuda does not know.

This is the only place that knows which of the two it is. Whatever of the package touches Numba's
internals takes them from here, and packages with kernels import it in their ``__init__``, before a
kernel's file says ``from numba import cuda``.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, NamedTuple

from numba import config

from warpladder.errors import DeviceError

__all__ = [
    "FRONT_END",
    "CUDACompiler",
    "CUDADispatcher",
    "CUDAFlags",
    "CUDAGeneralizedUFunc",
    "CUDAUFuncMechanism",
    "ConfigStack",
    "Dim3",
    "FrontEnd",
    "FunctionPass",
    "GridGroup",
    "NumbaNotImplementedError",
    "PassManager",
    "PostProcessor",
    "PreLowerStripPhis",
    "Purpose",
    "VariableLifetime",
    "as_dtype",
    "canonicalize_cfg",
    "cgutils",
    "compile_extra",
    "cuda_target",
    "fold_arguments",
    "intrinsic",
    "ir",
    "newer_ufuncs",
    "overload",
    "pysignature",
    "register_pass",
    "sigutils",
    "target_override",
    "typeof",
    "types",
    "typing",
    "ufunc_find_matching_loop",
]

#: Whether there are wheels of numba-cuda.
_FOR_THIS_SYSTEM = sys.platform in {"linux", "win32"}


class FrontEnd(NamedTuple):
    """Whose CUDA target this is.

    Attributes
    ----------
    package, version
        ``"numba-cuda"`` or ``"numba"``, and its version.
    why_not
        What numba-cuda "is" or "cannot", where it is not numba-cuda's; else empty.
    """

    package: str
    version: str
    why_not: str

    @property
    def why(self) -> str:
        """The reason, in words."""
        return f"numba-cuda {self.why_not or 'can be imported'}"

    def obstacle(self, extra: str = "cu13") -> str:
        """Return why numba-cuda is not in use and what brings it, or nothing where it is.

        Examples
        --------
        >>> FrontEnd("numba-cuda", "0.30.4", "").obstacle()
        ''
        >>> print(FrontEnd("numba", "0.68.1", "is not installed").obstacle())
        numba-cuda, which ...
        """
        if not self.why_not:
            return ""
        if not _FOR_THIS_SYSTEM:
            return "numba-cuda, which exists for Linux and Windows only"
        return f"numba-cuda, which {self.why_not}: pip install 'warpladder[{extra}]'"


def _choose() -> FrontEnd:
    """Import ``numba.cuda``, numba-cuda's if that is possible."""
    if config.ENABLE_CUDASIM:
        raise DeviceError(
            "NUMBA_ENABLE_CUDASIM is set, so Numba types and compiles no kernels; unset it: "
            "warpladder has a simulator of its own"
        )
    why_not = "is not installed"
    if find_spec("numba_cuda") is not None:
        why_not = _import_fault()
        if why_not:
            _set_numba_cuda_aside()
    try:
        from numba import cuda
    except ImportError as fault:
        raise DeviceError(
            f"kernels need numba-cuda, which {why_not}, or the CUDA target that Numba ships, which "
            f"cannot be imported: {fault}; pip install 'warpladder[cu13]'"
        ) from fault
    if cuda.implementation == "NVIDIA":
        return FrontEnd("numba-cuda", _version("numba-cuda"), "")
    # On the path without its .pth file read, numba-cuda does not take the place of Numba's own.
    return FrontEnd("numba", _version("numba"), why_not or "has not been set up by its .pth file")


def _import_fault() -> str:
    """Return why numba-cuda cannot be imported, or nothing."""
    try:
        # Its own warnings: that a program makes errors of them decides nothing.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from numba.cuda.descriptor import cuda_target

            # Most of it is imported only when something is to be typed, some of it then fails.
            cuda_target.typing_context.refresh()
    except Exception as fault:  # noqa: BLE001 - whatever it is, kernels do without numba-cuda
        reason = " ".join(str(fault).split()) or type(fault).__name__
        beside = f"{_version('numba-cuda')} beside NumPy {_version('numpy')}"
        return f"cannot be imported ({beside}: {reason})"
    return ""


def _set_numba_cuda_aside() -> None:
    """Let ``numba.cuda`` be Numba's own, after numba-cuda could not be imported in its place."""
    import _numba_cuda_redirector
    from numba.core.target_extension import dispatcher_registry, jit_registry, target_registry

    # The finder that numba-cuda puts before Python's own. In this state, which it takes itself
    # where it cannot find its folders, it leaves imports to the others.
    _numba_cuda_redirector.finder.initialized = False
    # Those of numba-cuda's modules that could be imported would be mixed with Numba's.
    for name in [name for name in sys.modules if name.startswith("numba.cuda.")]:
        del sys.modules[name]
    # It has entered itself as what compiles for CUDA, and a place can be taken once only.
    for registry in (dispatcher_registry, jit_registry):
        registry.pop(target_registry["cuda"], None)
    # The same module object with other contents: a program may hold it as `cuda` already.
    if package := sys.modules.get("numba.cuda"):
        for name in [name for name in vars(package) if not name.startswith("__")]:
            delattr(package, name)
        importlib.reload(package)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


#: Which of the two it is, and why; chosen when this module is first imported.
FRONT_END = _choose()

# What both have under the same names.
from numba.cuda.compiler import CUDACompiler
from numba.cuda.descriptor import cuda_target
from numba.cuda.dispatcher import CUDADispatcher
from numba.cuda.extending import intrinsic
from numba.cuda.vectorizers import CUDAGeneralizedUFunc, CUDAUFuncMechanism

if FRONT_END.package == "numba-cuda":
    try:
        from numba.cuda import cgutils, types, typing
        from numba.cuda.compiler import PreLowerStripPhis, compile_extra
        from numba.cuda.core import ir, sigutils
        from numba.cuda.core.compiler_machinery import FunctionPass, PassManager, register_pass
        from numba.cuda.core.errors import NumbaNotImplementedError
        from numba.cuda.core.postproc import PostProcessor, VariableLifetime
        from numba.cuda.core.targetconfig import ConfigStack
        from numba.cuda.core.transforms import canonicalize_cfg
        from numba.cuda.extending import overload
        from numba.cuda.flags import CUDAFlags
        from numba.cuda.np.numpy_support import as_dtype, ufunc_find_matching_loop
        from numba.cuda.types.ext_types import Dim3, GridGroup
        from numba.cuda.typing.templates import fold_arguments
        from numba.cuda.typing.typeof import Purpose, typeof
        from numba.cuda.utils import numba_target_override as target_override
        from numba.cuda.utils import pysignature
    except ImportError as fault:
        # Nothing is set aside: it may well drive the GPU of a program of which this is a part.
        raise DeviceError(
            f"numba-cuda {FRONT_END.version} is built otherwise than this package expects "
            f"({fault}): pip install 'warpladder[cu13]'"
        ) from fault

    #: Of NumPy's functions, those whose code Numba's own target lacks and numba-cuda has.
    newer_ufuncs: frozenset[Any] = frozenset()
else:
    from numba.core import cgutils, ir, sigutils, types, typing
    from numba.core import target_extension as _target_extension
    from numba.core.compiler import compile_extra
    from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
    from numba.core.errors import NumbaNotImplementedError
    from numba.core.postproc import PostProcessor, VariableLifetime
    from numba.core.targetconfig import ConfigStack
    from numba.core.transforms import canonicalize_cfg
    from numba.core.typed_passes import PreLowerStripPhis
    from numba.core.typing.templates import fold_arguments
    from numba.core.typing.typeof import Purpose, typeof
    from numba.core.utils import pysignature
    from numba.cuda.compiler import CUDAFlags
    from numba.cuda.types import Dim3, GridGroup
    from numba.extending import overload as _overload
    from numba.np.numpy_support import as_dtype, ufunc_find_matching_loop

    from warpladder.device.builtin_target import NEWER_UFUNCS, complete_builtin_target

    newer_ufuncs = NEWER_UFUNCS
    overload = partial(_overload, target="cuda")
    target_override = partial(_target_extension.target_override, "cuda")
    complete_builtin_target()
