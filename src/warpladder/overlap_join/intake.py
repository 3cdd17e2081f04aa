"""What callers have, brought into the form of `Sets`: files, lists, arrays, tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from warpladder.call import naming_reader
from warpladder.device.foreign import is_on_gpu, to_numpy
from warpladder.errors import InputError, InputTypeError
from warpladder.formats.arrays import sparse_as
from warpladder.formats.set_builder import RepeatedIdError
from warpladder.formats.set_files import read_sets
from warpladder.formats.sets import Sets
from warpladder.overlap_join.listed import as_ids, fitting, narrowed, sets_of_rows

__all__ = ["as_sets"]


def as_sets(given: Any, argument: str) -> Sets:
    """Return anything that `overlap_join` takes as `Sets`.

    Parameters
    ----------
    given
        Rows of sets, with ids that are integers of 64 bits with a sign, or strings:

        * a file (str or path; ``"-"`` for standard input), as `read_sets` reads it; or `Sets`;
        * a list, or another iterable with an order, of iterables: rows go by their positions;
        * a mapping from ids to iterables;
        * a two-dimensional array of integers or strings: each of its rows is a set;
        * a matrix of ``scipy.sparse``: the sets are the columns where rows are not zero, whatever
          stands there, NaN too;
        * a DataFrame of pandas or polars, a Table of Arrow: in list form or in long form, columns
          as `read_sets` chooses them. Of a DataFrame the index names no rows, and where no column
          does it must be plain;
        * a Series of lists of pandas, whose index holds the ids unless it is plain, or of polars;
          an array of lists of Arrow.
    argument
        What errors call it.

    Raises
    ------
    InputTypeError
        It is nothing of that kind; an id is missing, a float, True or False; integers and strings
        are mixed.
    InputError
        A value cannot be used: an integer beyond 64 bits, an id that names two rows.

    Notes
    -----
    Arrays, sparse matrices and columns of Arrow are taken without Python objects for their ids;
    lists take about 100 ns an id.

    Examples
    --------
    >>> sets = as_sets({7: [2, 5], 9: {5}}, "rows")
    >>> sets.ids.tolist(), sets.starts.tolist(), sets.items.tolist()
    ([7, 9], [0, 2, 3], [2, 5, 5])
    """
    if isinstance(given, Sets):
        return _checked(given, argument)
    if isinstance(given, str | os.PathLike):
        asked = "format=|merge=|header=|delimiter|ids and items"
        with naming_reader("read_sets", asked, "overlap_join"):
            return read_sets(given)
    # A column of a DataFrame may be called so.
    if callable(getattr(given, "read", None)):
        raise InputTypeError(f"{argument}: an open file is not taken; give its path instead")
    if is_on_gpu(given):
        return _of_array(to_numpy(given), argument)
    try:
        return _converted(given, argument)
    except RepeatedIdError as repeated:
        raise InputError(
            f"{argument}: {repeated.id!r} is the id of row {repeated.first} and of row "
            f"{repeated.second}, counted from 0; unite them first"
        ) from None


def _converted(given: Any, argument: str) -> Sets:
    library = type(given).__module__.partition(".")[0]
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(given, pandas.DataFrame | pandas.Series | pandas.Index):
        from warpladder.overlap_join.frames import of_pandas

        return of_pandas(given, argument)
    # Of a DataArray that would be a table of its values, beside what names them.
    is_table = library != "xarray" and hasattr(given, "__arrow_c_stream__")
    if library in {"pyarrow", "polars"} or is_table:
        from warpladder.overlap_join.frames import of_arrow

        return of_arrow(given, argument)
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(given):
        return _of_sparse(given, argument)
    if isinstance(given, Mapping):
        ids = as_ids(list(given), lambda row: f"{argument}: the id of row {row}")
        return sets_of_rows(given.values(), ids, argument)
    if hasattr(given, "__array__") or isinstance(given, memoryview):
        if hasattr(given, "columns") and hasattr(given, "dtypes"):
            raise InputTypeError(
                f"{argument}: a {type(given).__name__} of {library} is not taken, whose columns "
                "may be rows' ids; give a DataFrame of pandas or polars, or a Table of Arrow"
            )
        return _of_array(given, argument)
    if isinstance(given, bytes | bytearray) or not isinstance(given, Iterable):
        raise InputTypeError(
            f"{argument}: {type(given).__name__} is not taken; give a path, a list of sets, "
            "{id: set}, an array with a set in each row, a sparse matrix or a table"
        )
    if isinstance(given, set | frozenset):
        raise InputTypeError(
            f"{argument}: rows go by their positions, and a {type(given).__name__} has no order; "
            "give a list of its sets"
        )
    return sets_of_rows(given, None, argument)


def _of_array(given: Any, argument: str) -> Sets:
    if isinstance(given, np.ma.MaskedArray):
        raise InputTypeError(f"{argument}: a masked array is not taken; give a list of sets")
    try:
        array = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as fault:
        why = str(fault).strip().partition("\n")[0]
        raise InputTypeError(
            f"{argument}: cannot be read as an array ({why}); give a list of its rows"
        ) from None
    if array.ndim == 1 and array.dtype == object:
        return sets_of_rows(array.tolist(), None, argument)
    if array.ndim != 2:
        raise InputTypeError(
            f"{argument}: this array has shape {array.shape}; an array of two dimensions is taken, "
            "with a set in each row"
        )
    rows, width = array.shape
    starts = np.arange(rows + 1, dtype=np.int64) * width
    if array.dtype.kind in "iu":
        # Not a copy where 32 bits are given already.
        items = fitting(array.reshape(-1), lambda place: f"{argument}: row {place // width}")
        return Sets(starts, narrowed(items))
    if array.dtype.kind in "UTO":
        return sets_of_rows(array.tolist(), None, argument)
    remedy = "give integers or text"
    if array.dtype == np.bool_:
        remedy = "give scipy.sparse.csr_array(matrix) for the columns that are True"
    elif array.dtype.kind == "f":
        remedy = "give integers, by .astype('int64')"
    raise InputTypeError(f"{argument}: dtype {array.dtype} is not taken for ids; {remedy}")


def _of_sparse(matrix: Any, argument: str) -> Sets:
    if matrix.ndim != 2:
        raise InputTypeError(f"{argument}: a sparse array of two dimensions is taken")
    rows = sparse_as("csr", matrix, argument)
    if not rows.has_canonical_format:
        # What stands at one place twice is a sum; the caller's matrix stays as it is.
        rows = rows.copy()
        rows.sum_duplicates()
    starts, items = rows.indptr.astype(np.int64), rows.indices
    is_there = rows.data != 0
    if not is_there.all():
        kept = np.zeros(len(items) + 1, np.int64)
        np.cumsum(is_there, out=kept[1:])
        starts, items = kept[starts], items[is_there]
    return Sets(starts, narrowed(items))


def _checked(sets: Sets, argument: str) -> Sets:
    """Return sets that a caller may have put together, if they hold together."""
    starts, items = sets.starts, sets.items
    are_arrays = all(isinstance(array, np.ndarray) and array.ndim == 1 for array in (starts, items))
    if not are_arrays or starts.dtype != np.int64 or items.dtype.kind not in "iu":
        raise InputTypeError(
            f"{argument}: starts of Sets must be an array of int64, and items one of integers"
        )
    ends_well = len(starts) > 0 and starts[0] == 0 and starts[-1] == len(items)
    if not ends_well or (np.diff(starts) < 0).any():
        raise InputError(
            f"{argument}: starts of Sets must grow from 0 to the {len(items)} items there are"
        )
    _check_names(sets, argument)
    if (
        sets.words is not None
        and len(items)
        and not 0 <= items.min() <= items.max() < len(sets.words)
    ):
        raise InputError(f"{argument}: items of Sets must be positions in their words")
    # Those of another machine may have their bytes the other way round.
    native = items if items.dtype.isnative else items.astype(items.dtype.newbyteorder("="))
    fitted = fitting(native, lambda _: f"{argument}: items of Sets")
    if fitted is items and sets.ids is None:
        return sets
    # The answer names rows by their ids, whatever becomes of the caller's.
    return Sets(starts, fitted, sets.words, None if sets.ids is None else sets.ids.copy())


def _check_names(sets: Sets, argument: str) -> None:
    """Check the ids of rows, and the strings that are ids."""
    ids, words = sets.ids, sets.words
    if ids is not None:
        is_array = isinstance(ids, np.ndarray) and ids.ndim == 1
        if not is_array or (ids.dtype != np.int64 and not _are_words(ids)):
            raise InputTypeError(
                f"{argument}: ids of Sets must be an array of int64 or of strings (dtype object)"
            )
        if len(ids) != len(sets):
            raise InputError(f"{argument}: Sets have {len(ids)} ids for {len(sets)} rows")
        repeated = _repeated(ids)
        if repeated is not None:
            raise InputError(f"{argument}: ids of Sets: {repeated!r} names two rows")
    if words is not None:
        is_array = isinstance(words, np.ndarray) and words.ndim == 1
        if not is_array or not _are_words(words):
            raise InputTypeError(
                f"{argument}: words of Sets must be an array of strings (dtype object)"
            )
        repeated = _repeated(words)
        if repeated is not None:
            raise InputError(f"{argument}: words of Sets: {repeated!r} stands twice")


def _are_words(array: Any) -> bool:
    return array.dtype == object and set(map(type, array)) <= {str}


def _repeated(values: Any) -> Any:
    """Return what stands twice in an array, None where nothing does."""
    if values.dtype == object:
        seen: set[str] = set()
        for value in values:
            if value in seen:
                return value
            seen.add(value)
        return None
    ordered = np.sort(values)
    places = np.flatnonzero(ordered[1:] == ordered[:-1])
    return ordered[places[0]].item() if len(places) else None
