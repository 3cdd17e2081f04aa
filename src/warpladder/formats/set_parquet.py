"""Sets from Parquet, batch by batch: a column of lists, or long form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warpladder.errors import FileFormatError, InputError
from warpladder.formats.files import is_gzip, open_binary, told_as_broken
from warpladder.formats.parquet import import_pyarrow
from warpladder.formats.set_arrow import ArrowSets, is_list
from warpladder.formats.set_builder import RepeatedIdError
from warpladder.formats.set_columns import choose_set_columns
from warpladder.formats.text import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warpladder.formats.files import InputFile
    from warpladder.formats.sets import Sets

__all__ = ["read_set_parquet"]

# Of a batch, which decides how much is in memory beside the result.
_ITEMS = 1 << 20
_MOST_ROWS = 1 << 20
_BUFFER_BYTES = 1 << 20


def read_set_parquet(
    file: InputFile,
    *,
    ids: str | int | None,
    items: str | int | None,
    merge: bool,
    progress: Callable[[float], None] | None,
) -> Sets:
    """Read a whole file."""
    sets: ArrowSets | None = None
    for sets, done in _read(file, ids, items):  # noqa: B007 - the last is wanted
        if progress is not None:
            progress(done)
    assert sets is not None  # noqa: S101 - there is one before any batch
    try:
        return sets.builder.sets(merge=merge)
    except RepeatedIdError as repeated:
        found = (
            f"{quoted(str(repeated.id))} in row {repeated.second} as in row {repeated.first}, "
            "counted from 0 (merge=True unites such rows)"
        )
        raise FileFormatError(file.path, None, "ids that differ", found) from None


def _read(
    file: InputFile, ids: str | int | None, items: str | int | None
) -> Iterator[tuple[ArrowSets, float]]:
    """Yield what the sets are gathered in, and the fraction that is."""
    pa = import_pyarrow("reading Parquet")
    path = file.path
    # What raises beyond these lines, as progress may, is not told as a broken file.
    with (
        told_as_broken(path, "a whole Parquet file"),
        open_binary(file) as opened,
        pa.parquet.ParquetFile(
            opened if is_gzip(file) else file.place,
            buffer_size=_BUFFER_BYTES,
            page_checksum_verification=True,
        ) as table,
    ):
        schema = table.schema_arrow
        names = list(schema.names)
        if not names:
            raise FileFormatError(path, None, "columns", "none")
        lists = [i for i, field in enumerate(schema) if is_list(pa, field.type)]
        chosen = choose_set_columns(path, names, len(names), ids, items, lists=lists)
        wanted = [names[i] for i in (chosen.items, chosen.ids) if i is not None]
        for name in wanted:
            if names.count(name) > 1:
                raise InputError(
                    f"{path}: column {quoted(name)} stands there twice, and Parquet is read by "
                    "names; rename one"
                )
        fields = [(name, schema.field(name).type) for name in wanted]
        sets = ArrowSets(
            pa,
            fields[1] if len(fields) > 1 else None,
            fields[0],
            lambda expected, found: FileFormatError(path, None, expected, found),
        )
        yield sets, 0.0
        rows, done = table.metadata.num_rows, 0
        # Batches over two row groups are none that pyarrow makes of every type.
        for group in range(table.metadata.num_row_groups):
            size = _batch_rows(table, group, wanted[0])
            for batch in table.iter_batches(size, row_groups=[group], columns=wanted):
                # By name: a column "a.b" comes with a struct "a" that has a field "b".
                columns = [batch.column(name) for name in wanted]
                sets.add(columns[1] if len(columns) > 1 else None, columns[0])
                done += len(batch)
                yield sets, done / rows


def _batch_rows(table: Any, group: int, name: str) -> int:
    """Return how many rows of a group make a batch, by how many items each has."""
    # In Arrow, damaged metadata of a column ends the process where it is asked for alone, and is
    # an error where values are read.
    next(table.iter_batches(1, row_groups=[group], columns=[name]), None)
    metadata = table.metadata.row_group(group)
    paths = [table.schema.column(i).path for i in range(metadata.num_columns)]
    items: int = sum(
        metadata.column(i).num_values
        for i, path in enumerate(paths)
        if path.partition(".")[0] == name
    )
    rows: int = max(metadata.num_rows, 1)
    return min(max(_ITEMS * rows // max(items, 1), 1), _MOST_ROWS)
