"""Sets from Parquet: list form and long form, row group by row group."""

from __future__ import annotations

import gzip
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import warpladder as wl
from warpladder.formats import set_parquet

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [[2, 5, 6], [], [10], [5, 5]]
WORDS = [[f"x{item}" for item in row] for row in ROWS]
IDS = [7, -1, 2**40, 0]


def rows_of(sets: wl.Sets) -> list[tuple[Any, list[Any]]]:
    items = sets.items if sets.words is None else sets.words[sets.items]
    ids = [None] * len(sets) if sets.ids is None else sets.ids.tolist()
    cuts = zip(sets.starts, sets.starts[1:], strict=False)
    return [(one, items[a:b].tolist()) for one, (a, b) in zip(ids, cuts, strict=True)]


def read(path: Path, table: pa.Table, **options: Any) -> list[tuple[Any, list[Any]]]:
    pq.write_table(table, path, row_group_size=3)
    return rows_of(wl.read_sets(path, **options))


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.int64()),
        pa.list_(pa.int16()),
        pa.large_list(pa.uint64()),
        pa.list_(pa.uint8()),
    ],
    ids=str,
)
def test_lists_of_integers(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(set_parquet, "_ITEMS", 2)
    table = pa.table({"id": IDS, "related_ids": pa.array(ROWS, kind)})
    assert read(tmp_path / "a.parquet", table) == list(zip(IDS, ROWS, strict=True))
    sets = wl.read_sets(tmp_path / "a.parquet")
    assert (sets.ids.dtype, sets.items.dtype) == (np.int64, np.int32)


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_(pa.dictionary(pa.int32(), pa.string())),
    ],
    ids=str,
)
def test_lists_of_words(tmp_path, kind):
    table = pa.table({"items": pa.array(WORDS, kind), "who": ["b", "a", "", "zoé"]})
    expected = list(zip(["b", "a", "", "zoé"], WORDS, strict=True))
    assert read(tmp_path / "a.parquet", table) == expected


def test_lists_of_one_length(tmp_path):
    table = pa.table({"set": pa.array([[1, 2], [3, 4]], pa.list_(pa.int64(), 2))})
    assert read(tmp_path / "a.parquet", table) == [(None, [1, 2]), (None, [3, 4])]


def test_rows_without_ids(tmp_path):
    path = tmp_path / "a.parquet"
    assert read(path, pa.table({"set": ROWS})) == [(None, row) for row in ROWS]
    # Items of one kind only, or of none.
    assert read(path, pa.table({"set": [[], []]})) == [(None, []), (None, [])]
    assert read(path, pa.table({"set": pa.array([], pa.list_(pa.int64()))})) == []


def test_64_bits(tmp_path):
    path = tmp_path / "a.parquet"
    row = [2**63 - 1, -(2**63), 0]
    assert read(path, pa.table({"set": [[1], row, [2]]})) == [(None, [1]), (None, row), (None, [2])]
    large = pa.array([[1], [2**63]], pa.list_(pa.uint64()))
    with pytest.raises(
        wl.FileFormatError, match=r"64 bits with a sign .* found 9223372036854775808"
    ):
        read(path, pa.table({"set": large}))


def test_long_form(tmp_path, monkeypatch):
    monkeypatch.setattr(set_parquet, "_ITEMS", 2)
    path = tmp_path / "a.parquet"
    ids, items = [7, 3, 7, 7, -1], [2, 2, 5, 2, 9]
    expected = [(7, [2, 5, 2]), (3, [2]), (-1, [9])]
    assert read(path, pa.table({"id": ids, "related_id": items})) == expected
    assert read(path, pa.table({"b": items, "a": ids}), ids="a", items="b") == expected
    assert read(path, pa.table({"b": items, "a": ids}), ids=1, items=0) == expected
    assert read(path, pa.table({"b": items, "x": items, "a": ids}), ids=2, items=0) == expected
    words = pa.table({"id": list(map(str, ids)), "item": [f"x{item}" for item in items]})
    assert read(path, words) == [(str(one), [f"x{item}" for item in row]) for one, row in expected]
    assert read(path, words.slice(0, 0)) == []


def test_packed_and_other_names(tmp_path):
    table = pa.table({"id": IDS, "related_ids": ROWS})
    read(tmp_path / "a.parquet", table)
    expected = list(zip(IDS, ROWS, strict=True))
    for name, content in (
        ("b", (tmp_path / "a.parquet").read_bytes()),
        ("c.pq.gz", gzip.compress((tmp_path / "a.parquet").read_bytes())),
    ):
        (tmp_path / name).write_bytes(content)
        assert rows_of(wl.read_sets(tmp_path / name)) == expected


