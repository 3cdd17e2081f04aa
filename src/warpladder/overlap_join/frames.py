"""Tables of other libraries as sets: pandas, polars, Arrow, in list form or in long form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.errors import InputTypeError
from warpladder.formats.parquet import import_pyarrow
from warpladder.formats.set_arrow import ArrowSets, is_list
from warpladder.formats.set_builder import SetsBuilder
from warpladder.formats.set_columns import (
    FIRST_ROWS,
    choose_set_columns,
    list_as_text,
    text_instead,
)
from warpladder.formats.sets import Sets
from warpladder.overlap_join.listed import as_ids, fitting, sets_of_rows

__all__ = ["of_arrow", "of_pandas"]

_LISTS = (list, tuple, set, frozenset, np.ndarray)
_BATCH_ROWS = 1 << 16


def of_pandas(given: Any, argument: str) -> Sets:
    """Return the sets of a DataFrame or a Series."""
    import pandas as pd

    if isinstance(given, pd.Series):
        if len(given) and not _has_lists(given):
            raise InputTypeError(
                f"{argument}: a Series of lists is taken, this is one of {given.dtype}; for long "
                "form give a DataFrame of two columns"
            )
        ids = None if _is_plain(given.index) else _ids_of(given.index, argument)
        return sets_of_rows(given.tolist(), ids, argument)
    if not isinstance(given, pd.DataFrame):
        raise InputTypeError(
            f"{argument}: {type(given).__name__} is not taken; give a DataFrame or a Series"
        )
    names = list(map(str, given.columns))
    lists = [i for i in range(len(names)) if _has_lists(given.iloc[:, i])]
    chosen = choose_set_columns(
        argument, names, len(names), lists=lists, remedy=_remedy("DataFrame")
    )
    items = given.iloc[:, chosen.items]
    if chosen.ids is None:
        if not _is_plain(given.index):
            raise InputTypeError(
                f"{argument}: the index of this DataFrame may name its rows; .reset_index() makes "
                "a column of it, .reset_index(drop=True) drops it"
            )
        return sets_of_rows(items.tolist(), None, argument)
    ids = _ids_of(given.iloc[:, chosen.ids], argument)
    if chosen.items in lists:
        return sets_of_rows(items.tolist(), ids, argument)
    listed = _ids_of(items, argument)
    if isinstance(listed, list):
        own = list(ids[:FIRST_ROWS])
        one = list_as_text(
            listed[:FIRST_ROWS], listed[FIRST_ROWS:], rows_repeat=len(set(own)) < len(own)
        )
        if one is not None:
            raise InputTypeError(
                f"{argument}: expected lists, or one id in each row of column {items.name!r}, "
                f"found {text_instead(str(items.name), one)}"
            )
    builder = SetsBuilder(has_ids=True, has_words=isinstance(listed, list), is_paired=True)
    builder.add(ids, listed)
    return builder.sets()


def _remedy(kind: str) -> str:
    return f"give a {kind} of two of them, one with the rows' ids and one with the related ids"


def _has_lists(column: Any) -> bool:
    """Tell whether a column of pandas holds lists, by its type or the first value there is."""
    import pandas as pd

    if isinstance(column.dtype, pd.ArrowDtype):
        return is_list(import_pyarrow("taking pandas"), column.dtype.pyarrow_dtype)
    if column.dtype != object:
        return False
    first = next(
        (one for one in column if not (one is None or one is pd.NA or isinstance(one, float))), None
    )
    return isinstance(first, _LISTS)


def _is_plain(index: Any) -> bool:
    """Tell whether an index of pandas is 0, 1, 2, ... as it is where nobody made one."""
    import pandas as pd

    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1


def _ids_of(column: Any, argument: str) -> NDArray[Any] | list[str]:
    """Return a column of pandas, or an index, as ids."""
    named = f"{argument}: {'column' if column.name is not None else 'index'} {column.name!r}, row "

    def where(place: int) -> str:
        return f"{named}{place}"

    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iu":
        return fitting(column.to_numpy(), where).astype(np.int64, copy=False)
    values = column.tolist()
    if getattr(column, "nlevels", 1) > 1:
        raise InputTypeError(f"{argument}: an index of several levels names no rows; reset it")
    # Missing ones have several forms, of which some are not equal to themselves.
    missing = np.flatnonzero(column.isna())
    if len(missing):
        raise InputTypeError(f"{where(int(missing[0]))} has no id (None, NaN or NA); drop it")
    return as_ids(values, where)


def of_arrow(given: Any, argument: str) -> Sets:
    """Return the sets of a Table or an array of lists of Arrow, or of what gives one."""
    pa = import_pyarrow(f"taking {type(given).__module__.partition('.')[0]}")
    if hasattr(given, "collect") and not hasattr(given, "__arrow_c_stream__"):
        raise InputTypeError(f"{argument}: a {type(given).__name__} is not taken; .collect() it")
    name = type(given).__name__
    try:
        if hasattr(given, "to_arrow"):
            given = given.to_arrow()
        if isinstance(given, pa.RecordBatch):
            given = pa.Table.from_batches([given])
        elif not isinstance(given, pa.Table) and hasattr(given, "__arrow_c_stream__"):
            given = pa.chunked_array(given)
            # A table comes as an array of its rows.
            if pa.types.is_struct(given.type):
                batches = map(pa.RecordBatch.from_struct_array, given.chunks)
                given = pa.Table.from_batches(batches, pa.schema(list(given.type)))
    except pa.ArrowException as fault:
        raise InputTypeError(
            f"{argument}: pyarrow cannot read this {name}: {fault}; cast its ids to integers of 64 "
            "bits or to text"
        ) from fault

    def refuse(expected: str, found: str) -> InputTypeError:
        return InputTypeError(f"{argument}: expected {expected}, found {found}")

    if isinstance(given, pa.Array | pa.ChunkedArray):
        if not is_list(pa, given.type):
            raise refuse("a Table, or an array of lists", f"an array of {given.type}")
        lists = ArrowSets(pa, None, (argument, given.type), refuse)
        for chunk in getattr(given, "chunks", [given]):
            lists.add(None, chunk)
        return lists.builder.sets()
    if not isinstance(given, pa.Table):
        raise InputTypeError(f"{argument}: {type(given).__name__} is not taken; give a Table")
    kinds = given.schema.types
    chosen = choose_set_columns(
        argument,
        given.column_names,
        len(kinds),
        lists=[i for i, kind in enumerate(kinds) if is_list(pa, kind)],
        remedy=_remedy("Table"),
    )
    wanted = [i for i in (chosen.items, chosen.ids) if i is not None]
    named = [(given.column_names[i], kinds[i]) for i in wanted]
    sets = ArrowSets(pa, named[1] if len(named) > 1 else None, named[0], refuse)
    for batch in given.select(wanted).to_batches(_BATCH_ROWS):
        columns = batch.columns
        sets.add(columns[1] if len(columns) > 1 else None, columns[0])
    return sets.builder.sets()
