"""Columns of Arrow as sets: lists or pairs, integers or text, in chunks and without Python objects.

Files of Parquet and tables in memory come this way; each says in its own words what is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from warpladder.formats.set_builder import SetsBuilder
from warpladder.formats.set_columns import FIRST_ROWS, list_as_text, text_instead

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ArrowSets", "is_list"]

Refuse = Callable[[str, str], Exception]
_LARGEST = np.iinfo(np.int64).max


def is_list(pa: Any, kind: Any) -> bool:
    """Tell whether a type is one of lists."""
    types = pa.types
    checks = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view)
    return any(check(kind) for check in (*checks, types.is_large_list_view))


class ArrowSets:
    """What makes `Sets` of batches of two columns.

    Parameters
    ----------
    pa
        The module pyarrow.
    ids
        Name and type of the column of row ids, None for rows without.
    items
        Name and type of the column of items: lists, or one item in each row.
    refuse
        Makes an error of what was expected and what was found.
    """

    def __init__(
        self, pa: Any, ids: tuple[str, Any] | None, items: tuple[str, Any], refuse: Refuse
    ) -> None:
        import pyarrow.compute

        self._pa, self._refuse = pa, refuse
        self._lengths = pyarrow.compute.list_value_length
        self._row = 0
        name, kind = items
        self._items_name, self._are_lists = name, is_list(pa, kind)
        of_items = self._kind_of(name, kind.value_type if self._are_lists else kind)
        self._ids_name = None
        self._ids_kind = ""
        if ids is not None:
            self._ids_name, self._ids_kind = ids[0], self._kind_of(*ids)
        self._has_words = of_items == "text"
        self._rows_repeat = False
        self.builder = SetsBuilder(
            has_ids=ids is not None, has_words=self._has_words, is_paired=not self._are_lists
        )

    def add(self, ids: Any, items: Any) -> None:
        """Take the next rows: an array of ids, or None, and one of items or of lists."""
        lengths = None
        if ids is not None:
            ids = self._with_nulls(ids)
            self._check_nulls(ids, self._ids_name or "")
        items = self._with_nulls(items)
        self._check_nulls(items, self._items_name)
        rows = len(items)
        if self._are_lists:
            lengths = self._lengths(items).to_numpy(zero_copy_only=False)
            items = self._with_nulls(items.flatten())
            if items.null_count:
                missing = int(np.argmax(items.is_null().to_numpy(zero_copy_only=False)))
                row = int(np.searchsorted(np.cumsum(lengths), missing, side="right"))
                raise self._missing(self._items_name, row)
        row_ids: NDArray[np.int64] | list[str] | None = None
        if ids is not None and self._ids_kind == "text":
            row_ids = ids.to_pylist()
        elif ids is not None:
            row_ids = self._integers(ids, self._ids_name or "")
        if not self._row and row_ids is not None:
            own = list(row_ids[:FIRST_ROWS])
            self._rows_repeat = len(set(own)) < len(own)
        if self._has_words:
            self.builder.add(row_ids, self._coded(items), lengths)
        else:
            self.builder.add(row_ids, self._integers(items, self._items_name), lengths)
        self._row += rows

    def _kind_of(self, name: str, kind: Any) -> Literal["integer", "text"]:
        types = self._pa.types
        if types.is_dictionary(kind):
            kind = kind.value_type
        # An empty table may hold columns without a type.
        if types.is_integer(kind) or types.is_null(kind):
            return "integer"
        if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            return "text"
        raise self._refuse(f"integers or text in column {name!r}", f"type {kind}")

    def _with_nulls(self, values: Any) -> Any:
        """Return values so that they count their nulls: not those that a dictionary holds."""
        is_coded = self._pa.types.is_dictionary(values.type)
        return values.dictionary_decode() if is_coded and values.dictionary.null_count else values

    def _check_nulls(self, values: Any, name: str) -> None:
        if values.null_count:
            raise self._missing(
                name, int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
            )

    def _missing(self, name: str, row: int) -> Exception:
        return self._refuse(
            f"a value in every row of column {name!r}",
            f"none in row {self._row + row}, counted from 0",
        )

    def _check_ids(self, words: list[str], coded: NDArray[Any]) -> None:
        """Refuse lists written as text; of words, those count that there is a code of."""
        first = [words[code] for code in coded[: max(FIRST_ROWS - self._row, 0)].tolist()]
        used = np.flatnonzero(np.bincount(coded.astype(np.intp)))
        others = map(words.__getitem__, used.tolist())
        listed = list_as_text(first, others, rows_repeat=self._rows_repeat)
        if listed is not None:
            raise self._refuse(
                f"lists, or one id in each row of column {self._items_name!r}",
                text_instead(self._items_name, listed),
            )

    def _integers(self, values: Any, name: str) -> NDArray[Any]:
        if self._pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        if self._pa.types.is_null(values.type):
            return np.empty(0, np.int64)
        found: NDArray[Any] = values.to_numpy(zero_copy_only=False)
        if found.dtype == np.uint64 and found.max(initial=0) > _LARGEST:
            raise self._refuse(
                f"ids of 64 bits with a sign in column {name!r} (or text)", f"{found.max()}"
            )
        return found

    def _coded(self, values: Any) -> NDArray[np.int32]:
        """Return the numbers of words; only distinct ones become Python objects."""
        if not self._pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        words = values.dictionary.to_pylist()
        codes = values.indices.to_numpy(zero_copy_only=False)
        if not self._are_lists:
            self._check_ids(words, codes)
        coded: NDArray[np.int32] = self.builder.words.of(words)[codes]
        return coded
