"""Four classic computations at the limit of the hardware, and the ladder of steps that leads there.

>>> import warpladder as wl
>>> wl.shortest_paths([[0, 3, 9], [9, 0, 4], [1, 9, 0]]).dist_matrix
array([[0, 3, 7],
       [5, 0, 4],
       [1, 4, 0]])
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from warpladder.version import __version__

if TYPE_CHECKING:
    from warpladder.advection.api import advect
    from warpladder.advection.result import Advection
    from warpladder.device.doctor import doctor
    from warpladder.errors import (
        DeviceError,
        DistanceOverflowError,
        FileFormatError,
        InputError,
        InputTypeError,
        KernelFaultError,
        LaunchError,
        MissingExtraError,
        NegativeCycleError,
        TooLargeError,
        UnknownVertexError,
        UnsupportedKernelError,
        WarpladderError,
    )
    from warpladder.formats.set_files import read_sets
    from warpladder.formats.sets import Sets
    from warpladder.formats.values import open_values
    from warpladder.overlap_join.api import overlap_join
    from warpladder.overlap_join.result import OverlapCounts, Overlaps
    from warpladder.reduction.api import reduce
    from warpladder.reduction.custom import AssociativeOp
    from warpladder.shortest_paths.api import shortest_paths
    from warpladder.shortest_paths.batch_result import ShortestPathsBatch
    from warpladder.shortest_paths.graph import Graph
    from warpladder.shortest_paths.intake import read_graph
    from warpladder.shortest_paths.result import ShortestPaths

__all__ = [
    "Advection",
    "AssociativeOp",
    "DeviceError",
    "DistanceOverflowError",
    "FileFormatError",
    "Graph",
    "InputError",
    "InputTypeError",
    "KernelFaultError",
    "LaunchError",
    "MissingExtraError",
    "NegativeCycleError",
    "OverlapCounts",
    "Overlaps",
    "Sets",
    "ShortestPaths",
    "ShortestPathsBatch",
    "TooLargeError",
    "UnknownVertexError",
    "UnsupportedKernelError",
    "WarpladderError",
    "__version__",
    "advect",
    "doctor",
    "open_values",
    "overlap_join",
    "read_graph",
    "read_sets",
    "reduce",
    "shortest_paths",
]

_HOME = {
    "Advection": "advection.result",
    "AssociativeOp": "reduction.custom",
    "DeviceError": "errors",
    "DistanceOverflowError": "errors",
    "FileFormatError": "errors",
    "Graph": "shortest_paths.graph",
    "InputError": "errors",
    "InputTypeError": "errors",
    "KernelFaultError": "errors",
    "LaunchError": "errors",
    "MissingExtraError": "errors",
    "NegativeCycleError": "errors",
    "OverlapCounts": "overlap_join.result",
    "Overlaps": "overlap_join.result",
    "Sets": "formats.sets",
    "ShortestPaths": "shortest_paths.result",
    "ShortestPathsBatch": "shortest_paths.batch_result",
    "TooLargeError": "errors",
    "UnknownVertexError": "errors",
    "UnsupportedKernelError": "errors",
    "WarpladderError": "errors",
    "advect": "advection.api",
    "doctor": "device.doctor",
    "open_values": "formats.values",
    "overlap_join": "overlap_join.api",
    "read_graph": "shortest_paths.intake",
    "read_sets": "formats.set_files",
    "reduce": "reduction.api",
    "shortest_paths": "shortest_paths.api",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: importing the package costs next to nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name != "doctor":
        from warpladder.device.environment import asked_threads

        # Numba's import would refuse it with a traceback.
        asked_threads()
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    if _HOME[name].startswith(f"{name}."):
        # `import warpladder.shortest_paths.graph as graph` looks for the subpackage by this name.
        value.__name__ = f"{__name__}.{name}"
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """The package itself, whose verbs stay verbs.

    Python binds a subpackage to its name in the parent when it is first imported; that would turn
    `warpladder.shortest_paths` from the function into the subpackage of the same name. The modules
    of the subpackage are imported as ever.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
