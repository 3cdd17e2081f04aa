"""The simulated GPU: runs, checks and counts Numba-CUDA kernels on a machine without one.

Read in this order: `kernel` (what a user calls), `frontend` (Numba's typed IR), `translate` (from
IR to a program), `program`, `batch` (how threads run it), `access` and `atomics` (memory),
`monitor`, `races` and `counters` (what is checked and counted).
"""

from warpladder.simulator.counters import Counters
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
