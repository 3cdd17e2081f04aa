"""Whatever callers have becomes the same sets, or is refused by name."""

from __future__ import annotations

import sys
from contextlib import suppress
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import warpladder as wl
from warpladder.formats.files import InputFile
from warpladder.formats.set_columns import list_as_text
from warpladder.formats.set_tables import table_grammar
from warpladder.formats.text import read_first
from warpladder.overlap_join import listed
from warpladder.overlap_join.intake import as_sets

ROWS = [[2, 5, 6], [], [10], [5, 5]]
WORDS = [[f"x{item}" for item in row] for row in ROWS]
IDS = [7, -1, 2**40, 0]


class Ragged:
    """Rows as other libraries have them, of which NumPy makes no array."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ValueError("lengths are not regular\n\nat 1")


class Partitions:
    """A DataFrame that pandas, Polars and Arrow know nothing of, as that of Dask."""

    columns, dtypes = ("id", "item"), (np.dtype("i8"), np.dtype("i8"))

    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.array([[1, 5], [2, 5]])


def plain(given_rows: Any) -> list[tuple[Any, list[Any]]]:
    sets = as_sets(given_rows, "rows")
    assert sets.starts.dtype == np.int64
    items = sets.items if sets.words is None else sets.words[sets.items]
    ids = [None] * len(sets) if sets.ids is None else sets.ids.tolist()
    cuts = zip(sets.starts, sets.starts[1:], strict=False)
    return [(one, items[a:b].tolist()) for one, (a, b) in zip(ids, cuts, strict=True)]


WITHOUT_IDS = {
    "lists": lambda rows: rows,
    "tuples": lambda rows: tuple(map(tuple, rows)),
    "a generator of generators": lambda rows: ((item for item in row) for row in rows),
    "mixed": lambda rows: [rows[0], tuple(rows[1]), np.array(rows[2]), pd.Series(rows[3])],
    "arrays of objects": lambda rows: [np.array(row, object) for row in rows],
    "an array of objects": lambda rows: pd.Series(rows).to_numpy(),
    "dicts": lambda rows: [
        dict.fromkeys(row) if len(set(row)) == len(row) else row for row in rows
    ],
    "pandas": pd.Series,
    "a frame": lambda rows: pd.DataFrame({"a": rows}),
    "Arrow": pa.array,
    "large lists": lambda rows: pa.array(rows).cast(pa.large_list(pa.array(rows).type.value_type)),
    "chunks": lambda rows: pa.chunked_array([rows[:1], rows[1:]]),
    "a slice": lambda rows: pa.array([rows[2], *rows])[1:],
    "a table": lambda rows: pa.table({"a": rows}),
    "a batch": lambda rows: pa.record_batch({"a": rows}),
    "pandas of Arrow": lambda rows: pd.Series(rows, dtype=pd.ArrowDtype(pa.array(rows).type)),
}


@pytest.mark.parametrize("make", WITHOUT_IDS.values(), ids=WITHOUT_IDS.keys())
@pytest.mark.parametrize("rows", [ROWS, WORDS], ids=["integers", "words"])
def test_rows_by_position(make, rows):
    assert plain(make(rows)) == [(None, row) for row in rows]


WITH_IDS = {
    "a dict": lambda ids, rows: dict(zip(ids, rows, strict=True)),
    "a Series": lambda ids, rows: pd.Series(rows, index=ids),
    "a frame": lambda ids, rows: pd.DataFrame({"id": ids, "r": rows}, index=list("efgh")),
    "a frame, other order": lambda ids, rows: pd.DataFrame({"items": rows, "x": ids}),
    "a frame with what is read": lambda ids, rows: pd.DataFrame({"user": ids, "read": rows}),
    "a table": lambda ids, rows: pa.table({"related_ids": rows, "id": ids}),
}


@pytest.mark.parametrize("make", WITH_IDS.values(), ids=WITH_IDS.keys())
@pytest.mark.parametrize("rows", [ROWS, WORDS], ids=["integers", "words"])
@pytest.mark.parametrize("ids", [IDS, list("bacd")], ids=["integers", "names"])
def test_rows_with_ids(make, rows, ids):
    assert plain(make(ids, rows)) == list(zip(ids, rows, strict=True))
    found = as_sets(make(ids, rows), "rows").ids
    assert found.dtype == (np.int64 if ids is IDS else object)


def test_what_a_file_asks_for_is_for_who_reads_it(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a b\nb c\n")
    with pytest.raises(wl.InputError, match="say format='pairs'") as raised:
        as_sets(path, "rows")
    assert "arguments of read_sets" in raised.value.__notes__[0]


def test_members_of_enumerations_are_what_they_equal():
    text = Enum("text", {"A": "x"}, type=str)
    assert plain([[text.A], ["x"]]) == [(None, ["x"])] * 2
    assert plain({text.A: [IntEnum("number", {"B": 5}).B]}) == [("x", [5])]


def test_an_index_of_numbers():
    """Plain is only one that nobody made; what is left of a longer one names rows."""
    series = pd.Series(ROWS)
    assert plain(series[1:]) == list(zip([1, 2, 3], ROWS[1:], strict=True))
    assert plain(series[::2]) == [(0, ROWS[0]), (2, ROWS[2])]
    assert plain(series[:2]) == [(None, ROWS[0]), (None, ROWS[1])]
    with pytest.raises(wl.InputTypeError, match="the index of this DataFrame may name its rows"):
        as_sets(series.to_frame("set")[1:], "rows")


LONG = {
    "pandas": pd.DataFrame,
    "nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "categories": lambda columns: pd.DataFrame(columns).astype({"id": "category"}),
    "Arrow": pa.table,
}


@pytest.mark.parametrize("make", LONG.values(), ids=LONG.keys())
def test_long_form(make):
    ids, items = [7, 3, 7, 7, -1], [2, 2, 5, 2, 9]
    expected = [(7, [2, 5, 2]), (3, [2]), (-1, [9])]
    assert plain(make({"id": ids, "related_id": items})) == expected
    words = {"item": [f"x{item}" for item in items], "id": [f"y{one}" for one in ids]}
    assert plain(make(words)) == [
        (f"y{one}", [f"x{item}" for item in row]) for one, row in expected
    ]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (
            ["1;2;5", "1;2"],
            r"'1;2;5' \(split it: frame\['related_ids'\].str.split\(';'\); of names",
        ),
        (["1,2", "1"], r"'1,2' .*\.str.split\(','\)"),
        (["1, 2", "1"], r"'1, 2' .*\.str.split\(', '\)"),
        (["1 2", "1"], r"'1 2' .*\.str.split\(' '\)"),
        (["1|2", "1"], r"'1\|2' .*\.str.split\('\|'\)"),
        (["a", "a;b"], "'a;b' "),
        (["a", "a,b"], "'a,b' "),
        (["a", "New York"], "'New York' "),
        (["[a]", "[b]"], r"'\[a\]' .*\.str.strip\('\[\]'\).str.split\(','\)\)"),
        (["a", ""], r"'' \(drop such rows"),
        (["a"] * 3000 + ["1;2"], "'1;2' "),
        (["a"] * 3000 + [""], "'' "),
    ],
)
def test_lists_written_as_text(tmp_path, values, found):
    """They are no ids, whoever's table they are in; a table of text would not take them as such."""
    columns = {"id": list(range(len(values))), "related_ids": values}
    told = "lists, or one id in each row of column 'related_ids', found text like " + found
    for make in LONG.values():
        with pytest.raises(wl.InputTypeError, match=told):
            as_sets(make(columns), "rows")
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=1000)
    with pytest.raises(wl.FileFormatError, match=told):
        wl.read_sets(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    "values", [["a-b", "f(x)", "x:y", "(a)b"], ["a"] * 3000 + ["New York"]], ids=["signs", "late"]
)
def test_ids_with_blanks_and_signs(tmp_path, values):
    columns = {"id": list(range(len(values))), "related_ids": values}
    expected = [(number, [value]) for number, value in enumerate(values)]
    for make in LONG.values():
        assert plain(make(columns)) == expected
    # Where rows repeat there is one id in each line.
    names = ["New York", "Rome", "Santiago, Chile"]
    for make in LONG.values():
        assert plain(make({"id": [1, 1, 2], "related_ids": names})) == [
            (1, names[:2]),
            (2, names[2:]),
        ]
        with pytest.raises(wl.InputTypeError, match="found text like 'a;b'"):
            as_sets(make({"id": [1, 1, 2], "related_ids": ["New York", "Rome", "a;b"]}), "rows")
    # Words that no row has, say nothing.
    coded = pa.DictionaryArray.from_arrays([1, 1], ["1;2", "a"])
    assert plain(pa.table({"id": [1, 2], "r": coded})) == [(1, ["a"]), (2, ["a"])]


