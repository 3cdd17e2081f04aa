"""Tables as matrices of weights; the labels of a pandas DataFrame name the vertices."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputError

__all__ = ["frame_labels", "is_frame", "is_table", "objects_of"]


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
        Rows and columns are not the same vertices in the same order.
    """
    rows, columns = frame.index.tolist(), frame.columns.tolist()
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
