"""Tables as matrices of weights; the labels of a pandas DataFrame name the vertices."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError, InputTypeError
from warpladder.formats.missing import is_missing, refuse_missing

__all__ = ["frame_labels", "is_frame", "is_table", "objects_of", "refuse_gaps", "without_na"]

_FILL = (
    "where that is no edge, fill it with inf or, to keep integers, with one that is no weight and "
    "that no_edge= names"
)
_AS_IN = ", as in shortest_paths(frame.fillna(-1), no_edge=-1)"


def is_frame(given: Any) -> bool:
    """Return whether something is a DataFrame; does not import pandas."""
    return _is_from("pandas", "DataFrame", given)


def is_table(given: Any) -> bool:
    """Return whether something has columns of several types, of which NumPy makes one."""
    return is_frame(given) or _is_from("polars", "DataFrame", given) or _is_arrow(given)


def objects_of(table: Any) -> NDArray[np.object_]:
    """Return the entries of a table, or of nested lists, as they are."""
    if is_frame(table):
        entries: NDArray[np.object_] = table.to_numpy(object)
        return entries
    if _is_arrow(table):
        return np.array([column.to_pylist() for column in table.columns], object).T
    return np.array(table.rows() if is_table(table) else table, object)


def without_na(given: Any) -> Any:
    """Return a DataFrame whose dtypes could hold NA, and that has none, as an array of numbers.

    NumPy makes objects of such a table. All else is returned as it is.

    Examples
    --------
    >>> without_na([[0, 4], [1, 0]])
    [[0, 4], [1, 0]]
    """
    if not is_frame(given):
        return given
    dtypes = given.dtypes.tolist()
    plain = [getattr(dtype, "numpy_dtype", dtype) for dtype in dtypes]
    if plain == dtypes:
        return given
    if not all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in plain):
        return given
    # One by one, and told which: even alone some would be objects.
    columns = [given.iloc[:, at].to_numpy(dtype) for at, dtype in enumerate(plain)]
    return np.stack(columns, axis=1)


def refuse_gaps(matrix: Any) -> None:
    """Refuse what is masked or missing, in rows too, of which NumPy would make weights or NaNs."""
    remedy = _FILL + (_AS_IN if is_frame(matrix) else "")
    rows = matrix if isinstance(matrix, list | tuple) else [matrix]
    for row in rows:
        if isinstance(row, np.ma.MaskedArray):
            raise InputTypeError(
                "graph: masked arrays are not taken; fill them first, as in "
                "matrix.astype(float).filled(np.inf)"
            )
        refuse_missing(row, "graph", remedy)


def _is_arrow(given: Any) -> bool:
    return _is_from("pyarrow", "Table", given) or _is_from("pyarrow", "RecordBatch", given)


def _is_from(module: str, name: str, given: Any) -> bool:
    """Return whether something is of a class of a library that may not be there."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(given, getattr(loaded, name))


def frame_labels(frame: Any) -> list[Hashable] | None:
    """Return the labels of a square DataFrame; None where it has none but 0, 1, 2, ...

    Raises
    ------
    InputError
        Rows and columns are not the same vertices in the same order, or one has no name.
    """
    rows, columns = frame.index.tolist(), frame.columns.tolist()
    for axis, names in (("row", rows), ("column", columns)):
        at = next((at for at, name in enumerate(names) if is_missing(name)), None)
        if at is not None:
            raise InputError(
                f"graph: {axis} {at} of the DataFrame is named {names[at]!r}, which is no name; "
                "give the vertex one, or give frame.to_numpy() where the names do not matter"
            )
    if len(rows) == len(columns) and rows != columns:
        at = next(
            i for i, (row, column) in enumerate(zip(rows, columns, strict=True)) if row != column
        )
        remedy = "name both alike, or give frame.to_numpy() where the names do not matter"
        if len(set(rows)) == len(rows) and set(rows) == set(columns):
            remedy = "bring both into one order, as in frame.loc[frame.columns]"
        raise InputError(
            f"graph: row {at} of the DataFrame is {rows[at]!r} and column {at} is {columns[at]!r}; "
            f"{remedy}"
        )
    return None if rows == list(range(len(rows))) else rows
