"""Values of many threads at once.

A value that all active threads share is *uniform*: a NumPy scalar, or any other Python object. One
that differs is *varying*: a one-dimensional array with one element per active thread. Tuples and
array views are made of such values. Everything here works on any mixture of the two.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.device.numba_target import NumbaNotImplementedError, as_dtype, types
from warpladder.errors import UnsupportedKernelError

__all__ = [
    "UNSET",
    "cast",
    "constant",
    "convert_scalar",
    "expand",
    "instead_of_cast",
    "kept",
    "merge",
    "narrowed",
    "same",
    "scalar_dtype",
    "select_item",
    "take",
]


class _Unset:
    """What a variable holds before any thread has assigned it."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = _Unset()


def scalar_dtype(numba_type: Any) -> np.dtype[Any] | None:
    """Return the NumPy dtype in which values of a scalar Numba type are kept, or None."""
    plain = types.unliteral(numba_type)
    if isinstance(plain, types.EnumMember | types.IntEnumMember):
        plain = plain.dtype
    if isinstance(plain, types.Number | types.Boolean | types.NPDatetime | types.NPTimedelta):
        try:
            dtype: np.dtype[Any] = np.dtype(as_dtype(plain))
        except NumbaNotImplementedError:
            return None
        return dtype
    return None


def constant(value: Any, numba_type: Any) -> Any:
    """Return a Python constant as the uniform value that a variable of this type holds."""
    if isinstance(numba_type, types.Optional):
        if value is not None:
            return np.bool_(True), constant(value, numba_type.type)
        dtype = scalar_dtype(numba_type.type)
        if dtype is None:
            raise UnsupportedKernelError(f"choice between None and {numba_type.type}")
        return np.bool_(False), dtype.type(0)
    dtype = scalar_dtype(numba_type)
    if dtype is not None:
        return dtype.type(getattr(value, "value", value))
    if isinstance(numba_type, types.BaseTuple) and isinstance(value, tuple):
        return tuple(constant(v, t) for v, t in zip(value, numba_type.types, strict=True))
    return value


def take(value: Any, where: NDArray[Any]) -> Any:
    """Return ``value`` for the threads at positions ``where``."""
    if isinstance(value, np.ndarray):
        return value[where]
    if isinstance(value, tuple):
        return tuple(take(part, where) for part in value)
    if hasattr(value, "taken"):
        return value.taken(where)
    return value


def expand(value: Any, count: int, dtype: np.dtype[Any] | None = None) -> NDArray[Any]:
    """Return a scalar value as a varying one of ``count`` threads."""
    if isinstance(value, np.ndarray):
        return value
    return np.full(count, value, dtype=dtype)


def same(old: Any, new: Any) -> bool:
    """Tell whether two values are the same to the bit, where they can be compared."""
    if old is new:
        return True
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return old.dtype == new.dtype and old.tobytes() == new.tobytes()
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(old) == len(new) and all(map(same, old, new))
    if isinstance(old, np.generic) and isinstance(new, np.generic):
        return old.tobytes() == new.tobytes()
    return False


def kept(value: Any) -> Any:
    """Return a value that stays, where that of a variable may be changed in place."""
    return value.copy() if isinstance(value, np.ndarray) else value


def merge(old: Any, new: Any, where: NDArray[Any], count: int, owned: bool) -> Any:
    """Return ``old``, a value of ``count`` threads, with ``new`` for those at ``where``.

    An ``owned`` array is one that no other variable refers to: it is changed in place.
    """
    if new is UNSET:
        return old
    if isinstance(new, tuple):
        before = old if isinstance(old, tuple) else (UNSET,) * len(new)
        return tuple(merge(a, b, where, count, False) for a, b in zip(before, new, strict=True))
    if hasattr(new, "merged_over"):
        return new.merged_over(old, where, count)
    if not isinstance(new, np.ndarray):
        # Threads that read this variable later have passed an assignment: where there was none
        # before, or one of the same value, all of them see this one.
        if old is UNSET or old is new:
            return new
        if not isinstance(old, np.ndarray):
            if not isinstance(new, np.generic):
                return new
            if old is None or old.tobytes() == new.tobytes():
                return new
    if old is UNSET or old is None:
        result = np.empty(count, dtype=new.dtype)
    elif isinstance(old, np.ndarray):
        result = old if owned else old.copy()
    else:
        result = np.full(count, old)
    result[where] = new
    return result


def select_item(items: tuple[Any, ...], number: Any, count: int) -> Any:
    """Return ``items[number]`` of a tuple, each of ``count`` threads its own."""
    wrapped = np.where(number < 0, number + len(items), number)
    if wrapped.ndim == 0:
        return items[int(wrapped)]
    if all(isinstance(item, np.ndarray | np.generic) for item in items):
        table = np.stack([expand(item, count) for item in items])
        return table[wrapped, np.arange(count)]
    chosen: Any = UNSET
    for which in np.unique(wrapped):
        where = np.flatnonzero(wrapped == which)
        chosen = merge(chosen, take(items[int(which)], where), where, count, False)
    return chosen