@settings(max_examples=30)
@given(st.lists(st.text("ab1 ,;|()[]{}", max_size=4), min_size=2, max_size=4))
def test_tables_of_text_and_others_agree(tmp_path_factory, values):
    """What is one id in each row of text is so elsewhere, and only that."""
    path = tmp_path_factory.mktemp("text") / "a.tsv"
    lines = (f'{number}\t"{value}"\n' for number, value in enumerate(values))
    path.write_text("id\trelated_ids\n" + "".join(lines))
    grammar = None
    with suppress(wl.InputError):
        head = read_first(InputFile(path), 1 << 16, "#")
        grammar = table_grammar(head, None, ids=0, items=1, header=True, delimiter=None)
    is_taken = grammar is not None and grammar.is_paired
    if is_taken:
        try:
            wl.read_sets(path, header=True)
        except wl.FileFormatError:
            is_taken = False
    assert is_taken == (list_as_text(values) is None)


@given(
    rows=st.lists(st.lists(st.integers(-(2**63), 2**63 - 1))),
    batch=st.sampled_from([1, 3, 1 << 14]),
)
def test_any_lists(rows, batch):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listed, "_ROWS", batch)
        expected = [(None, row) for row in rows]
        assert plain(rows) == expected
        assert plain([np.array(row, np.int64) for row in rows]) == expected
        assert plain(iter([[np.int64(item) for item in row] for row in rows])) == expected


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (31, 7), (33, 2)])
@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", ">i4", "i8", "u8"])
def test_arrays_of_two_dimensions(shape, dtype):
    array = np.random.default_rng(1).integers(0, 99, shape).astype(dtype)
    expected = [(None, row.tolist()) for row in array]
    assert plain(array) == expected
    assert plain(np.asfortranarray(array)) == expected
    if array.dtype.isnative:
        assert plain(memoryview(array)) == expected
    assert as_sets(array, "rows").items.dtype == np.int32
    assert plain(array.astype("U")) == [(None, list(map(str, row))) for _, row in expected]
    assert plain(array.astype(object)) == expected
    if array.size:
        array = array.astype(np.int64)
        array[0, 0] = 2**40
        assert as_sets(array, "rows").items.dtype == np.int64
        assert plain(array)[0] == (None, array[0].tolist())


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr"])
@pytest.mark.parametrize("dtype", [bool, "i1", float, complex])
def test_sparse(kind, dtype):
    dense = np.random.default_rng(2).integers(-1, 2, (33, 17)) * np.arange(1, 18)
    for make in (sp.csr_array, sp.csr_matrix):
        matrix = make(dense.astype(dtype)).asformat(kind)
        assert plain(matrix) == [(None, np.flatnonzero(row).tolist()) for row in dense]


