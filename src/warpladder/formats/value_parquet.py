"""One column of numbers from a Parquet file, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import FileFormatError, InputError
from warpladder.formats.columns import choose_column
from warpladder.formats.files import InputFile, told_as_broken
from warpladder.formats.parquet import import_pyarrow
from warpladder.formats.text import quoted

__all__ = ["ParquetColumn"]

_ROWS = 1 << 20


class ParquetColumn:
    """A column of numbers in a Parquet file; it needs pyarrow."""

    def __init__(self, file: InputFile, column: str | int | None) -> None:
        self._file = file
        self.path = path = file.path
        self.done = 0.0
        self._pa = import_pyarrow("reading Parquet")
        with self._opened() as table:
            names = list(table.schema_arrow.names)
            if not names:
                raise FileFormatError(path, None, "columns", "none")
            self._name = names[
                choose_column(path, names, column, is_named=True, names_first=True)[0]
            ]
            if names.count(self._name) > 1:
                raise InputError(
                    f"{path}: column={quoted(self._name)} stands there twice, and Parquet is read "
                    "by names; rename one"
                )
            kind = table.schema_arrow.field(self._name).type
            self._rows = max(table.metadata.num_rows, 1)
        if not (
            self._pa.types.is_integer(kind)
            or self._pa.types.is_floating(kind)
            or self._pa.types.is_boolean(kind)
        ):
            expected = f"numbers in column {quoted(self._name)}"
            raise FileFormatError(path, None, expected, f"type {kind}")
        self.dtype = np.dtype(np.bool_ if str(kind) == "bool" else kind.to_pandas_dtype())

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield the values from the first row on."""
        row = 0
        with self._opened() as table:
            for batch in table.iter_batches(batch_size=_ROWS, columns=[self._name]):
                # By name: a column "a.b" comes with a struct "a" that has a field "b".
                values = batch.column(self._name)
                if values.null_count:
                    missing = row + values.is_null().to_numpy(zero_copy_only=False).argmax()
                    expected = f"a value in every row of column {quoted(self._name)}"
                    found = f"none in row {missing}, counted from 0"
                    raise FileFormatError(self.path, None, expected, found)
                row += len(values)
                self.done = row / self._rows
                yield values.to_numpy(zero_copy_only=False)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        with (
            told_as_broken(self.path, "a whole Parquet file"),
            self._pa.parquet.ParquetFile(
                self._file.place, page_checksum_verification=True
            ) as table,
        ):
            yield table
