"""Missing values, as in arrays of other libraries, of which NumPy makes NaNs without a word."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from warpladder.errors import InputTypeError

__all__ = ["is_missing", "misses_some", "refuse_missing"]


def refuse_missing(values: Any, name: str, remedy: str = "drop or fill them") -> None:
    """Refuse nulls and NA, of which NumPy would make NaNs, and floats of the integers beside.

    Parameters
    ----------
    values
        What a caller gave for an array, of any library.
    name
        What errors call it.
    remedy
        What they say there is to do.

    Raises
    ------
    InputTypeError
        Some are missing.
    """
    if misses_some(values):
        raise InputTypeError(f"{name}: some are missing (null or NA); {remedy}")


def is_missing(label: Hashable) -> bool:
    """Tell whether a label is None, or no value: NaN and NaT, which differ from themselves.

    Examples
    --------
    >>> [is_missing(label) for label in (None, float("nan"), 0, "")]
    [True, True, False, False]
    """
    try:
        return label is None or bool(label != label)  # noqa: PLR0124 - as said
    except TypeError:
        # pandas.NA does not tell.
        return True


def misses_some(values: Any) -> bool:
    """Tell whether an array of another library has nulls or NA.

    Examples
    --------
    >>> misses_some([1.0, float("nan")])
    False
    """
    library = type(values).__module__.partition(".")[0]
    if library == "pyarrow":
        return any(map(_misses_some_of_arrow, getattr(values, "columns", [values])))
    if library == "polars" and hasattr(values, "__array__"):
        return _misses_some_of_polars(values)
    if library == "pandas" and hasattr(values, "isna"):
        dtypes = values.dtypes if hasattr(values, "columns") else [values.dtype]
        # NumPy's own dtypes have no NA: their NaNs are NaNs.
        can_miss = any(hasattr(dtype, "na_value") for dtype in dtypes)
        return can_miss and bool(np.any(values.isna()))
    return False


def _misses_some_of_arrow(column: Any) -> bool:
    """Tell whether an array of Arrow has nulls, also where many elements share a value."""
    if getattr(column, "null_count", 0):
        return True
    if not hasattr(column, "null_count"):
        return False
    # It does not count those in a dictionary, or in what is stored by runs.
    from pyarrow import compute, types

    if types.is_dictionary(column.type):
        return bool(column.cast(column.type.value_type).null_count)
    return types.is_run_end_encoded(column.type) and bool(compute.run_end_decode(column).null_count)


def _misses_some_of_polars(values: Any) -> bool:
    """Tell whether a series or frame of Polars has nulls, also inside its elements."""
    if np.any(values.null_count()):
        return True
    # Arrays and records as elements are more dimensions to NumPy.
    kind = str(getattr(values, "dtype", ""))
    if kind.startswith("Array"):
        return _misses_some_of_polars(values.reshape((-1,)))
    return kind.startswith("Struct") and any(map(_misses_some_of_polars, values.struct.unnest()))