def test_sparse_oddities():
    # Zeros that are stored do not count; what stands twice counts by its sum; NaN is not zero.
    parts = [1, -1, 0, np.nan, 2, 3], ([0, 0, 0, 0, 2, 2], [1, 1, 2, 3, 4, 4])
    coo = sp.coo_array(parts, shape=(3, 5))
    expected = [(None, [3]), (None, []), (None, [4])]
    assert plain(coo) == expected
    csr = sp.csr_array((parts[0], parts[1][1], [0, 4, 4, 6]), shape=(3, 5))
    before = csr.data.copy()
    assert plain(csr) == expected
    assert np.array_equal(csr.data, before, equal_nan=True)
    assert plain(sp.csr_array((0, 5))) == []
    with pytest.raises(wl.InputTypeError, match="a sparse array of two dimensions"):
        as_sets(sp.coo_array(np.array([1, 0])), "rows")


def test_sparse_matrices_whose_arrays_do_not_fit_each_other():
    csr = sp.csr_array(([1, 1, 1], [1, 2, 0], [0, 2, 1, 3]), shape=(3, 3))
    coo = sp.coo_array(([1], ([0], [1])), shape=(2, 2))
    coo.col[0] = 2
    for matrix in (csr, coo):
        with pytest.raises(
            wl.InputError, match=f"^rows: the arrays of this {type(matrix).__name__}"
        ):
            as_sets(matrix, "rows")


