"""One column of numbers from a Parquet file, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import FileFormatError, InputError
from warpladder.formats.columns import choose_column
from warpladder.formats.parquet import import_pyarrow

__all__ = ["ParquetColumn"]

_ROWS = 1 << 20


class ParquetColumn:
    """A column of numbers in a Parquet file; it needs pyarrow."""

    def __init__(self, path: Path, column: str | int | None) -> None:
        self.path = path
        self.done = 0.0
        self._pa = import_pyarrow("reading Parquet")
        with self._opened() as file:
            names = list(file.schema_arrow.names)
            if not names:
                raise FileFormatError(path, None, "columns", "none")
            self._name = names[
                choose_column(path, names, column, is_named=True, names_first=True)[0]
            ]
            if names.count(self._name) > 1:
                raise InputError(
                    f"{path}: column={self._name!r} stands there twice, and Parquet is read by "
                    "names; rename one"
                )
            kind = file.schema_arrow.field(self._name).type
            self._rows = max(file.metadata.num_rows, 1)
        if not (
            self._pa.types.is_integer(kind)
            or self._pa.types.is_floating(kind)
            or self._pa.types.is_boolean(kind)
        ):
            raise FileFormatError(path, None, f"numbers in column {self._name!r}", f"type {kind}")
        self.dtype = np.dtype(np.bool_ if str(kind) == "bool" else kind.to_pandas_dtype())

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Yield the values from the first row on."""
        row = 0
        with self._opened() as file:
            batches = file.iter_batches(batch_size=_ROWS, columns=[self._name])
            for batch in self._guarded(batches):
                # By name: a column "a.b" comes with a struct "a" that has a field "b".
                values = batch.column(self._name)
                if values.null_count:
                    missing = row + values.is_null().to_numpy(zero_copy_only=False).argmax()
                    expected = f"a value in every row of column {self._name!r}"
                    found = f"none in row {missing}, counted from 0"
                    raise FileFormatError(self.path, None, expected, found)
                row += len(values)
                self.done = row / self._rows
                yield values.to_numpy(zero_copy_only=False)

    def _opened(self) -> Any:
        try:
            return self._pa.parquet.ParquetFile(self.path, page_checksum_verification=True)
        except (self._pa.ArrowException, OSError) as error:
            raise self._broken(error) from error

    def _guarded(self, batches: Any) -> Iterator[Any]:
        try:
            yield from batches
        except (self._pa.ArrowException, OSError) as error:
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> FileFormatError:
        why = str(error).strip().partition("\n")[0]
        return FileFormatError(self.path, None, "a whole Parquet file", f"a broken one ({why})")
