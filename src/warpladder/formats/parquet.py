"""Parquet files: one row per edge, columns chosen as in an edge list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from warpladder.errors import FileFormatError, InputError, MissingExtraError
from warpladder.formats.arrays import check_weights
from warpladder.formats.columns import LABEL_COLUMN, choose_columns, names_edges
from warpladder.formats.edges import EdgeTable
from warpladder.formats.files import open_binary, told_as_broken
from warpladder.formats.labels import number_vertices
from warpladder.formats.text import listed

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from warpladder.formats.files import InputFile

__all__ = ["import_pyarrow", "read_parquet"]


def import_pyarrow(purpose: str) -> Any:
    """Return pyarrow with its Parquet module, or raise MissingExtraError."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(purpose, "pyarrow", "parquet") from error
    return pa


def read_parquet(
    file: InputFile,
    *,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
) -> EdgeTable:
    """Read edges as directed, the weights in the dtype the file stores."""
    pa = import_pyarrow("reading Parquet")
    path = file.path
    with open_binary(file) as opened, told_as_broken(path, "a whole Parquet file"):
        content = pa.parquet.ParquetFile(opened, page_checksum_verification=True)
        names = list(content.schema_arrow.names)
        if source is target is weight is None:
            _refuse_distances(path, names)
        chosen = choose_columns(path, names, len(names), source, target, weight)
        table = content.read(columns=[names[i] for i in chosen if i is not None])

    def column(index: int) -> Any:
        # Of several columns of one name all are read.
        same = [place for place, name in enumerate(table.column_names) if name == names[index]]
        values = table.column(same[names[:index].count(names[index])])
        if values.null_count:
            row = values.is_null().index(True).as_py()
            expected = f"a value in every row of column {names[index]!r}"
            raise FileFormatError(path, None, expected, f"none in row {row}, counted from 0")
        return values

    ends = [_ids(path, names[i], column(i)) for i in (chosen.source, chosen.target)]
    if any(end.dtype == object for end in ends):
        ends = [end.astype(str).astype(object) for end in ends]
    sources, targets, labels, n = number_vertices(*ends)
    weights = None
    if chosen.weight is not None:
        values = column(chosen.weight)
        weights = np.array(values.to_numpy())
        if weights.dtype == object:
            found = f"type {values.type} in column {names[chosen.weight]!r}"
            raise FileFormatError(path, None, "real numbers of up to 64 bits as weights", found)
        check_weights(path, weights)
    weight_column = None if chosen.weight is None else names[chosen.weight]
    return EdgeTable(
        sources, targets, weights, n, labels, directed=True, weight_column=weight_column
    )


def _refuse_distances(path: Path, names: list[str]) -> None:
    """Refuse a table of distances as `write_distances` makes it, whose columns are vertices.

    Of one or two vertices it has as many columns as edges have.
    """
    if names[:1] == [LABEL_COLUMN] and not names_edges(names):
        raise InputError(
            f"{path}: its first column is {LABEL_COLUMN!r}, as in a table of distances, which is "
            "no list of edges; save distances as .npz to read them as a graph, or choose the "
            f"source, target and weight columns; columns found: {listed(names)}"
        )


def _ids(path: Path, name: str, values: Any) -> NDArray[Any]:
    # Arrow looks at bytes of text only now.
    with told_as_broken(path, "a whole Parquet file"):
        ids: NDArray[Any] = values.to_numpy()
    if ids.dtype.kind in "iu":
        return ids
    # An empty table may hold columns without a type.
    if len(ids) and not isinstance(ids[0], str):
        found = f"type {values.type}"
        raise FileFormatError(path, None, f"integers or text in column {name!r}", found)
    return np.array(ids, dtype=object)
