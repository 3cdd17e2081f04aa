"""A pandas DataFrame as a matrix of weights: its labels name the vertices."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import Any

from warpladder.errors import InputError

__all__ = ["frame_labels", "is_frame"]


def is_frame(given: Any) -> bool:
    """Return whether something is a DataFrame; does not import pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(given, pandas.DataFrame)


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
