"""Functions of scalars, by the object that a kernel calls.

What the hardware computes exactly (square roots, bit counts, minimum, fused multiply-add) is exact
here. Transcendental functions are NumPy's or the C library's: correct to the last place or two, as
CUDA's are, but not bit for bit the same.
"""

from __future__ import annotations

import builtins
import cmath
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from warpladder.device.instructions import relax_pairs
from warpladder.device.numba_target import types, ufunc_find_matching_loop
from warpladder.simulator.intrinsics.floats import (
    cospi,
    elementwise,
    fast_power,
    fma,
    gamma,
    greatest,
    least,
    lgamma,
    logb,
    rounded,
    rounded_away,
    sinpi,
)
from warpladder.simulator.intrinsics.operators import (
    operator_function,
    power,
    without_quotient,
)
from warpladder.simulator.machine.values import convert_scalar, scalar_dtype

__all__ = ["fast_function", "scalar_function"]

Function = Callable[..., Any]


def _bits(value: Any) -> tuple[Any, int]:
    width = np.asarray(value).dtype.itemsize * 8
    return np.asarray(value).astype(f"u{width // 8}"), width


def _popc(value: Any) -> Any:
    return np.bitwise_count(_bits(value)[0])


def _brev(value: Any) -> Any:
    bits, width = _bits(value)
    swapped = np.zeros_like(bits)
    for k in range(width):
        swapped |= ((bits >> bits.dtype.type(k)) & bits.dtype.type(1)) << bits.dtype.type(
            width - 1 - k
        )
    return swapped[()]


def _clz(value: Any) -> Any:
    bits, width = _bits(value)
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < width:
            bits = bits | (bits >> bits.dtype.type(shift))
    return width - np.bitwise_count(bits).astype(np.int64)


def _ffs(value: Any) -> Any:
    bits, _ = _bits(value)
    lowest = bits & (~bits + bits.dtype.type(1))
    return np.where(bits == 0, 0, np.bitwise_count(lowest - bits.dtype.type(1)) + 1)


def _selp(test: Any, a: Any, b: Any) -> Any:
    return np.where(test, a, b)[()]


def _relax_pairs(best: Any, a: Any, b: Any) -> Any:
    """Return ``min(best, a + b)`` of both halves of each word."""
    best, a, b = (np.asarray(word)[..., None].view(np.int16) for word in (best, a, b))
    return np.minimum(best, a + b).view(np.int32)[..., 0][()]


def _high(a: Any, b: Any, width: int) -> Any:
    """Return the upper half of a product twice as wide."""
    product = np.frompyfunc(lambda x, y: (int(x) * int(y)) >> width, 2, 1)(a, b)
    return np.asarray(product).astype(a.dtype)[()]


def _unsigned(function: Function) -> Function:
    """Return a function of unsigned numbers as one of the signed ones that libdevice is given."""

    def run(*values: Any) -> Any:
        bits = [value.astype(f"u{value.dtype.itemsize}") for value in values]
        return function(*bits).astype(values[0].dtype)

    return run


def _sum_of_distances(a: Any, b: Any, c: Any) -> Any:
    return np.where(a > b, a - b, b - a)[()] + c


def _divmod(a: Any, b: Any) -> Any:
    return without_quotient(np.floor_divide, a, b), without_quotient(np.remainder, a, b)