def test_files_and_sets(tmp_path):
    path = tmp_path / "a.dat"
    path.write_text("1 2\n3\n")
    for name in (path, str(path)):
        assert plain(name) == [(None, [1, 2]), (None, [3])]
    sets = as_sets(path, "rows")
    assert as_sets(sets, "rows") is sets
    with path.open() as file, pytest.raises(wl.InputTypeError, match="give its path instead"):
        as_sets(file, "rows")
    with pytest.raises(wl.InputError, match="cannot read"):
        as_sets("no such file", "rows")


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (wl.Sets(np.array([0, 2]), np.array([3])), "grow from 0 to the 1 items"),
        (wl.Sets(np.array([0, 2, 1]), np.array([3])), "grow from 0 to the 1 items"),
        (wl.Sets(np.array([1, 1]), np.array([3])), "grow from 0"),
        (wl.Sets(np.array([], np.int64), np.array([], int)), "grow from 0"),
        (
            wl.Sets(np.array([0, 1], "i4"), np.array([3])),
            "starts of Sets must be an array of int64",
        ),
        (wl.Sets(np.array([0, 1]), np.array([3.0])), "and items one of integers"),
        (wl.Sets(np.array([0, 1]), [3]), "and items one of integers"),
        (wl.Sets(np.array([0, 1]), np.array([3]), ids=np.array([1, 2])), "2 ids for 1 rows"),
        (wl.Sets(np.array([0, 1]), np.array([1]), np.array(["a"], object)), "positions in their"),
        (wl.Sets(np.array([0, 1]), np.array([2**63], "u8")), "beyond integers of 64 bits"),
    ],
)
def test_sets_that_do_not_hold_together(sets, message):
    with pytest.raises((wl.InputError, wl.InputTypeError), match=message):
        as_sets(sets, "rows")


def with_coded_nulls(values: list[Any]) -> Any:
    """Return a dictionary array whose nulls are among the words, not among the codes."""
    return pa.array(values).dictionary_encode("encode")


