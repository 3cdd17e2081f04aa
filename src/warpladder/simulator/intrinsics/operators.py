"""Operators on scalars: what Numba's lowering computes, on NumPy values of the inferred types.

`operator_function` returns, for an operator and the types that Numba inferred for it, a function of
values that have been converted to those types already. Integer arithmetic wraps; division follows
Numba's `numpy` error model, as CUDA kernels do outside debug mode: by zero it gives inf, nan or 0.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from warpladder.device.numba_target import types
from warpladder.simulator.intrinsics.floats import complex_power, complex_quotient
from warpladder.simulator.machine.values import convert_scalar, scalar_dtype

__all__ = ["integer_power", "operator_function", "power", "without_quotient"]


def without_quotient(function: Any, a: Any, b: Any) -> Any:
    """Divide; the least integer by -1, whose quotient does not fit, gives 0, as Numba has it."""
    result = function(a, b)
    dtype = getattr(a, "dtype", None)
    if dtype is None or dtype.kind != "i" or not np.any(b == -1):
        return result
    return np.where((b == -1) & (a == np.iinfo(dtype).min), dtype.type(0), result)[()]


_BINARY: dict[Any, Callable[..., Any]] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.true_divide,
    operator.floordiv: lambda a, b: without_quotient(np.floor_divide, a, b),
    operator.mod: lambda a, b: without_quotient(np.remainder, a, b),
    operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor,
    operator.lshift: np.left_shift,
    operator.rshift: np.right_shift,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
}

#: Those that Python's own operators compute alike on values of one type, integers or floats.
_PLAIN = frozenset(
    {
        operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor,
        operator.lshift, operator.rshift, operator.eq, operator.ne, operator.lt, operator.le,
        operator.gt, operator.ge,
    }
)  # fmt: skip

_UNARY: dict[Any, Callable[..., Any]] = {
    operator.neg: np.negative,
    operator.invert: np.invert,
    operator.not_: np.logical_not,
    operator.abs: np.abs,
    abs: np.abs,
}

#: ``a += b`` on scalars is ``a = a + b``.
_IN_PLACE: dict[Any, Any] = {
    getattr(operator, f"i{name}"): getattr(operator, name + ("_" if name in ("and", "or") else ""))
    for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow",
        "and", "or", "xor", "lshift", "rshift",
    )
}  # fmt: skip


def operator_function(function: Any, signature: Any) -> Callable[..., Any] | None:
    """Return ``function`` on values of the signature's types, None where it is not known here."""
    function = _IN_PLACE.get(function, function)
    arguments = signature.args
    if any(isinstance(t, types.BaseTuple) for t in arguments):
        return _on_tuples(function)
    if function in (operator.is_, operator.is_not):
        return _identity(function, arguments)
    if any(scalar_dtype(t) is None for t in arguments):
        return None
    if function is operator.pow:
        return _power(signature)
    if function is operator.pos:
        return lambda value: value
    if len(arguments) == 1:
        if function is operator.neg and scalar_dtype(arguments[0]) == np.bool_:
            return lambda value: -value.astype(np.int64)
        return _UNARY.get(function)
    computed = _BINARY.get(function)
    result = scalar_dtype(signature.return_type)
    if function is operator.truediv and isinstance(signature.return_type, types.Complex):
        return complex_quotient
    dtypes = {dtype for kind in arguments if (dtype := scalar_dtype(kind)) is not None}
    kinds = {dtype.kind for dtype in dtypes}
    alike = result is not None and (dtypes == {result} or (len(dtypes) == 1 and result.kind == "b"))
    if alike and function in _PLAIN and kinds <= set("iuf"):
        plain: Callable[..., Any] = function
        return plain
    if computed is not None and result is not None and result.kind in "iu" and kinds <= set("iub"):
        return _on_integers(computed, result)
    return computed


def _on_integers(computed: Callable[..., Any], result: np.dtype[Any]) -> Callable[..., Any]:
    """Compute in the type of the result: NumPy would take int64 and uint64 for floats."""

    def run(a: Any, b: Any) -> Any:
        return computed(
            a if a.dtype == result else a.astype(result),
            b if b.dtype == result else b.astype(result),
        )

    return run


