"""What emitted code has in common: where an array lies, vectors, functions of LLVM's own.

Where a compiler does not find the vectors in a loop, engines emit them through Numba's intrinsics.
Each of these is called while such a function is under construction.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

__all__ = [
    "LANE",
    "call_outside",
    "data_of",
    "everywhere",
    "prefetch",
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
