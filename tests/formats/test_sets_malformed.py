"""Files of sets that are malformed, or may be read in two ways: refused, with the line."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import warpladder as wl
from warpladder.errors import WarpladderError

if TYPE_CHECKING:
    from pathlib import Path

LARGE = "9223372036854775808"
# content, options, line, part of what was expected, part of what was found
MALFORMED = [
    ("", {}, None, "rows, or a header alone", "an empty file"),
    ("\n \n# none\n", {}, None, "rows, or a header alone", "an empty file, but for comments"),
    ("", {"format": "fimi"}, None, "rows", "an empty file"),
    ("", {"format": "jsonl"}, None, "rows", "an empty file"),
    ("1 {2, 5}\n2 {5, 1", {}, 2, "'}' behind the ids", "'{5, 1'"),
    ("1 {2, 5}\n2 5, 1\n", {}, 2, "a line like '1 {2, 5, 6}'", "'2 5, 1'"),
    ("1 2, 5\n2 {5, 1}\n", {}, 1, "a line like '1 {2, 5, 6}'", "'1 2, 5'"),
    ("1 {2,, 5}\n", {}, 1, "ids with ','", "'{2,, 5}'"),
    ("1 {2, 5,}\n", {}, 1, "ids with ','", "'{2, 5,}'"),
    ("1 {2, 5} 6\n", {}, 1, "ids with ','", "'{2, 5} 6'"),
    ("1 {2; 5}\n", {}, 1, "one id between two delimiters", "'{2; 5}' (give the delimiter"),
    ("1 {2 5}\n", {}, 1, "one id between two delimiters", "'{2 5}' (give the delimiter"),
    ("1 {2}\n{5}\n", {}, 2, "an id in front", "'{5}'"),
    (f"1 {{2}}\n2 {{{LARGE}}}\n", {}, 2, "64 bits with a sign", LARGE),
    (f"1 {{2}}\n{LARGE} {{2}}\n", {}, 2, "64 bits with a sign", LARGE),
    (f"1 {{2}}\n2 {{-{LARGE[:-1]}9}}\n", {}, 2, "64 bits with a sign", f"-{LARGE[:-1]}9"),
    # What is left of it in 64 bits is 1.
    (f"1 2 3\n{2**64 + 1}\n", {}, 2, "64 bits with a sign", "18446744073709551617"),
    (f"1 2 3\n{'9' * 5000}\n", {}, 2, "64 bits with a sign", "999..."),
    ("id,related_ids\n1,2;5\n2\n", {}, 3, "2 fields, as in line 1", "'2'"),
    ("id,related_ids\n1,2;5\n2,5;6,7\n", {}, 3, "2 fields, as in line 1", "'2,5;6,7'"),
    ("1,2;5;6\n" + 9999 * "2,5\n" + "3,5,6\n", {"merge": True}, 10001, "2 fields", "'3,5,6'"),
    ('1,"2,5"\n' * 9999 + "3,5,6\n", {}, 10000, "2 fields", "'3,5,6'"),
    ("1,2;5\n2,;6\n", {"delimiter": ";"}, 2, "ids with ';' between them", "';6'"),
    ("1,2;5;6\n,5;6\n", {}, 2, "an id", "',5;6'"),
    ('1,"2;5"\n2,"5;6\n', {"delimiter": ";"}, 2, "closed quotes", "'2,\"5;6'"),
    ('1,2;5;6\n2,"5;6"7\n', {}, 2, "closed quotes", "'2,\"5;6\"7'"),
    ("1,2;5;6\n2,5|6\n", {"format": "lists", "delimiter": ";", "merge": True}, None, "", ""),
    ("1,2\n1,5\n" * 9999 + "2,5;6\n", {}, 19999, "one id", "'5;6' (the first lines have one"),
    ("1,2\n1,5\n" * 9999 + "2,5 6\n", {}, 19999, "one id", "'5 6' (the first lines have one"),
    ("1,2\n1,\n", {"format": "pairs"}, 2, "one id and one related id", "'1,'"),
    ("1 2\n1 5 6\n", {"format": "pairs"}, 2, "2 fields", "'1 5 6'"),
    ("1 2\n1\n", {"format": "pairs"}, 2, "2 fields", "'1'"),
    ("1 2 3\n" * 19999 + "4 5,6\n", {}, 20000, "one id", "'4 5,6' (read as one set a line"),
    ("1: 2 5\n2: 5\n", {}, 1, "one id between", "'1: 2 5' (read as one set a line; else give"),
    ("alice,tea;milk\nbob,milk\n#tags,tea\n", {}, 3, "a blank after the #", "'#tags,tea'"),
    ("id,related_ids\n# none\n#tags,1\n", {}, 3, "a blank after the #", "'#tags,1'"),
    ("#tea #milk\n#tea\n", {"format": "fimi"}, 1, "a blank after the #", "'#tea #milk'"),
    ('{"id": 1, "related_ids": [2]}\n{"id": 2}\n', {}, 2, 'like {"id": 1, "', '{"id": 2}'),
    ('{"id": 1, "related_ids": [2]}\n{"related_ids": []}\n', {}, 2, '{"id": 1', "related"),
    ('{"id": 1, "related_ids": [2]}\n[1, [2]]\n', {}, 2, "an object like", "[1, [2]]"),
    ('{"id": 1, "related_ids": [2]}\n{"id": 2, "rel', {}, 2, "a line of JSON", '\'{"id": 2'),
    ('{"id": 1, "related_ids": [2]}\n{"id": 2, "related_ids": 5}\n', {}, 2, "an object", "5}"),
    ('{"id": 1, "id": 2, "related_ids": [2]}\n', {}, 1, "a line of JSON", "a key stands there"),
    ("[1, [2]]\n[2, [5], 6]\n", {}, 2, "an id and a list", "[2, [5], 6]"),
    ("[1, 2]\n{}\n", {}, 2, "a list of ids", "'{}'"),
    ("[1, 2]\n[01]\n", {}, 2, "a line of JSON", "'[01]'"),
    ("[\n[1, 2],\n[2, 3]\n]\n", {}, 1, "a line of JSON that is a whole row", "'['"),
    ("[1, 2]\n[+1]\n", {}, 2, "a line of JSON", "'[+1]'"),
    ("[1, 2]\n[2.0]\n", {}, 2, "integers or text as items", "'2.0'"),
    ("[1, 2]\n[true]\n", {}, 2, "integers or text as items", "'true'"),
    ("[1, 2]\n[null]\n", {}, 2, "integers or text as items", "'null'"),
    ('["a"]\n["b", 3]\n', {}, 2, "text, as other items are; integers and text do not mix", "'3'"),
    ('[1]\n["b"]\n', {}, 1, "text, as other items are", "'1'"),
    (f"[1]\n[{LARGE}]\n", {}, 2, "ids of 64 bits", LARGE),
    ('["a", ""]\n', {}, 1, "ids that are not empty", ""),
    ('["\\ud800"]\n', {}, 1, "a line of JSON", "surrogates"),
    ("[" * 100_000 + "\n", {}, 1, "a line of JSON", "[[["),
    ("1 {2}\r2 {3}\r", {}, 1, "lines that end with LF or CR LF", "a CR by itself"),
]


@pytest.mark.parametrize(("content", "options", "line", "expected", "found"), MALFORMED)
@pytest.mark.parametrize("packed", [False, True])
def test_malformed_file(
    tmp_path: Path,
    content: str,
    options: dict[str, Any],
    line: int | None,
    expected: str,
    found: str,
    packed: bool,
) -> None:
    path = tmp_path / "sets.txt"
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    if not expected:
        # With a delimiter that a person gave, another sign is part of a name.
        assert wl.read_sets(path, **options).words.tolist() == ["2", "5", "6", "5|6"]
        return
    with pytest.raises(wl.FileFormatError) as raised:
        wl.read_sets(path, **options)
    error = raised.value
    assert (error.path, error.line) == (path, line)
    assert expected in error.expected
    assert found in error.found
    assert len(str(error)) < 400 + len(str(path))


UNCLEAR = [
    ("1 2\n1 5\n", {}, "may be pairs of an id and a related id, or sets of two ids each"),
    ('"a b" c d\n', {}, "quotes, but nothing between columns"),
    ("1,2;5\n2,5;6\n", {}, r"',' or ';' may part the columns; give the delimiter, the other one"),
    # Between semicolons 1,2 would be an id.
    ("1,2;3,7\n2,4;5,9\n", {"ids": 0, "items": 1}, r"',' or ';' may part the columns"),
    # Inches, in pairs or alone, are no quotes around a field.
    ('1;5" , 6"\n2;7" , 8"\n', {}, r"',' or ';' may part the columns"),
    ('1,5";6\n2,7";8\n', {}, r"',' or ';' may part the columns"),
    ("alice,tea milk\ncarl,tea\n", {"header": False}, "lists or names, as in 'tea milk'"),
    ('alice,"tea, milk"\ncarl,tea\n', {"header": False}, "lists or names, as in 'tea, milk'"),
    ("1,2;5\n2,5|6\n3,1\n", {"header": False}, "more than one sign may part"),
    ("1,2\n2,\n", {}, "a row has no related ids"),
    ("a,b,c\n1,2;5,3\n", {}, "not clear which column holds the items; columns found: 'a', 'b'"),
    ("id,b,c\n1,2;5,3\n", {}, "not clear which column holds the items"),
    ("id,items\n1,2;5\n", {"ids": "row"}, "ids='row' is no column; columns found: 'id', 'items'"),
    ("id,items\n1,2;5\n", {"items": 7}, "items=7 is no column"),
    ("1,2;5;6\n", {"items": "items"}, "items='items' is no column; columns found: '1', '2;5;6'"),
    ("id,items\n1,2;5\n", {"ids": 1, "items": 1}, "must be different columns"),
    ("id,items,items\n1,2;5,3\n", {"items": "items"}, "'items' stands there twice"),
    ("1 {2}\n", {"ids": 1}, "ids=1 has no meaning .* read as braces; it is for lists, pairs"),
    ("2 5 6\n", {"format": "fimi", "merge": True}, "merge=True has no meaning"),
    ("1,2\n1,5\n", {"format": "pairs", "delimiter": ";"}, "delimiter=';' has no meaning"),
    ("[1]\n", {"header": True}, "header=True has no meaning .* read as jsonl"),
    ("[1]\n", {"items": "a"}, "items='a' has no meaning .* without keys"),
    ('{"a": [1], "b": [2]}\n', {}, "not clear which column holds the ids"),
    ("1 {2}\n", {"format": "csv"}, "format='csv' is not known; use auto or one of braces, lists"),
    ("1 {2}\n", {"delimiter": "::"}, "delimiter='::' must be one character"),
    ("1 {2}\n", {"delimiter": "{"}, "delimiter='{' must be one character"),
    ("a\nb\n", {"format": "lists"}, "sets need a column of ids and one of items"),
]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": 3}, "delimiter=3 must be text"),
        ({"header": "no"}, "header='no' must be True or False"),
        ({"merge": "no"}, "merge='no' must be True or False"),
        ({"progress": 3}, "progress=3 cannot be called"),
    ],
)
def test_arguments_of_a_wrong_kind(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    path = tmp_path / "sets.csv"
    path.write_text("id,items\n1,2;5\n")
    with pytest.raises(wl.InputTypeError, match=message):
        wl.read_sets(path, **options)


@pytest.mark.parametrize(("content", "options", "message"), UNCLEAR)
def test_what_is_not_clear(
    tmp_path: Path, content: str, options: dict[str, Any], message: str
) -> None:
    path = tmp_path / "sets.txt"
    path.write_text(content)
    with pytest.raises(wl.InputError, match=message) as raised:
        wl.read_sets(path, **options)
    assert str(path) in str(raised.value) or "=" in message


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        # Names of ids and items; integers below a name; a list; a name that stands again.
        ("id,items\nb,x\na,y\n", 2),
        ("who,what\nb,1\na,2\n", 2),
        ("who,what\nb,1;2\na,\n", 2),
        ("1,x\n2,y\n", 2),
        ("b,x;y\na,y;z;x\n", 2),
        ('b,"1,2,3"\na,"2,3"\n', 2),
        ("b\t1 2\na\t3\n", 2),
        ('b,"(1, 2)"\na,"(3, 4)"\n', 2),
        ("b,x\nb,y\n", 1),
        ("id,related_ids\n", 0),
    ],
)
def test_headers(tmp_path: Path, content: str, rows: int) -> None:
    path = tmp_path / "sets.csv"
    path.write_text(content)
    assert len(wl.read_sets(path)) == rows


@pytest.mark.parametrize(
    "content", ["who,what\nb,x\na,y\n", "b,x\na,y\n", "who,what\nb,x;y\n", "b,\na,1;2\n"]
)
def test_a_first_line_that_may_be_either(tmp_path: Path, content: str) -> None:
    path = tmp_path / "sets.csv"
    path.write_text(content)
    with pytest.raises(wl.FileFormatError, match=r"line 1: .* header=True or header=False"):
        wl.read_sets(path)
    rows = content.count("\n")
    assert len(wl.read_sets(path, header=True)) == rows - 1
    assert len(wl.read_sets(path, header=False)) == rows


@pytest.mark.parametrize("block", [1, 1 << 20])
def test_bytes_that_are_not_utf8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr("warpladder.formats.set_rows._BLOCK_BYTES", block)
    path = tmp_path / "sets.txt"
    for content in (b"1 {2}\n2 {3}\n3 {\xe9}\n", "é {2}\n2 {3}\n".encode() + b"\xe9 {3}\n"):
        path.write_bytes(content)
        with pytest.raises(wl.FileFormatError, match=r"line 3: expected text in UTF-8, .* 0xe9"):
            wl.read_sets(path)
    path.write_bytes(b"1,2;3;4\n2,\0\n")
    with pytest.raises(wl.FileFormatError, match="line 2: expected text, found a NUL byte"):
        wl.read_sets(path, merge=True)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (bz2.compress(b"1,2\n"), "what bzip2 has packed; unpack it first"),
        (lzma.compress(b"1,2\n"), "what xz has packed; unpack it first"),
        (
            gzip.compress(gzip.compress(b"1,2\n")),
            "what gzip, once more, has packed; unpack it first",
        ),
        (b"\x28\xb5\x2f\xfd\x24\x04\x21\0\0", "what zstd has packed; unpack it first"),
        ("1,2\n".encode("utf-16"), "UTF-16; convert it first"),
    ],
)
def test_what_is_packed_or_written_otherwise(tmp_path: Path, content: bytes, found: str) -> None:
    path = tmp_path / "sets.csv"
    path.write_bytes(content)
    for read in (wl.read_sets, wl.read_graph, wl.open_values):
        with pytest.raises(wl.FileFormatError) as raised:
            read(path)
        assert (raised.value.line, raised.value.found) == (None, found)


@pytest.mark.parametrize(("content", "line"), [("1,2\n\ufeff3,4\n", 2), ("\ufeff\ufeff1,2\n", 1)])
def test_files_that_were_joined_with_their_byte_order_marks(
    tmp_path: Path, content: str, line: int
) -> None:
    path = tmp_path / "joined.csv"
    path.write_text(content)
    for read in (
        lambda: wl.read_sets(path, merge=True),
        lambda: wl.read_graph(path),
        lambda: wl.reduce(wl.open_values(path, column=0)),
    ):
        with pytest.raises(wl.FileFormatError, match="byte order mark") as raised:
            read()
        assert raised.value.line == line


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(wl.InputError, match=r"cannot read .*nothing"):
        wl.read_sets(tmp_path / "nothing.dat")
    with pytest.raises(wl.InputError, match="cannot read"):
        wl.read_sets(tmp_path)
    path = tmp_path / "a.dat.gz"
    path.write_bytes(gzip.compress(b"1 2 3\n" * 9999)[:-10])
    with pytest.raises(wl.FileFormatError, match="expected a whole gzip file"):
        wl.read_sets(path)


class Good(NamedTuple):
    """A good file, and how it is read."""

    content: bytes
    options: dict[str, Any] = {}  # noqa: RUF012 - none is changed


GOOD = {
    "braces": Good(b"id related_ids\n1 {2, 5}\n20 {}\n3 {-7}\n"),
    "names": Good("zo\u00eb {tea, 'x'}\nbo {}\n".encode()),
    "table": Good(b'id,note,related_ids\n1,"a,b",2;5\n2,,7\n'),
    "in quotes": Good(b'1,"[2, 5]"\n"2",[]\n'),
    "lists asked for": Good(b"1\t2 5\n20\t\n", {"format": "lists", "delimiter": " "}),
    "pairs": Good(b"id\trelated\n1\t2\n7\t3\n1\t9\n"),
    "pairs asked for": Good(b"1 2\n7 3\n1 9\n", {"format": "pairs"}),
    "one a line": Good(b"2 5 6\n\n7 \n"),
    "one a line asked for": Good(b"2,5\n7\n", {"format": "fimi", "delimiter": ","}),
    "objects": Good(b'{"id": 1, "related_ids": [2, 5]}\n{"id": 2, "related_ids": []}\n'),
    "packed": Good(gzip.compress(b"1 {2, 5}\n20 {3}\n", mtime=0)),
}


def answer(path: Path, content: bytes, options: dict[str, Any]) -> wl.Sets | None:
    """What is read, None for a refusal of ours that is as it should be."""
    path.write_bytes(content)
    try:
        sets = wl.read_sets(path, **options)
    except WarpladderError as error:
        message = str(error)
        assert str(path) in message
        assert len(message.splitlines()) == 1
        assert len(re.sub(re.escape(str(path)), "", message)) <= 300
        return None
    assert sets.starts[0] == 0
    assert sets.starts[-1] == len(sets.items)
    assert (sets.starts[1:] >= sets.starts[:-1]).all()
    return sets


@pytest.mark.parametrize("name", GOOD)
def test_a_file_cut_or_changed_anywhere(tmp_path: Path, name: str) -> None:
    path = tmp_path / "sets"
    content, options = GOOD[name]
    assert answer(path, content, options) is not None
    for place in range(len(content)):
        read = answer(path, content[:place], options)
        assert read is None or name != "packed"
        for change in (0x01, 0x80):
            changed = bytearray(content)
            changed[place] ^= change
            answer(path, bytes(changed), options)


DAMAGE = st.lists(
    st.tuples(
        st.floats(0, 1), st.integers(0, 9), st.one_of(st.binary(max_size=8), st.text('0-9 \t,;{"'))
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("name", GOOD)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(damage=DAMAGE)
def test_a_file_damaged_in_several_places(
    tmp_path: Path, name: str, damage: list[tuple[float, int, bytes | str]]
) -> None:
    content, options = GOOD[name]
    for where, removed, inserted in damage:
        begin = int(where * len(content))
        junk = inserted.encode() if isinstance(inserted, str) else inserted
        content = content[:begin] + junk + content[begin + removed :]
    answer(tmp_path / "sets", content, options)
