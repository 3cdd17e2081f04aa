"""What GR has: the hardware, the language, a reduction, Floyd-Warshall and an advection."""

from __future__ import annotations

from warpladder.lab.coverage.item import Item

__all__ = ["ITEMS"]

_COPIES = "primer/vector-add-grid"

ITEMS = (
    Item(
        ("GR GPUs versus multicore CPUs",),
        "the gap between their rates, a figure",
        (),
        ("NVIDIA's picture has no figures. What this CPU and a GPU do: benchmarks/results."),
    ),
    Item(("GR CUDA hardware model",), "multiprocessors, cores, memories", ("warpladder doctor",)),
    Item(
        ("GR CUDA memory model",),
        "registers, shared and global memory",
        (
            "primer/registers",
            "primer/shared-flags",
        ),
    ),
    Item(("GR vector addition",), "one block, then a grid with a bounds guard"),
    Item(
        ("GR thread organization",),
        "grids and blocks in one and two dimensions, figures",
        (
            "primer/vector-add-grid",
            "primer/matrix-add-2d",
        ),
    ),
    Item(("GR matrix addition",), "a 2-D grid; 10 x 10 entries on blocks of 4 x 4, a figure"),
    Item(
        ("GR transparent scalability",),
        "blocks in any order, on any number of processors",
        (
            "explore order",
            "explore scaling",
        ),
    ),
    Item(("GR program structure",), "host code and kernels in turn", (_COPIES,)),
    Item(
        ("GR memory organization",),
        "which memory has what, a figure",
        (
            "primer/registers",
            "primer/shared-flags",
            "primer/constant-broadcast",
        ),
    ),
    Item(("GR registers and local memory",), "scalars in registers, arrays in local memory"),
    Item(
        ("GR shared memory", "GR variables in shared memory"),
        "what a block has in common",
        ("primer/shared-flags",),
    ),
    Item(("GR dynamic shared memory",), "its size given at the launch; two arrays in one"),
    Item(
        ("GR variables in global memory",),
        "allocated by the host, there for all launches",
        (_COPIES,),
    ),
    Item(
        ("GR constant memory",),
        "read-only and cached",
        (
            "primer/constant-broadcast",
            "primer/constant-per-thread",
        ),
    ),
    Item(
        ("GR texture memory",),
        "read-only and cached, by other ways",
        (),
        (
            "Numba's CUDA target has no textures: no texture object can be made, and no intrinsic "
            "fetches from one. What GR names it for, a cache for what is only read, loads go "
            "through anyway since compute capability 7.0, where it is one with L1."
        ),
    ),
    Item(
        ("GR thread scheduling",),
        "a block cut into warps, of one and of two dimensions",
        (
            "primer/matrix-add-2d",
            "primer/matrix-add-warp-rows",
        ),
    ),
    Item(("GR warp divergence",), "both ways of a branch one behind the other, a figure"),
    Item(
        ("GR global memory in modern GPUs",),
        "caches between a kernel and memory, a figure",
        ("primer/access-misaligned",),
    ),
    Item(
        (
            "GR coalesced access",
            "GR types of access (1)",
            "GR types of access (2)",
            "GR types of access (3)",
            "GR types of access (4)",
        ),
        "four patterns, by transactions of 128 and of 32 bytes, figures",
        ("docs/sources.md",),
    ),
    Item(("GR array of structures", "GR structure of arrays"), "two layouts of points, a figure"),
    Item(
        ("GR compute capability",),
        "limits of four chips, a table",
        (
            "warpladder doctor",
            "tests/device/test_properties.py::test_published_limits",
        ),
        "CUDA 13 compiles for none of them.",
    ),
    Item(("GR compiling CUDA code",), "intermediate code, machine code", ("warpladder sass",)),
    Item(
        ("GR reporting errors",),
        "errors of calls, and of kernels that ended long ago",
        (
            "src/warpladder/device/cuda_faults.py",
            "tests/device/test_cuda_device.py",
        ),
    ),
    Item(
        ("GR memory and transfers",),
        "allocate, set, copy, free; six slides of one program",
        (
            _COPIES,
            "src/warpladder/device/base.py",
        ),
    ),
    Item(
        ("GR host-device synchronisation",),
        "launches return before kernels end",
        ("primer/pipeline-three-way",),
    ),
    Item(("GR reduction",), "a tree in shared memory, the rest on the host, figures"),
    Item(("GR optimizations",), "first add while loading, unrolled loops, several per thread"),
    Item(("GR Floyd-Warshall",), "three loops, a kernel for a step, the program"),
    Item(
        ("GR linear advection",),
        "the equation, the Lax-Friedrichs scheme, a loop",
        (),
        ("One slide has a sign of the scheme reversed; its code, and ours, have it right."),
    ),
    Item(("GR FD_kernel1",), "a thread for each cell"),
    Item(("GR FD_kernel2",), "a tile with its halo in shared memory, figures"),
)