NAN = float("nan")
STRUCTS_OF_LISTS = pd.ArrowDtype(pa.struct({"a": pa.list_(pa.int64())}))
REFUSED = [
    (5, "int is not taken; give a path"),
    (None, "NoneType is not taken"),
    (b"a.dat", "bytes is not taken"),
    ([1, 2], "row 0 is 1, not a set of ids"),
    ({frozenset({1, 2}), frozenset({2})}, "a set has no order; give a list of its sets"),
    (frozenset({(1, 2), (2,)}), "rows go by their positions, and a frozenset has no order"),
    ([[pd.DataFrame({"a": [1]})]], "row 0 has +a 0 +1, which is no id"),
    ([{"id": 1, "item": 2}], "row 0 is the record {'id': 1, 'item': 2}, whose keys are no ids"),
    (
        [{1: 1}, {"a": [2]}],
        r"row 1 is the record {'a': \[2\]}, whose keys are no ids; give {id: set}",
    ),
    ([[1], None], "row 1 is None, not a set"),
    ([[1], "ab"], "row 1 is 'ab', not a set"),
    (pa.table({"a": [1]}).to_batches(), r"row 0 is pyarrow.RecordBatch a: .*, not a set of ids"),
    (memoryview(np.arange(3)), r"this array has shape \(3,\)"),
    (
        pd.DataFrame({"id": [1, 2], "r": [5, 6]}).groupby("id")["r"],
        "row 0 has 0 +5 .*, which is no id; for rows with ids give {id: set}",
    ),
    ([(1, [2, 5])], r"row 0 has \[2, 5\], which is no id; for rows with ids give \{id: set\}"),
    ([[1], [2, None]], "row 1 has None, which is no id; drop it"),
    ([[1], [], [NAN]], "row 2 has nan, a float, .* a missing id"),
    ([[1], [2.0]], "row 1 has 2.0, a float, .* give integers, by int"),
    ([[1], [np.array([1.5])[0]]], "row 1 has .*1.5.*, a float"),
    ([np.array([1]), np.array([1.5])], "row 1 has 1.5, a float"),
    ([[1], [True]], "row 1 has True, which is no id"),
    ([[1], [np.True_]], "row 1 has .*True.*, which is no id"),
    ([[1], [b"a"]], "row 1 has b'a', which is no id"),
    ([[1], ["a"]], "row 1 has 'a' where others are integers; integers and text do not mix"),
    ([["a"], [], ["b", 1]], "row 2 has 1 where others are text"),
    ([[1], [2**63]], "row 1 has 9223372036854775808, which is beyond"),
    ([[1], [-(2**63) - 1]], "row 1 has -9223372036854775809, which is beyond"),
    ([[1], [10**5000]], "row 1 has one of 16610 bits, which is beyond"),
    ([[1], [np.uint64(2**63)]], "row 1 has 9223372036854775808, which is beyond"),
    ([np.array([-1]), np.array([2**63], "u8")], "row 1 has 9223372036854775808, which is beyond"),
    ([np.array([2**63], ">u8")], "row 0 has 9223372036854775808, which is beyond"),
    (np.array([[2**63]], ">u8"), "row 0 has 9223372036854775808, which is beyond"),
    (pd.DataFrame({"id": np.array([2**63], ">u8"), "r": [1]}), "row 0 has 9223372036854775808"),
    ([[np.timedelta64(1, "s")]], "row 0 has .*timedelta64.*, which is no id"),
    ({1: [1], "a": [2]}, "the id of row 1 has 'a' where others are integers"),
    ({1: [1], None: [2]}, "the id of row 1 has None, which is no id; drop it"),
    ({1: [1], 2.5: [2]}, "the id of row 1 has 2.5, a float"),
    ({(1, 2): [1]}, r"the id of row 0 has \(1, 2\), which is no id; give integers or text"),
    ({1: 2}, "row 0 is 2, not a set"),
    (np.arange(3), r"this array has shape \(3,\)"),
    (np.array(3), r"this array has shape \(\)"),
    (np.zeros((2, 2, 2), int), r"this array has shape \(2, 2, 2\)"),
    (np.ones((2, 2)), r"dtype float64 is not taken for ids; give integers"),
    (np.ones((2, 2), bool), "dtype bool is not taken for ids; give scipy.sparse.csr_array"),
    (np.array([[1, 2], [3, 2**63]], "u8"), "row 1 has 9223372036854775808, which is beyond"),
    (np.ma.masked_array([[1, 2]], [[True, False]]), "a masked array is not taken"),
    (pd.Series([1, 2]), "a Series of lists is taken, this is one of int64"),
    (pd.Series([[1], None]), "row 1 is None, not a set"),
    (pd.Series([pd.NA, [1]]), "row 0 is <NA>, not a set"),
    (pd.Series([{"a": [1]}], dtype=STRUCTS_OF_LISTS), "a Series of lists is taken, this is one of"),
    (pd.Series([[1], [2]], index=[5, 5]), "5 is the id of row 0 and of row 1, .* unite them first"),
    (pd.Series([[1], [2]], index=[5, NAN]), "index None, row 1 has no id"),
    (pd.Series([[1]], index=pd.MultiIndex.from_tuples([(1, 2)])), "an index of several levels"),
    (pd.Index([1, 2]), "Index is not taken"),
    (
        pd.DataFrame({"r": [[1], [2]]}, index=[1, 3]),
        r"the index of this .*reset_index\(drop=True\)",
    ),
    (pd.DataFrame({"a": [1], "b": [1], "c": [1]}), "not clear .* give a DataFrame of two of them"),
    (pd.DataFrame(), "columns found: none; give"),
    (Ragged(), r"as an array \(lengths are not regular\); give a list of its rows"),
    (Partitions(), "a Partitions of tests? is not taken, whose columns may be rows' ids"),
    (pd.DataFrame({"id": [1, None], "r": [1, 2]}), "column 'id', row 1 has no id"),
    (pd.DataFrame({"id": [1.0, 2], "r": [1, 2]}), "column 'id', row 0 has 1.0, a float"),
    (pd.DataFrame({"id": [1, 2], "r": ["a", None]}), "column 'r', row 1 has no id"),
    (pd.DataFrame({"id": [1, 1], "r": [[1], [2]]}), "1 is the id of row 0 and of row 1"),
    (
        pd.DataFrame({"id": [1, 2], "r": ["[5]", "[5, 6]"]}),
        r"expected lists, or one id in each row of column 'r', found text like '\[5, 6\]'",
    ),
    (
        pa.table({"id": [1, 2], "r": ["{5}", "{5;6}"]}),
        "expected lists, or one id in each row of column 'r', found text like '{5;6}'",
    ),
    (pd.DataFrame({"id": np.array([2**63], "u8"), "r": [1]}), "row 0 has 9223372036854775808"),
    (pa.array([1]), "a Table, or an array of lists, found an array of int64"),
    (pa.array([[1], None]), "in every row of column 'other', found none in row 1"),
    (pa.array([[1], [], [None]]), "in every row of column 'other', found none in row 2"),
    (pa.array([[1.5]]), "integers or text in column 'other', found type double"),
    (pa.array([[2**63]], pa.list_(pa.uint64())), "64 bits with a sign .* 9223372036854775808"),
    (pa.table({"id": [1, 2], "r": with_coded_nulls([5, None])}), "column 'r', found none in row 1"),
    (
        pa.table({"id": with_coded_nulls([5, None]), "r": [1, 2]}),
        "column 'id', found none in row 1",
    ),
    (pa.table({"id": with_coded_nulls(["a", None]), "r": [1, 2]}), "column 'id', found none in"),
    (pa.ListArray.from_arrays([0, 1, 2], with_coded_nulls([5, None])), "found none in row 1"),
    (pa.ListArray.from_arrays([0, 1, 2], with_coded_nulls(["a", None])), "found none in row 1"),
    (pa.table({"id": [1, 1], "r": [[1], [2]]}), "1 is the id of row 0 and of row 1"),
    (pa.scalar(1), "Int64Scalar is not taken"),
    (pa.table({"a": [1]}), "sets need a column of ids and one of items"),
]


