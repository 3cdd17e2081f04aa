"""Small kernels on which the simulator is held against a GPU: results, and where counted, counters.

Each kernel that is counted has one load and one store of global memory, or of shared memory, at the
pattern in question, so that the requests, sectors and wavefronts of a launch belong to it. Outputs
are on the device before the launch, so every element can be compared, written or not.
"""

from __future__ import annotations

from micro_kernels.atomics import atomic_results, counted_atomic_cases
from micro_kernels.case import Case, launch_case
from micro_kernels.control_flow import control_flow_cases
from micro_kernels.floats import float_cases
from micro_kernels.global_memory import global_cases
from micro_kernels.integers import integer_cases
from micro_kernels.shared_memory import shared_cases

__all__ = ["Case", "arithmetic_cases", "control_cases", "launch_case", "memory_cases"]


def memory_cases() -> list[Case]:
    """Return the cases whose traffic is counted: global memory, shared memory, atomics."""
    return [*global_cases(), *shared_cases(), *counted_atomic_cases()]


def control_cases() -> list[Case]:
    """Return cases of branches, loops, reductions and exchange within a warp."""
    return [*control_flow_cases(), *atomic_results()]


def arithmetic_cases() -> list[Case]:
    """Return cases of integer and float arithmetic at the edges of the types."""
    floats = [case for dtype in ("float32", "float64") for case in float_cases(dtype)]
    return [*integer_cases(), *floats]
