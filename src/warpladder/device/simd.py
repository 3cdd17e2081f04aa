"""The vector unit that Numba compiles for on this CPU.

Numba's code generator follows ``NUMBA_CPU_NAME`` and ``NUMBA_CPU_FEATURES`` where they are set and
the host otherwise; the tiles of the CPU engines are cut to the same answer, so both always agree.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache

__all__ = ["VectorUnit", "vector_unit"]


@dataclass(frozen=True, slots=True)
class VectorUnit:
    """Width and registers of the vector unit.

    Attributes
    ----------
    name
        Instruction set, for people: ``AVX-512``, ``AVX2``, ``NEON``, ``SSE2``, ``generic``.
    bytes
        Width of one vector register.
    registers
        Number of architectural vector registers.
    fused_multiply_add
        Whether a fused multiply-add exists in hardware.
    asm_class
        The inline-assembly constraint letter for a vector register, None where it is not known.
    """

    name: str
    bytes: int
    registers: int
    fused_multiply_add: bool
    asm_class: str | None


@cache
def vector_unit() -> VectorUnit:
    """Return the vector unit that Numba compiles for.

    Examples
    --------
    >>> vector_unit().bytes in (16, 32, 64)
    True
    """
    features = _features()
    if platform.machine().lower() in {"arm64", "aarch64"}:
        return VectorUnit("NEON", 16, 32, fused_multiply_add=True, asm_class="w")
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= features:
        return VectorUnit("AVX-512", 64, 32, fused_multiply_add=True, asm_class="v")
    if "avx2" in features:
        return VectorUnit("AVX2", 32, 16, fused_multiply_add="fma" in features, asm_class="x")
    if platform.machine().lower() in {"x86_64", "amd64"}:
        return VectorUnit("SSE2", 16, 16, fused_multiply_add=False, asm_class="x")
    return VectorUnit("generic", 16, 16, fused_multiply_add=False, asm_class=None)


def _features() -> frozenset[str]:
    import llvmlite.binding as llvm
    from numba import config

    if config.CPU_FEATURES is not None:
        return frozenset(f[1:] for f in config.CPU_FEATURES.split(",") if f.startswith("+"))
    if config.CPU_NAME == "generic":
        return frozenset()
    return frozenset(name for name, present in llvm.get_host_cpu_features().items() if present)
