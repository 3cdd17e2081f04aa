"""What the hardware could do at best: relaxations whose operands never leave the registers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from warpladder.device.environment import worker_count
from warpladder.device.simd import vector_unit
from warpladder.shortest_paths.cpu_tiles.tiles import TileShape, tile_shape

__all__ = ["relaxations_per_second"]

_SECONDS = 0.05


def relaxations_per_second(dtype: str) -> dict[str, float]:
    """Return the rate of ``c = min(c, a + b)`` on all cores at once, operands in registers.

    ``add`` is the rate with the addition as the language has it. For floating-point numbers it can
    also be a fused multiply-add with 1, which other pipes of the core may run; ``best`` is the
    better of the two, and the ceiling.
    """
    rates = {"add": _rate(dtype, fused=False)}
    if np.dtype(dtype).kind == "f" and _has_fma():
        rates["fused"] = _rate(dtype, fused=True)
    return {**rates, "best": max(rates.values())}


def _shape(dtype: str) -> TileShape:
    """Return a tile of which all operands fit the registers.

    Where the engine's tiles take operands from memory, they have more accumulators than that.
    """
    shape = tile_shape(dtype)
    if vector_unit().registers < 32:
        return shape
    rows, vectors = (3, 6) if np.dtype(dtype).kind == "f" else (6, 3)
    return shape._replace(rows=rows, vectors=vectors)


def _has_fma() -> bool:
    unit = vector_unit()
    return unit.fused_multiply_add and unit.asm_class is not None


_KERNELS: dict[tuple[str, bool], Any] = {}


def _rate(dtype: str, *, fused: bool) -> float:
    kernel = _KERNELS.get((dtype, fused))
    if kernel is None:
        kernel = _KERNELS[dtype, fused] = _make_kernel(fused=fused)
    cell = np.ones(1, dtype)
    shape = _shape(dtype)
    repeats = 1000
    kernel(cell, 1)
    while (seconds := _time(kernel, cell, repeats)) < _SECONDS / 4:
        repeats *= 2
    repeats = int(repeats * _SECONDS / seconds)
    workers = worker_count()
    cells = [np.ones(1, dtype) for _ in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        began = perf_counter()
        list(pool.map(lambda own: kernel(own, repeats), cells))
        seconds = perf_counter() - began
    return workers * repeats * shape.rows * shape.columns / seconds


def _time(kernel: Any, cell: np.ndarray[Any, Any], repeats: int) -> float:
    began = perf_counter()
    kernel(cell, repeats)
    return perf_counter() - began


def _make_kernel(*, fused: bool) -> Any:
    @intrinsic
    def relax_registers(typingctx: Any, cell: Any, repeats: Any) -> Any:  # noqa: ARG001 - Numba reads these names
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            _emit(context, builder, signature, args, fused=fused)
            return context.get_dummy_value()

        return types.void(cell, types.intp), codegen

    @njit(nogil=True)
    def kernel(cell: Any, repeats: Any) -> None:
        relax_registers(cell, repeats)

    return kernel


def _emit(context: Any, builder: Any, signature: Any, args: Any, *, fused: bool) -> None:
    """Emit a tile of accumulators and a loop in which only they and opaque operands take part."""
    dtype = signature.args[0].dtype
    is_float = isinstance(dtype, types.Float)
    shape = _shape(str(dtype))
    vector = ir.VectorType(context.get_value_type(dtype), shape.lanes)
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    undefined = ir.Constant(vector, ir.Undefined)
    lane = ir.IntType(32)
    first = builder.insert_element(undefined, builder.load(data), lane(0))
    mask = ir.Constant(ir.VectorType(lane, shape.lanes), [0] * shape.lanes)
    start = builder.shuffle_vector(first, undefined, mask)
    register = vector_unit().asm_class or "r"

    def opaque(value: Any) -> Any:
        """Hide a value from the optimiser, or it would take the additions out of the loop."""
        function = ir.FunctionType(vector, [vector])
        return builder.asm(function, "", f"={register},0", [value], side_effect=True)

    def add(a: Any, b: Any) -> Any:
        if not fused:
            return builder.fadd(a, b) if is_float else builder.add(a, b)
        name = f"llvm.fma.v{shape.lanes}f{dtype.bitwidth}"
        function = ir.FunctionType(vector, [vector] * 3)
        fma = cgutils.get_or_insert_function(builder.module, function, name)
        return builder.call(fma, [b, one, a])

    one = opaque(start)
    compare = builder.fcmp_ordered if is_float else builder.icmp_signed
    before = builder.block
    loop = builder.append_basic_block("loop")
    after = builder.append_basic_block("after")
    builder.branch(loop)
    builder.position_at_end(loop)
    index = builder.phi(ir.IntType(64))
    cells = [builder.phi(vector) for _ in range(shape.rows * shape.vectors)]
    right = [opaque(start) for _ in range(shape.vectors)]
    # As many different sums as accumulators, or the optimiser would add once for several of them.
    left = [opaque(start) for _ in range(shape.rows)]
    updated = []
    for position, cell in enumerate(cells):
        candidate = add(left[position // shape.vectors], right[position % shape.vectors])
        updated.append(builder.select(compare("<", candidate, cell), candidate, cell))
    following = builder.add(index, ir.IntType(64)(1))
    index.add_incoming(ir.IntType(64)(0), before)
    index.add_incoming(following, loop)
    for cell, value in zip(cells, updated, strict=True):
        cell.add_incoming(start, before)
        cell.add_incoming(value, loop)
    builder.cbranch(builder.icmp_signed("<", following, args[1]), loop, after)
    builder.position_at_end(after)
    total = updated[0]
    for value in updated[1:]:
        total = builder.select(compare("<", value, total), value, total)
    builder.store(builder.extract_element(total, lane(0)), data)