#: What NumPy calls the same, or nearly.
_COMPLEX = (
    "cos", "cosh", "exp", "isfinite", "isinf", "isnan", "log", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
_REAL = (
    *_COMPLEX, "ceil", "copysign", "exp2", "expm1", "floor", "fmod", "hypot", "log10", "log1p",
    "log2", "nextafter", "trunc",
)  # fmt: skip
_ARCS = {
    f"a{name}": getattr(np, f"arc{name}") for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")
}

_MATH: dict[Any, Function] = {
    **{getattr(math, name): getattr(np, name) for name in _REAL},
    **{getattr(cmath, name): getattr(np, name) for name in _COMPLEX},
    **{getattr(module, name): arc for module in (math, cmath) for name, arc in _ARCS.items()},
    # NumPy would take a base for the array in which to put the result.
    cmath.log: lambda z, *base: np.log(z) / np.log(*base) if base else np.log(z),
    math.atan2: np.arctan2, math.degrees: lambda x: x * x.dtype.type(180.0 / math.pi),
    math.erf: elementwise(math.erf), math.erfc: elementwise(math.erfc), math.fabs: np.abs,
    math.frexp: lambda x: tuple(np.frexp(x)), math.gamma: elementwise(gamma),
    math.ldexp: lambda x, n: np.ldexp(x, n.astype(np.int32)),
    math.lgamma: elementwise(lgamma), math.modf: lambda x: tuple(np.modf(x)),
    math.pow: power, math.remainder: elementwise(math.remainder),
    math.radians: lambda x: x * x.dtype.type(math.pi / 180.0), cmath.phase: np.angle,
    builtins.abs: np.abs, builtins.round: rounded, builtins.divmod: _divmod,
    builtins.bool: lambda x: x != 0, cuda.popc: _popc, cuda.brev: _brev,
    cuda.clz: _clz, cuda.ffs: _ffs, cuda.fma: fma, cuda.cbrt: np.cbrt, cuda.selp: _selp,
    operator.truth: lambda x: x != 0, relax_pairs: _relax_pairs,
}  # fmt: skip

#: numba.cuda.libdevice and cuda.fp16, by the name without its prefixes and type suffix.
_DEVICE: dict[str, Function] = {
    **{name: getattr(np, name) for name in _REAL}, **_ARCS,
    "abs": np.abs, "add": np.add, "atan2": np.arctan2, "brev": _brev, "brevll": _brev,
    "cbrt": np.cbrt, "clz": _clz, "clzll": _clz, "cospi": cospi,
    "div": np.true_divide, "eq": np.equal, "erf": elementwise(math.erf),
    "erfc": elementwise(math.erfc), "exp10": lambda x: np.power(x.dtype.type(10), x),
    "fabs": np.abs, "fdim": lambda a, b: np.where(a <= b, a.dtype.type(0), a - b)[()],
    "fdivide": np.true_divide, "ffs": _ffs, "ffsll": _ffs, "ge": np.greater_equal,
    "gt": np.greater, "fma": fma, "fmax": np.fmax, "fmin": np.fmin,
    "frexp": lambda x: tuple(np.frexp(x)), "lgamma": elementwise(lgamma),
    "le": np.less_equal, "lt": np.less,
    "logb": logb, "max": np.fmax,
    "min": np.fmin, "ne": np.not_equal, "mul": np.multiply, "mulhi": lambda a, b: _high(a, b, 32),
    "mul64hi": lambda a, b: _high(a, b, 64), "nearbyint": np.rint, "neg": np.negative,
    "popc": _popc, "popcll": _popc, "pow": power, "rcbrt": lambda x: 1 / np.cbrt(x),
    "rcp": np.reciprocal, "remainder": elementwise(math.remainder), "rint": np.rint,
    "round": rounded_away, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sad": _sum_of_distances, "saturate": lambda x: np.fmin(np.fmax(x, 0), 1),
    "sincos": lambda x: (np.sin(x), np.cos(x)),
    "sinpi": sinpi, "sub": np.subtract,
    "tgamma": elementwise(gamma),
}  # fmt: skip

#: Functions of libdevice that are not what is left of their names: of unsigned numbers, a fast
#: one, and an average, whose sum may have one bit more.
_LIBDEVICE: dict[str, Function] = {
    "fast_powf": fast_power,
    "hadd": lambda a, b: (a & b) + ((a ^ b) >> 1),
    "umax": _unsigned(np.maximum), "umin": _unsigned(np.minimum),
    "ullmax": _unsigned(np.maximum), "ullmin": _unsigned(np.minimum),
    "umulhi": _unsigned(_DEVICE["mulhi"]), "umul64hi": _unsigned(_DEVICE["mul64hi"]),
    "usad": _unsigned(_sum_of_distances),
}  # fmt: skip


def scalar_function(key: Any, signature: Any) -> Function | None:
    """Return what a function computes on values of the signature's types, None if not known."""
    if key in (builtins.min, builtins.max):
        return _extreme(key is builtins.min, signature)
    if key is builtins.pow:
        return operator_function(operator.pow, signature)
    if isinstance(key, np.ufunc):
        return _ufunc(key, signature)
    try:
        known = _MATH.get(key)
    except TypeError:
        return None
    if known is not None:
        return _floats_first(known, key, signature)
    if callable(key) and getattr(operator, getattr(key, "__name__", ""), None) is key:
        return operator_function(key, signature)
    module = getattr(key, "__module__", "") or ""
    if key in _libdevice():
        name = _libdevice()[key]
        return _LIBDEVICE.get(name) or _device_function(name)
    name = getattr(key, "__name__", "")
    if "fp16" in module or name.startswith("__h"):
        return _device_function(name)
    # The same functions of float16 in Numba's own target: stubs, and what a C header defines.
    if getattr(key, "__qualname__", "").startswith("fp16."):
        return _device_function(name)
    external = str(getattr(key, "name", ""))
    if external.startswith("__numba_wrapper_h"):
        return _device_function(external.removeprefix("__numba_wrapper_"))
    return None


def fast_function(key: Any, signature: Any) -> Function | None:
    """Return what fast math has in place of a function, None if it differs in last places only."""
    if key in (operator.pow, operator.ipow, math.pow):
        return fast_power if signature.args == (types.float32, types.float32) else None
    return None


def _ufunc(ufunc: np.ufunc, signature: Any) -> Function | None:
    """Return a NumPy function computed in the types that Numba takes: never float16."""
    if len(signature.args) != ufunc.nin or any(
        scalar_dtype(kind) is None for kind in signature.args
    ):
        return None
    loop = ufunc_find_matching_loop(ufunc, signature.args)
    if loop is None:
        return None
    dtypes, which = [np.dtype(dtype) for dtype in loop.numpy_inputs], loop.ufunc_sig

    def run(*values: Any) -> Any:
        given = [convert_scalar(v, dtype) for v, dtype in zip(values, dtypes, strict=True)]
        return ufunc(*given, signature=which)

    return run if which in ufunc.types else ufunc


def _floats_first(function: Function, key: Any, signature: Any) -> Function:
    """Let functions of floats take integers, as CUDA's do after conversion to the result's type."""
    dtype = scalar_dtype(signature.return_type)
    integers = [
        isinstance(types.unliteral(kind), types.Integer | types.Boolean) for kind in signature.args
    ]
    if dtype is None or dtype.kind != "f" or not any(integers) or key is math.ldexp:
        return function
    if getattr(math, getattr(key, "__name__", ""), None) is not key:
        return function
    return lambda *values: function(*[value.astype(dtype) for value in values])


def _extreme(smallest: bool, signature: Any) -> Function | None:
    """``min`` and ``max``: of two floats as PTX has it, of others as Python has it.

    PTX gives the number where the other is NaN, and takes -0.0 for less than 0.0. Python, and with
    it Numba, keeps the first one unless another is less: ``max(x, 0)`` of NaN is NaN.
    """
    dtype = scalar_dtype(signature.return_type)
    if dtype is None or dtype.kind == "c":
        return None
    if isinstance(signature.args[0], types.IterableType) and not isinstance(
        signature.args[0], types.BaseTuple
    ):
        # An array or a range, which Numba's own code goes through.
        return None
    kinds, apart, packed = signature.args, True, 0
    # Given a tuple; Numba's own target makes one of arguments, too.
    while len(kinds) == 1 and isinstance(kinds[0], types.BaseTuple):
        apart = isinstance(kinds[0], types.StarArgTuple | types.StarArgUniTuple)
        kinds, packed = kinds[0].types, packed + 1
    better = operator.lt if smallest else operator.gt
    by_ptx = (
        apart and len(kinds) == 2 and all(kind in (types.float32, types.float64) for kind in kinds)
    )

    def first_of(best: Any, value: Any) -> Any:
        return np.where(better(value, best), value, best)[()]

    pair: Function = first_of
    if by_ptx:
        pair = least if smallest else greatest
    elif dtype.kind in "iub":
        pair = np.minimum if smallest else np.maximum
    if not packed and len(kinds) == 2:
        return pair

    def run(*values: Any) -> Any:
        items = values
        for _ in range(packed):
            (items,) = items
        best, *others = [convert_scalar(item, dtype) for item in items]
        for value in others:
            best = pair(best, value)
        return best

    return run


_names: dict[Any, str] = {}


def _libdevice() -> dict[Any, str]:
    """Return the functions of ``numba.cuda.libdevice`` with their names."""
    if not _names:
        from numba.cuda import libdevice

        for name in dir(libdevice):
            value = getattr(libdevice, name)
            if callable(value) and not name.startswith("_"):
                _names[value] = name
    return _names


def _device_function(name: str) -> Function | None:
    # Rounded to nearest: what rounds otherwise (rd, ru, rz) is not computed by NumPy.
    plain = name.removeprefix("fast_").removeprefix("__").removesuffix("_rn")
    candidates = [plain]
    if plain.endswith("f"):
        candidates.append(plain[:-1])
    if plain[:1] in "dfhui":
        candidates.append(plain[1:])
    if plain.startswith(("ll", "ull")):
        candidates.append(plain.removeprefix("u").removeprefix("ll"))
    for candidate in candidates:
        if candidate in _DEVICE:
            return _DEVICE[candidate]
    return None
