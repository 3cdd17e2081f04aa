"""What callers have for cells, brought into the form that engines take: (systems, cells)."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.device.foreign import adopted, is_on_gpu, numpy_dtype
from warpladder.device.host_memory import require_memory
from warpladder.errors import InputError, InputTypeError
from warpladder.formats.missing import misses_some, refuse_missing

__all__ = ["TAKEN", "Cells", "as_cells", "as_numbers", "as_rows", "as_whole"]

TAKEN = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The cells at the start.

    Attributes
    ----------
    values
        Shape (systems, cells), float32 or float64; of the host in C order, or as given on a GPU.
    given
        What the caller gave, whose kind results are of.
    is_single
        Whether that had one dimension.
    """

    values: Any
    given: Any
    is_single: bool

    @property
    def is_on_gpu(self) -> bool:
        """Whether they are on a GPU, or on a simulated one."""
        return is_on_gpu(self.given)


def as_cells(phi: Any) -> Cells:
    """Return the cells that a caller gives.

    Raises
    ------
    InputError
        There are none, or they have more than two dimensions.
    InputTypeError
        They are no real numbers.

    Examples
    --------
    >>> as_cells([1, 2, 4]).values
    array([[1., 2., 4.]])
    """
    phi = adopted(phi)
    if is_on_gpu(phi):
        return _there(phi)
    return Cells(as_rows(phi, "phi"), phi, np.ndim(phi) == 1)


def as_numbers(given: Any) -> NDArray[Any]:
    """Return one number or several as an array; an empty one of objects, where there is none.

    Where some are masked or missing, there is none, either.

    Examples
    --------
    >>> as_numbers([1, 2]), as_numbers([[1], [2, 3]])
    (array([1, 2]), array([], dtype=object))
    """
    try:
        has_gaps = _has_masked(given) or misses_some(given)
        return np.empty(0, object) if has_gaps else np.asarray(given)
    except (TypeError, ValueError, RuntimeError):
        return np.empty(0, object)


def _has_masked(given: Any) -> bool:
    """Tell whether numbers are masked, in lists too, where NumPy would take what is below."""
    if not isinstance(given, list | tuple):
        return bool(np.ma.is_masked(given))
    # By their types first: to ask each number takes ten times as long as to make the array.
    are_plain = all(issubclass(kind, Real | np.generic) for kind in set(map(type, given)))
    return not are_plain and any(map(_has_masked, given))


def as_whole(name: str, given: Any) -> int:
    """Return a whole number, Python's or NumPy's.

    Examples
    --------
    >>> as_whole("steps", np.array(3))
    3
    """
    try:
        if not isinstance(given, bool):
            return operator.index(given)
    except TypeError:
        pass
    raise InputTypeError(f"{name}={given!r} must be a whole number")


def as_rows(phi: Any, name: str) -> NDArray[Any]:
    """Return cells of the host as a matrix of floats in C order, without a copy where they are.

    Raises
    ------
    InputError, InputTypeError
        As for `as_cells`; or some are masked or missing, or the array is sparse.
    TooLargeError
        Memory does not hold the copy.
    """
    if type(phi).__module__.startswith("scipy.sparse"):
        raise InputTypeError(f"{name}: a sparse matrix is not taken; give its .toarray()")
    refuse_missing(phi, name)
    try:
        array = np.asarray(phi)
    except (TypeError, ValueError, RuntimeError) as fault:
        raise InputTypeError(f"{name}: cannot be read as an array of numbers: {fault}") from None
    if array.dtype == object and not array.ndim:
        raise InputTypeError(
            f"{name}: {type(phi).__name__} is no array of numbers; give an array or a list"
        )
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InputTypeError(
            f"{name}: dtype {array.dtype} is not taken; float32 and float64 are, and integers and "
            "float16, which become float64"
        )
    if _has_masked(phi):
        raise InputTypeError(f"{name}: some cells are masked; fill them")
    _check_shape(array.shape, name)
    kind = array.dtype.newbyteorder("=")
    kind = kind if kind in TAKEN else np.dtype(np.float64)
    if array.dtype != kind or not array.flags.c_contiguous:
        require_memory(array.size * kind.itemsize, f"{name}: copies of its cells as {kind.name}")
    return np.ascontiguousarray(array, kind).reshape(-1, array.shape[-1])


def _there(phi: Any) -> Cells:
    try:
        dtype = numpy_dtype(phi)
    except TypeError:
        dtype = np.dtype(object)
    if dtype not in TAKEN:
        raise InputTypeError(
            f"phi: dtype {phi.dtype} is not taken on a GPU; convert it to float32 or float64 there"
        )
    shape = tuple(phi.shape)
    _check_shape(shape, "phi")
    return Cells(phi, phi, len(shape) == 1)


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    if len(shape) not in {1, 2}:
        raise InputError(
            f"{name}: shape {shape}; cells have one dimension, (n,), or two where there are "
            "several systems of them, (b, n)"
        )
    if 0 in shape:
        raise InputError(f"{name}: shape {shape} has no cells; give at least one")
