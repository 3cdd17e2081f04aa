"""What is compiled for AVX2 has no masked stores in its loops, for which AMD's cores wait."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from warpladder.device.simd import vector_unit

# LLVM makes one of a choice between something and what was there, which is stored there.
MASKED_STORE = re.compile(r"\bvp?maskmov\w+\s+%\w+, %\w+, [^%]*\(")

CODE = """
import numpy as np
from numba import njit
from warpladder.reduction.loops.blocks import element_type
from warpladder.reduction.loops.columns import column_kernel
from warpladder.reduction.loops.states import FoldSpec, new_states
from warpladder.shortest_paths.cpu_tiles.blocked import close_range

@njit
def close(dist, hops, carry):
    close_range((dist, hops), carry, 0, dist.shape[0], 32, np.inf, False)

dist, hops = np.ones((3, 3), "f4"), np.zeros((3, 3), "i4")
close(dist, hops, True)
for asm in close.inspect_asm().values():
    print(asm)
for folds, dtype in (({"high", "high_at"}, "float32"), ({"low", "low_at"}, "int32")):
    spec = FoldSpec(frozenset(folds), dtype, "float32" if dtype == "float32" else "int64")
    fold = column_kernel(spec)
    fold(np.ones(4, dtype), 1, 1, 1, 1, 0, new_states(spec, 1))
    for asm in fold.inspect_asm().values():
        print(asm)
"""


@pytest.mark.large
@pytest.mark.skipif(
    vector_unit().name not in {"AVX2", "AVX-512"}, reason="what runs AVX2's instructions is asked"
)
def test_what_is_compiled_for_avx2_makes_no_masked_stores(tmp_path):
    env = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path),
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": "+sse4.2,+avx,+avx2,+fma,+bmi,+bmi2",
    }
    told = subprocess.run(
        [sys.executable, "-c", CODE], env=env, check=True, capture_output=True, text=True
    ).stdout
    assert "%ymm" in told
    assert not MASKED_STORE.findall(told)