@pytest.mark.parametrize(("rows", "message"), REFUSED)
def test_what_is_refused(rows, message):
    with pytest.raises((wl.InputError, wl.InputTypeError), match=rf"^other: .*{message}"):
        as_sets(rows, "other")


@pytest.mark.parametrize("dtype", ["u8", ">u8"])
def test_integers_without_a_sign_next_to_others(dtype):
    # As floats they would be rounded.
    rows = [np.array([2**62 + 1], dtype), np.array([2**60 + 1])]
    assert plain(rows) == [(None, [2**62 + 1]), (None, [2**60 + 1])]


@pytest.mark.parametrize("values", [[5, 7, None], ["a", "b", None]])
def test_nulls_of_a_dictionary_that_no_row_has(values):
    table = pa.table({"id": [1, 2], "item": with_coded_nulls(values)[:2]})
    assert plain(table) == [(1, values[:1]), (2, values[1:2])]


@pytest.mark.parametrize("batch", [1, 2])
def test_kinds_that_change_between_batches(monkeypatch, batch):
    monkeypatch.setattr(listed, "_ROWS", batch)
    with pytest.raises(wl.InputTypeError, match=r"row [23] .*integers and text do not mix"):
        as_sets([[], [1], [], ["a"]], "rows")
    assert plain([[], [], ["a"], []]) == [(None, []), (None, []), (None, ["a"]), (None, [])]


