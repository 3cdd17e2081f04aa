"""The simulated GPU: runs, checks and counts Numba-CUDA kernels on a machine without one.

Read in this order: `kernel` (what a user calls), `frontend` (Numba's typed IR), `program` (what is
run), `translate` with `builder`, `expressions`, `elements` and `calls` (from the one to the other),
`intrinsics` (CUDA's functions, and their neighbours), `launch`, `batch` and `barriers` (how threads
run it), `values`, `memory`, `access` and `atomics` (what they do), `monitor`, `races`, `faults` and
`counters` (what is checked and counted), `device` and `substitute` (in place of a GPU).
"""

from warpladder.simulator.checks.counters import Counters
from warpladder.simulator.device import SimulatedDevice
from warpladder.simulator.kernel import LaunchReport, SimulatedKernel, simulate
from warpladder.simulator.substitute import simulated_cuda

__all__ = [
    "Counters",
    "LaunchReport",
    "SimulatedDevice",
    "SimulatedKernel",
    "simulate",
    "simulated_cuda",
]