def cast(source: Any, target: Any) -> Callable[[Any], Any] | None:
    """Return the conversion from one Numba type to another as a function, None where none is due.

    Raises
    ------
    UnsupportedKernelError
        No conversion between them is known here.
    """
    source, target = types.unliteral(source), types.unliteral(target)
    if source == target:
        return None
    if isinstance(source, types.Optional) or isinstance(target, types.Optional):
        return _optional_cast(source, target)
    if isinstance(source, types.Omitted):
        held = constant(source.value, target)
        return lambda _: held
    wanted, given = scalar_dtype(target), scalar_dtype(source)
    if wanted is not None and given is not None:
        return None if wanted == given else _scalar_cast(given, wanted)
    if isinstance(source, types.BaseTuple) and isinstance(target, types.BaseTuple):
        parts = [cast(s, t) for s, t in zip(source.types, target.types, strict=True)]
        if not any(parts):
            return None
        return lambda value: tuple(
            part(item) if part else item for part, item in zip(parts, value, strict=True)
        )
    if isinstance(source, types.Array) and isinstance(target, types.Array):
        return None
    if isinstance(source, types.NoneType) or isinstance(target, types.NoneType):
        return lambda _: None
    if type(source) is type(target):
        return None
    raise UnsupportedKernelError(f"conversion of {source} to {target}")


def instead_of_cast(source: Any, target: Any) -> str:
    """Return what to write in place of a conversion that is compiled for no GPU, else nothing."""
    source, target = types.unliteral(source), types.unliteral(target)
    if source == types.float16 and target == types.boolean:
        return "compare it, as in x != 0"
    if isinstance(source, types.Complex) and isinstance(target, types.Integer | types.Float):
        return "take its real part, x.real"
    if isinstance(source, types.IntEnumMember) and isinstance(
        target, types.Float | types.Complex | types.Boolean
    ):
        return "take its value, x.value"
    return ""


def _optional_cast(source: Any, target: Any) -> Callable[[Any], Any]:
    """Convert to or from a value that may be None: the pair of whether it is there, and it."""
    if isinstance(source, types.NoneType):
        nothing = constant(None, target)
        return lambda _: nothing
    if isinstance(source, types.Optional):
        inner = cast(source.type, target.type if isinstance(target, types.Optional) else target)
        convert = inner or (lambda value: value)
        if isinstance(target, types.Optional):
            return lambda pair: (pair[0], convert(pair[1]))
        return lambda pair: convert(pair[1])
    convert = cast(source, target.type) or (lambda value: value)
    return lambda value: (np.bool_(True), convert(value))


def _scalar_cast(given: np.dtype[Any], wanted: np.dtype[Any]) -> Callable[[Any], Any]:
    if wanted.kind == "b":
        return lambda value: value != given.type(0)
    if given.kind == "f" and wanted.kind in "iu":
        return lambda value: _saturate(value, wanted)
    if given.kind == "c" and wanted.kind != "c":
        return lambda value: value.real.astype(wanted)
    return lambda value: value.astype(wanted)


def convert_scalar(value: Any, wanted: np.dtype[Any]) -> Any:
    """Return a NumPy value as another scalar dtype, by CUDA's rules."""
    return value if value.dtype == wanted else _scalar_cast(value.dtype, wanted)(value)


def _saturate(value: Any, wanted: np.dtype[Any]) -> Any:
    """Convert to an integer as PTX ``cvt`` does: towards zero, clamped to the range.

    8-bit types are converted to 16 bits and then cut. NaN gives 0, but the highest bit alone where
    the source or the target has 64 bits. The source of the rules is the PTX manual's ``cvt``.
    For float16 Numba asks for the nearest integer, halves to even, of 8 bits, too.
    """
    wide = wanted if wanted.itemsize >= 2 else np.dtype(f"{wanted.kind}2")
    if value.dtype == np.float16:
        value, wide = np.rint(value), wanted
    limits = np.iinfo(wide)
    # Powers of two are exact in every float type; the largest integer itself may not be.
    above, below = value >= float(limits.max), value <= float(limits.min)
    nowhere = np.isnan(value)
    if not (np.any(above) or np.any(below) or np.any(nowhere)):
        return value.astype(wide).astype(wanted) if wide != wanted else value.astype(wanted)
    by_bits = value.dtype == np.float64 or wide.itemsize == 8
    nothing = limits.max // 2 + 1 if wide.kind == "u" else limits.min
    whole = np.where(above | below | nowhere, 0, value).astype(wide)
    whole = np.where(above, limits.max, np.where(below, limits.min, whole))
    whole = np.where(nowhere, nothing if by_bits else 0, whole)
    return whole.astype(wide).astype(wanted)[()]


#: Functions whose results have the dtype of their operands, where that is one, and those that
#: compare. NumPy's functions of single values take 18 times as long as Python's operators.
_CLOSED = frozenset(
    {
        operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor,
        operator.lshift, operator.rshift, np.minimum, np.maximum,
    }
)  # fmt: skip
_COMPARING = frozenset(
    {operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge}
)


def narrowed(function: Callable[..., Any], signature: Any) -> Callable[..., Any]:
    """Return ``function`` with its result in the dtype that Numba inferred."""
    dtype = scalar_dtype(signature.return_type)
    if dtype is None or (isinstance(function, np.ufunc) and dtype.kind == "b"):
        return function
    if function in _COMPARING:
        return function
    if function in _CLOSED and all(scalar_dtype(kind) == dtype for kind in signature.args):
        return function

    def run(*values: Any) -> Any:
        result = function(*values)
        return (
            result
            if getattr(result, "dtype", None) == dtype
            else convert_scalar(np.asarray(result), dtype)[()]
        )

    return run