def test_arrays_on_a_device():
    from warpladder.simulator import SimulatedDevice

    array = np.array([[1, 2], [3, 4]])
    assert plain(SimulatedDevice().to_device(array)) == plain(array)


class Stream:
    """What other libraries give Arrow's data by."""

    def __init__(self, given: Any) -> None:
        self._given = given

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._given.__arrow_c_stream__(requested_schema)


def test_arrays_with_names_are_arrays():
    """Xarray's give Arrow's data, too: of a table in long form."""
    xr = pytest.importorskip("xarray")
    named = xr.DataArray([[1, 2], [2, 3]], coords={"id": [7, 8], "item": [0, 1]})
    assert plain(named) == [(None, [1, 2]), (None, [2, 3])]


def test_streams_of_arrow():
    expected = [(None, row) for row in ROWS]
    assert plain(Stream(pa.table({"set": ROWS}))) == expected
    assert plain(Stream(pa.chunked_array([ROWS[:1], ROWS[1:]]))) == expected
    for empty in (pa.table({"set": ROWS})[:0], pa.chunked_array([ROWS])[:0]):
        assert plain(Stream(empty)) == []
    with pytest.raises(wl.InputTypeError, match="an array of lists, found an array of int64"):
        as_sets(Stream(pa.chunked_array([[1, 2]])), "rows")


def test_arrow_needs_pyarrow(monkeypatch):
    stream = Stream(pa.table({"set": ROWS}))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(wl.MissingExtraError, match="needs pyarrow"):
        as_sets(stream, "rows")


def test_polars():
    polars = pytest.importorskip("polars")
    for rows in (ROWS, WORDS):
        assert plain(polars.Series(rows)) == [(None, row) for row in rows]
        frame = polars.DataFrame({"id": IDS, "related_ids": rows})
        assert plain(frame) == list(zip(IDS, rows, strict=True))
        with pytest.raises(wl.InputTypeError, match=r"a LazyFrame is not taken; .collect"):
            as_sets(frame.lazy(), "rows")
    pairs = polars.DataFrame({"id": ["b", "a", "b"], "item": ["x", "x", "y"]})
    assert plain(pairs) == [("b", ["x", "y"]), ("a", ["x"])]
    with pytest.raises(wl.InputTypeError, match="found none in row 1"):
        as_sets(polars.Series([[1], None]), "rows")
    with pytest.raises(wl.InputTypeError, match=r"expected lists, .* found text like '1;2'"):
        as_sets(polars.DataFrame({"id": [1, 2], "item": ["1", "1;2"]}), "rows")


def test_integers_of_polars_that_arrow_has_not():
    polars = pytest.importorskip("polars", minversion="1.20")
    rows = polars.Series([[1, 2], [2]], dtype=polars.List(polars.Int128))
    for table in (rows, polars.DataFrame({"id": [1, 2], "items": rows})):
        with pytest.raises(wl.InputTypeError, match=r"rows: pyarrow cannot read this .* cast its"):
            as_sets(table, "rows")


def test_the_data_of_the_source():
    path = Path(__file__).parents[2] / "data" / "related_ids.txt"
    assert plain(path) == [
        (1, [2, 5, 6, 10, 11]),
        (2, [5, 10, 11, 15]),
        (3, [6, 10, 11, 17]),
        (4, [3, 10, 12, 17]),
    ]
