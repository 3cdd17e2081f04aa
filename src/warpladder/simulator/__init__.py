"""The simulated GPU: runs, checks and counts Numba-CUDA kernels on a machine without one.

A user calls `kernel` (one kernel), `device` (in place of a GPU; `copies` says when its copies to
the host are done) or `substitute` (whole programs as they are, with `program_arrays` and
`program_options`). They join six wings, each of which imports those below it and none above:

* `translation`: from typed IR to a program; device functions are inlined;
* `intrinsics`: what the functions known to Numba do, one table of them;
* `execution`: a launch, its batches of blocks, their barriers, loads and stores;
* `checks`: what is counted, which accesses race, how a fault is reported;
* `machine`: programs and how one is built, threads, values, memory;
* `frontend`: Numba's typed IR of a kernel, from either CUDA target.

What holds throughout:

* A program is blocks of operations over numbered variables. An operation is a function of a
  `Frame`: the threads that are active there, and their variables.
* A value is uniform or varies between threads (`machine.values`); nothing else knows how many
  threads there are.
* Numba's types decide what is computed, when a kernel is translated; when it runs they are gone.
* A launch, and what it has, refers to nothing that refers to it: arrays in a ring of objects would
  stay until the garbage collector comes by.
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
