"""What emitted code has in common: where an array lies, vectors, functions of LLVM's own.

Where a compiler does not find the vectors in a loop, engines emit them through Numba's intrinsics.
Each of these is called while such a function is under construction.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from warpladder.device.simd import vector_unit

__all__ = [
    "LANE",
    "call_outside",
    "data_of",
    "element_bytes",
    "everywhere",
    "prefetch",
    "replaced",
    "transposed",
    "vector_at",
]

LANE = ir.IntType(32)
"""What LLVM counts the lanes of a vector with."""


def data_of(context: Any, builder: Any, signature: Any, args: Any, which: int) -> Any:
    """Return the address of the first element of the array that is one of the arguments."""
    return context.make_array(signature.args[which])(context, builder, args[which]).data


def vector_at(builder: Any, data: Any, index: Any, kind: ir.VectorType) -> Any:
    """Return the address of the vector that begins with an element of an array."""
    return builder.bitcast(builder.gep(data, [index]), kind.as_pointer())


def everywhere(builder: Any, value: Any, lanes: int) -> Any:
    """Return a vector of one value in every lane."""
    unknown = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    first = builder.insert_element(unknown, value, LANE(0))
    return builder.shuffle_vector(
        first, unknown, ir.Constant(ir.VectorType(LANE, lanes), [0] * lanes)
    )


def transposed(builder: Any, vectors: list[Any]) -> list[Any]:
    """Return the columns of a square of vectors: each round interleaves its two halves."""
    side, half = len(vectors), len(vectors) // 2
    kind = ir.VectorType(LANE, side)
    orders = [
        ir.Constant(kind, [low + k // 2 + side * (k % 2) for k in range(side)]) for low in (0, half)
    ]
    apart = 1
    while apart < side:
        pairs = zip(vectors[:half], vectors[half:], strict=True)
        vectors = [builder.shuffle_vector(*pair, order) for pair in pairs for order in orders]
        apart *= 2
    return vectors


def element_bytes(vector: ir.VectorType) -> int:
    """Return the size of a number of a vector."""
    widths = {"half": 2, "float": 4, "double": 8}
    name = str(vector.element)
    return widths[name] if name in widths else vector.element.width // 8


def replaced(builder: Any, condition: Any, new: Any, old: Any) -> Any:
    """Return lanes of ``new`` where a condition holds, of ``old`` elsewhere, to be stored over it.

    Where there is AVX2 and no AVX-512 LLVM makes a masked store of that, for which a core of an
    EPYC (Zen 3) waits: by one, Floyd-Warshall of 100 vertices in float32 took 0.88 ms so, and takes
    0.10; by two, of 2,048 with next hops 0.59 s, and 0.49. So an assembly without instructions
    comes in between.
    """
    chosen, unit = builder.select(condition, new, old), vector_unit()
    kind = chosen.type
    if unit.name != "AVX2" or kind.count * element_bytes(kind) not in {16, 32}:
        return chosen
    function = ir.FunctionType(kind, [kind])
    return builder.asm(function, "", f"={unit.asm_class},0", [chosen], side_effect=False)


def call_outside(builder: Any, name: str, result: ir.Type, *args: Any) -> Any:
    """Call a function of LLVM's own or of the system, declared once in a module."""
    kind = ir.FunctionType(result, [arg.type for arg in args])
    known = builder.module.globals.get(name)
    return builder.call(known or ir.Function(builder.module, kind, name), args)


def prefetch(builder: Any, address: Any, *, is_written: bool) -> None:
    """Start to fetch the memory around an address into every cache; it is not waited for."""
    where = builder.bitcast(address, ir.IntType(8).as_pointer())
    # For reading or writing; to be kept as near as can be; data.
    hints = LANE(int(is_written)), LANE(3), LANE(1)
    call_outside(builder, "llvm.prefetch.p0", ir.VoidType(), where, *hints)
