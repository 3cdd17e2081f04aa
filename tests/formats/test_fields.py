"""The reading in bulk never says anything else than the careful reading line by line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from warpladder.errors import FileFormatError
from warpladder.formats import fields
from warpladder.formats.fields import Field, Layout
from warpladder.formats.padded_ids import may_be_padded
from warpladder.formats.text import TextFile

NUMBERS = """0 1 2 3 +2 -1 007 1.0 1. .5 -0 1e3 1E+2 inf INF +inf Infinity -inf nan NaN 1e400 1e-400
9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 1e19 1e20
9007199254740992 9007199254740993 -9007199254740993 9007199254740993.0"""
OTHERS = (
    """1_000 0x10 1d5 1+2 -- + . e5 \uff11 \u0663 a é "a" "a "a"b a"b # % ~ ; x"y True 1j (1)"""
)
TOKENS = st.sampled_from([*NUMBERS.split(), *OTHERS.split()]) | st.text(
    st.characters(exclude_characters="\r\n\0", exclude_categories=("Cs",)), max_size=4
)
KINDS = st.sampled_from(["word", "name", "id", "vertex", "integer", "real", "weight", "ignored"])


@st.composite
def files(draw: st.DrawFn) -> tuple[list[str], Layout]:
    kinds = draw(st.lists(KINDS, min_size=1, max_size=3))
    delimiter = draw(st.sampled_from([None, ",", ";", "\t"]))
    blank = " " if delimiter is None else delimiter
    row = st.lists(TOKENS, min_size=len(kinds), max_size=len(kinds)) | st.lists(TOKENS, max_size=4)
    lines = [blank.join(tokens) for tokens in draw(st.lists(row, max_size=4))]
    titles = ["a" if kind == "word" else kind for kind in kinds]
    comments = draw(st.sampled_from(["", "#%"]))
    has_quotes = delimiter is None and draw(st.booleans())
    layout = Layout(
        tuple(map(Field, kinds, titles)), "a row", comments, delimiter, 3, has_quotes=has_quotes
    )
    return lines, layout


def outcome(lines: list[str], layout: Layout) -> list[tuple[str, list[Any]]] | None:
    try:
        columns = fields.parse_rows(TextFile(Path("f"), lines), layout, 0)
    except FileFormatError:
        return None
    return [(str(column.dtype), column.tolist()) for column in columns]


@given(files())
@example((["0 1.5"], Layout((Field("weight", "weight"),) * 2, "a row")))
@example((["0,\xa05"], Layout((Field("id", "id"), Field("weight", "weight")), "a row", "", ",")))
@example((['"a b" c', "d\te f"], Layout((Field("name", "name"),) * 2, "a row", has_quotes=True)))
@example((["a,b", '""'], Layout((Field("name", "name"),) * 2, "a row", "", ",")))
def test_bulk_agrees_with_line_by_line(case: tuple[list[str], Layout]) -> None:
    found = outcome(*case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fields, "_parse_in_bulk", lambda *_: None)
        assert found == outcome(*case)


@pytest.mark.parametrize("delimiter", [None, ",", "\t"])
@pytest.mark.parametrize("quote", ["", '"'])
def test_well_formed_rows_take_the_fast_way(
    monkeypatch: pytest.MonkeyPatch, delimiter: str | None, quote: str
) -> None:
    monkeypatch.delattr(fields, "_parse_line_by_line")
    lines = [f"{quote}a{quote}{delimiter or ' '}1{delimiter or ' '}2.5", "", "# comment"]
    expected = Field("name", "n"), Field("vertex", "v"), Field("weight", "w")
    layout = Layout(expected, "", "#", delimiter, 1, has_quotes=True)
    names, vertices, weights = fields.parse_rows(TextFile(Path("f"), lines), layout, 0)
    assert (names.tolist(), vertices.tolist(), weights.tolist()) == (["a"], [1], [2.5])


def test_numpy_never_sees_other_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    read_as_integers: list[list[str]] = []
    load = fields._load

    def watched(rows: list[str], dtype: np.dtype[Any], *rest: Any) -> Any:
        table = load(rows, np.dtype([(name, "O") for name in dtype.names or ()]), *rest)
        for name, column in zip(dtype.names or (), table or [], strict=False):
            if dtype[name].kind == "i":
                read_as_integers.append(column.tolist())
        return load(rows, dtype, *rest)

    monkeypatch.setattr(fields, "_load", watched)
    layout = Layout((Field("id", "u"), Field("id", "v"), Field("weight", "w")), "")
    for lines in (["1 2 3", "é 5 6"], ["1 2 3", "4 5 \U000f1c7f"], ["1 2 3", "é"]):
        outcome(lines, layout)
    assert ["3", "6"] in read_as_integers
    assert all("".join(column).isascii() for column in read_as_integers)


def test_start_and_stop_bound_the_rows_and_not_the_line_numbers() -> None:
    file = TextFile(Path("f"), ["head", "1", "x", "tail"])
    layout = Layout((Field("integer", "number"),), "a number")
    assert fields.parse_rows(file, layout, 1, 2)[0].tolist() == [1]
    with pytest.raises(FileFormatError, match="line 3"):
        fields.parse_rows(file, layout, 1, 3)


def test_no_rows_give_empty_columns_of_the_right_dtype() -> None:
    kinds = ["name", "id", "vertex", "integer", "real", "weight"]
    layout = Layout(tuple(Field(kind, "") for kind in kinds), "")  # type: ignore[arg-type]
    columns = fields.parse_rows(TextFile(Path("f"), [""]), layout, 0)
    assert [column.dtype for column in columns] == [object, *[np.int64] * 3, np.float64, np.int64]
    assert {column.shape for column in columns} == {(0,)}


@pytest.mark.parametrize("end", ["+5", "0042", "1.2e+05", "-0", "2026-01-02 10:05:07", " 07 "])
@pytest.mark.parametrize("delimiter", [None, ",", "\t", "."])
def test_only_ids_are_looked_at_for_padding(end: str, delimiter: str | None) -> None:
    """Elsewhere it would cost the fast reading of ids as integers."""
    sign = delimiter or " "
    rest = sign.join(end.split()) if delimiter is None else end
    are_ids = [True, True, *[False] * len(rest.split(delimiter))]
    good = f" 7{sign}-10 {sign}{rest}"
    assert not may_be_padded([good, good], delimiter, are_ids)
    for bad in ("07", "+7", "-0", "-07", "00"):
        for row in (f"{bad}{sign}1{sign}{rest}", f"1{sign}{bad}{sign}{rest}"):
            assert may_be_padded([good, row, good], delimiter, are_ids)


@pytest.mark.parametrize("rows", [["1 2 07 3", "1 2"], ["1 2", "1 2 07 3"], ["1 2 07 3"]])
def test_uneven_rows_may_be_padded(rows: list[str]) -> None:
    assert may_be_padded(rows, None, [True, True, False])


@pytest.mark.parametrize("blank", ["\xa0", "\u3000", "\x1c", " \u2028"])
def test_padding_after_other_blanks(blank: str) -> None:
    assert may_be_padded([f"1{blank}07"], None, [True, True])
    assert may_be_padded([f"1 {blank}07"], None, [True, True])
    assert not may_be_padded([f"1{blank}7{blank}07"], None, [True, True, False])


def test_an_empty_id_at_the_end_of_rows() -> None:
    assert not may_be_padded(["07,1,"], ",", [False, True, True])