def test_rows_of_one_id(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"id": [1, 2, 3, 2], "set": ROWS})
    with pytest.raises(
        wl.FileFormatError, match=r"'2' in row 3 as in row 1, counted from 0 .merge"
    ):
        read(path, table)
    assert read(path, table, merge=True) == [(1, [2, 5, 6]), (2, [5, 5]), (3, [10])]
    names = table.set_column(0, "id", pa.array(["a", "b", "c", "b"]))
    with pytest.raises(wl.FileFormatError, match="'b' in row 3 as in row 1"):
        read(path, names)
    assert read(path, names, merge=True) == [("a", [2, 5, 6]), ("b", [5, 5]), ("c", [10])]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"id": [1, 2], "set": [[1], None]}, "every row of column 'set', found none in row 1"),
        ({"id": [1, None], "set": [[1], [2]]}, "every row of column 'id', found none in row 1"),
        ({"set": [[], [1], [2, None], [3]]}, "every row of column 'set', found none in row 2"),
        ({"id": [1, 1], "item": [1, None]}, "every row of column 'item', found none in row 1"),
        ({"set": [[1.5]]}, "integers or text in column 'set', found type double"),
        ({"set": [[True]]}, "integers or text in column 'set', found type bool"),
        ({"set": [[b"a"]]}, "integers or text in column 'set', found type binary"),
        ({"set": [[[1]]]}, "integers or text in column 'set', found type list"),
        ({"id": [1.0], "set": [[1]]}, "integers or text in column 'id', found type double"),
        ({}, "expected columns, found none"),
    ],
)
def test_what_is_refused(tmp_path, monkeypatch, table, message):
    monkeypatch.setattr(set_parquet, "_ITEMS", 1)
    with pytest.raises(wl.FileFormatError, match=message) as raised:
        read(tmp_path / "a.parquet", pa.table(table))
    assert str(tmp_path) in str(raised.value)


def test_columns_that_are_not_clear(tmp_path):
    path = tmp_path / "a.parquet"
    with pytest.raises(wl.InputError, match="which column holds the ids; columns found: 'a', 'b'"):
        read(path, pa.table({"a": [1], "b": [1], "set": [[1]]}))
    assert read(path, pa.table({"a": [1], "b": [2], "set": [[3]]}), ids="b") == [(2, [3])]
    with pytest.raises(wl.InputError, match="which column holds the items"):
        read(path, pa.table({"id": [1], "s": [[1]], "t": [[1]]}))
    with pytest.raises(wl.InputError, match="column 's' stands there twice"):
        read(path, pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["s", "s"]))
    with pytest.raises(wl.InputError, match=r"delimiter=',' has no meaning .* read as parquet"):
        read(path, pa.table({"set": ROWS}), delimiter=",")
    # A column "s.a" comes with a struct "s" that has a field "a".
    table = pa.table({"s": [{"a": 1}], "s.a": [[5]], "id": [3]})
    assert read(path, table, ids="id") == [(3, [5])]


def test_damaged(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"id": np.arange(5000), "set": [[i] for i in range(5000)]})
    pq.write_table(table, path, compression=None, use_dictionary=False, write_page_checksum=True)
    content = path.read_bytes()
    for damaged in (content[:-100], content[:100], content[:3000] + b"~" + content[3001:]):
        path.write_bytes(damaged)
        with pytest.raises(wl.FileFormatError, match="a whole Parquet file"):
            wl.read_sets(path)


def test_any_byte_of_the_footer_changed(tmp_path):
    """Damaged sizes of a column's levels end the process where Arrow looks at metadata alone."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": ["a", "b"], "set": [[1, 2], [2, 3]]}), path)
    content = path.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little")
    for place in range(len(content) - 8 - footer, len(content)):
        changed = bytearray(content)
        changed[place] ^= 0x10
        path.write_bytes(changed)
        with suppress(wl.WarpladderError):
            wl.read_sets(path)


def test_text_that_is_none(tmp_path):
    """Words are not looked at by Arrow before they are used."""
    broken = pa.array([[b"\xff"]], pa.list_(pa.binary())).view(pa.list_(pa.string()))
    with pytest.raises(wl.FileFormatError, match="a whole Parquet file"):
        read(tmp_path / "a.parquet", pa.table({"set": broken}))


def test_progress(tmp_path, monkeypatch):
    monkeypatch.setattr(set_parquet, "_ITEMS", 1)
    done: list[float] = []
    read(tmp_path / "a.parquet", pa.table({"set": ROWS}), progress=done.append)
    assert done == sorted(done)
    assert (len(done) > 3, done[-1]) == (True, 1.0)

    def stop(_: float) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        wl.read_sets(tmp_path / "a.parquet", progress=stop)


def test_without_pyarrow(tmp_path, monkeypatch):
    read(tmp_path / "a.parquet", pa.table({"set": ROWS}))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(wl.MissingExtraError, match=r"pip install 'warpladder\[parquet\]'"):
        wl.read_sets(tmp_path / "a.parquet")
