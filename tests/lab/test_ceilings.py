"""What computations hand over to be measured: nothing but the operation itself is compiled."""

from __future__ import annotations

import re

import pytest

from warpladder.device.numba_target import types
from warpladder.lab.ceilings import _repeating
from warpladder.lab.compile import compile_kernel, missing_tool
from warpladder.lab.registry import ladders

pytestmark = pytest.mark.skipif(missing_tool() is not None, reason=f"{missing_tool()}")

TASKS = {rung.task.name: rung.task for ladder in ladders() for rung in ladder.rungs}
INNER = {task.ceiling: task for task in TASKS.values() if callable(task.ceiling)}


#: What an operation is compiled to, by what tasks count.
INSTRUCTIONS = {
    "relaxations": [
        ("int16", r"VIADDMNMX\.S16x2"),
        ("int32", r"VIADDMNMX\b|IADD3\b"),
        ("float32", "FMNMX"),
    ],
    "cell steps": [("float32", "FFMA")],
}
CASES = [
    pytest.param(
        ceiling,
        *instruction,
        # Relaxations of the other dtypes are made of the same text.
        marks=pytest.mark.large if instruction[0] in {"int16", "int32"} else (),
        id=f"{task.unit}-{instruction[0]}",
    )
    for ceiling, task in INNER.items()
    for instruction in INSTRUCTIONS[task.unit]
]


@pytest.mark.parametrize(("ceiling", "dtype", "instruction"), CASES)
def test_an_inner_operation_stays_in_registers(ceiling, dtype, instruction):
    inner = ceiling(dtype)
    kernel = _repeating(inner.step)
    arguments = types.Array(getattr(types, inner.dtype), 1, "C"), types.int64
    compiled = compile_kernel(kernel, arguments, (9, 0))
    assert (compiled.spill_bytes, compiled.stack_bytes) == (0, 0)
    # 32 cells, four times in the loop.
    assert len(re.findall(instruction, compiled.sass)) >= 128