def _on_tuples(function: Any) -> Callable[..., Any] | None:
    if function is operator.add:
        return lambda a, b: (*a, *b)
    if function is operator.contains:
        return _contains
    if function is operator.eq:
        return _equal
    if function is operator.ne:
        return lambda a, b: ~_equal(a, b)
    if function not in (operator.lt, operator.le, operator.gt, operator.ge):
        return None

    def ordered(a: Any, b: Any) -> Any:
        if not isinstance(a, tuple):
            return function(a, b)
        # Where all else is equal the lengths decide; before that, the first parts that differ.
        result: Any = np.bool_(function(len(a), len(b)))
        for x, y in reversed(list(zip(a, b, strict=False))):
            result = np.where(_equal(x, y), result, ordered(x, y))[()]
        return result

    return ordered


def _equal(a: Any, b: Any) -> Any:
    if not isinstance(a, tuple):
        return a == b
    same: Any = np.bool_(len(a) == len(b))
    for x, y in zip(a, b, strict=False):
        same = same & _equal(x, y)
    return same


def _contains(items: tuple[Any, ...], value: Any) -> Any:
    found: Any = np.bool_(False)
    for item in items:
        found = found | (item == value)
    return found


def _identity(function: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    a, b = arguments
    wanted = function is operator.is_
    if isinstance(a, types.Optional) and isinstance(b, types.NoneType):
        return lambda value, _: value[0] != wanted
    if isinstance(b, types.Optional) and isinstance(a, types.NoneType):
        return lambda _, value: value[0] != wanted
    if isinstance(a, types.NoneType) or isinstance(b, types.NoneType):
        same = np.bool_(isinstance(a, types.NoneType) and isinstance(b, types.NoneType))
        answer = same if function is operator.is_ else ~same
        return lambda *_: answer
    return np.equal if function is operator.is_ else np.not_equal


def _power(signature: Any) -> Callable[..., Any] | None:
    """Numba multiplies repeatedly for integer exponents and calls ``pow`` for others."""
    exponent = signature.args[1]
    result = scalar_dtype(signature.return_type)
    if result is None:
        return None
    if result.kind == "c":
        return complex_power
    if not isinstance(types.unliteral(exponent), types.Integer):
        return lambda a, b: power(a.astype(result), b.astype(result))
    if isinstance(exponent, types.IntegerLiteral):
        fixed = np.int64(exponent.literal_value)
        return lambda a, _: integer_power(a, fixed, result)
    return lambda a, b: integer_power(a, b, result)


def power(a: Any, b: Any) -> Any:
    """C's ``pow``: NumPy takes the square root for one exponent of 0.5, which differs at -inf."""
    shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    exponents = np.array(np.broadcast_to(b, shape or (1,)))
    return np.power(a, exponents).reshape(shape)[()]


def integer_power(base: Any, exponent: Any, dtype: np.dtype[Any]) -> Any:
    """Return a power with an integer exponent, multiplied up as Numba does it."""
    base, exponent = np.broadcast_arrays(np.asarray(base).astype(dtype), exponent)
    negative = exponent < 0
    # The least integer has no positive counterpart: as an unsigned number it does.
    unsigned = exponent.astype(np.uint64)
    rest = np.where(negative, ~unsigned + np.uint64(1), unsigned)
    huge = rest > 0x10000
    left = np.where(huge, np.uint64(0), rest)
    product, square = np.ones(base.shape, dtype), base.copy()
    while np.any(left):
        product = np.where(left & np.uint64(1), product * square, product)
        left = left >> np.uint64(1)
        square = square * square
    if np.any(huge):
        far = power(base.astype(np.float64), exponent.astype(np.float64))
        product = np.where(huge, convert_scalar(far, dtype), product)
    negative = negative & ~huge
    if np.any(negative):
        if dtype.kind in "iu":
            inverted = np.where(np.abs(base) == 1, product, 0)
            # Numba's answer where 0 is raised to a negative power under the numpy error model.
            inverted = np.where(base == 0, np.iinfo(dtype).min, inverted)
        else:
            inverted = np.array(1, dtype) / product
        product = np.where(negative, inverted, product).astype(dtype)
    return product.astype(dtype, copy=False)[()]
