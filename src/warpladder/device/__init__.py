"""The hardware: what is there, and how work is started on it.

A computation knows `base` (the `Device` protocol), takes one from `select`, and from the engine
room `staging` and `workspace` (ways to a device, memory on it), `crew`, `team` and `standby`
(threads of the CPU), `grids` and `kernels` (sizes of grids, device functions), `foreign` and
`libraries` (arrays that callers have on a GPU). What is behind these:

* What is there: `cuda`, `properties` and `capabilities`, `occupancy`, `simd`, `host_memory`,
  `environment`; `doctor` tells it.
* A GPU: `cuda_device`, with a file for each thing it does (`cuda_launcher`, `cuda_memory`,
  `cuda_streams`, ...); `driver_calls` and `cuda_bound` for launches that are made again.
* Numba, which compiles for both: `numba_target` and `compiler` for GPUs; `kernel_cache` and
  `one_compiler` keep what it compiled, `subroutines`, `native` and `specialised` have it compile
  less; `compile_errors` says what it refuses.
* Words that Python does not have: `instructions`, `wide_loads` and `shared_adds` for kernels;
  `llvm`, `arithmetic`, `bits`, `stretches` and `addresses` for loops on a CPU; `words`, `waiting`
  and `processors` for threads in such loops.
"""
