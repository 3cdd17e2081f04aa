"""Files of sets: every layout gives the same rows, whatever way it is read."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import warpladder as wl
from warpladder.formats import set_rows
from warpladder.formats.set_files import SET_FORMATS
from warpladder.formats.set_lines import LineGrammar, list_tokens
from warpladder.formats.set_rows import NotIntegersError, Text
from warpladder.formats.text import Block

IM = (
    "id related_ids\n1 {2, 5, 6, 10, 11}\n2 {5, 10, 11, 15}\n3 {6, 10, 11, 17}\n4 {3, 10, 12, 17}\n"
)
IM_SETS = {1: [2, 5, 6, 10, 11], 2: [5, 10, 11, 15], 3: [6, 10, 11, 17], 4: [3, 10, 12, 17]}
DATA = Path(__file__).parents[2] / "data" / "related_ids.txt"
a_folder_for_all_examples = settings(
    max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def rows_of(sets: wl.Sets) -> list[tuple[Any, list[Any]]]:
    """Return rows as plain Python: the id, None where there is none, and the items."""
    assert sets.starts.dtype == np.int64
    items = sets.items if sets.words is None else sets.words[sets.items]
    ids = [None] * len(sets) if sets.ids is None else sets.ids.tolist()
    cuts = zip(sets.starts, sets.starts[1:], strict=False)
    return [(one, items[a:b].tolist()) for one, (a, b) in zip(ids, cuts, strict=True)]


def read(path: Path, text: str | bytes, **options: Any) -> list[tuple[Any, list[Any]]]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return rows_of(wl.read_sets(path, **options))


def test_the_rows_of_the_source(tmp_path):
    sets = wl.read_sets(DATA)
    assert dict(rows_of(sets)) == IM_SETS
    assert (sets.ids.dtype, sets.items.dtype, sets.words) == (np.int64, np.int32, None)
    assert DATA.read_text() == IM


SAME = [(1, [2, 5, 6]), (7, []), (3, [10])]
LAYOUTS = {
    "braces": ("1 {2, 5, 6}\n7 {}\n3 {10}\n", {}),
    "braces, header, odd blanks": ("id  rel\n\n 1\t{2 ,5,  6 }\r\n7{ }\n\n3 {10}", {}),
    "braces, other sign": ("1 {2; 5; 6}\n7 {}\n3 {10}\n", {"delimiter": ";"}),
    "braces, blanks": ("1 {2 5 6}\n7 {}\n3 {10}\n", {"delimiter": " "}),
    "comma, semicolon": ('1,"2;5;6"\n7,\n3,10\n', {}),
    "comma, bar": ("1,2|5|6\n7,\n3,10\n", {}),
    "comma, comma": ('1,"2,5,6"\n7,\n3,10\n', {}),
    "comma, comma as asked": ('1,"2,5,6"\n7,""\n3,10\n', {"delimiter": ","}),
    "comma, blank": ("1,2 5  6\n7,\n3,10\n", {}),
    "tab, blank": ("1\t2 5 6\n7\t\n3\t10\n", {}),
    "tab, comma": ("1\t2,5,6\n7\t\n3\t10\n", {"header": False}),
    "semicolon, comma": ("1;2,5,6\n7;\n3;10\n", {}),
    "bar, comma": ("1|2,5,6\n7|\n3|10\n", {}),
    "in brackets": ('id,related_ids\n1,"[2, 5, 6]"\n7,[]\n3,[10]\n', {}),
    "in braces, quoted": ('"1","{2, 5, 6}"\n"7",{}\n"3","{10}"\n', {}),
    "blanks around quotes": ('"id" , "items"\n"1" , "2;5;6" \n7\t,\t""\n3,"10"\n', {}),
    "tab, blanks around quotes": ('1\t "2;5;6"\n"7" \t""\n3\t"10" \n', {}),
    "tab, in braces": ("id\tnote\titems\n1\tx\t{2,5,6}\n7\ty\t{}\n3\tz\t{10}\n", {}),
    "by name": ("a,b,c\n2;5;6,x,1\n,y,7\n10,z,3\n", {"ids": "c", "items": "a"}),
    "by number": ("2;5;6,x,1\n,y,7\n10,z,3\n", {"ids": 2, "items": "0"}),
    "known names": ("related_ids,note,id\n2;5;6,x,1\n,y,7\n10,z,3\n", {}),
    "comments": ("# made up\nid,related_ids\n# none\n1,2;5;6\n\n7,\n  # nor this\n3,10\n", {}),
    "objects": (
        """{"id": 1, "related_ids": [2, 5, 6]}
{"id":7,"related_ids":[]}

{"id": 3, "related_ids": [10]}""",
        {},
    ),
    "objects, other order": (
        '{"id": 1, "x": {}, "items": [2, 5, 6]}\n{"items": [], "id": 7}\n{"id": 3, "items": [10]}',
        {"ids": "id"},
    ),
    "arrays": ("[1, [2, 5, 6]]\n[7, []]\n[3,[10]]\n", {}),
}


@pytest.mark.parametrize(("text", "options"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_layouts(tmp_path, text, options):
    path = tmp_path / "sets.txt"
    assert read(path, text, **options) == SAME
    # The same line by line.
    assert read(path, "\ufeff" + text, **options) == SAME


@pytest.mark.parametrize(("text", "options"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_layouts_line_by_line(tmp_path, monkeypatch, text, options):
    monkeypatch.setattr(set_rows, "_in_bulk", lambda *_: None)
    assert read(tmp_path / "sets.txt", text, **options) == SAME


@pytest.mark.parametrize(("text", "options"), LAYOUTS.values(), ids=LAYOUTS.keys())
def test_layouts_of_words(tmp_path, text, options):
    """A word in the last line makes words of all."""
    last = text.rstrip("\n")
    quote = '"' if last.startswith(("{", "[")) else ""
    if quote:
        for number in ("10", "1", "2", "3", "5", "6", "7"):
            for sign in "[ ,:":
                last = last.replace(f"{sign}{number},", f'{sign}"{number}",')
                last = last.replace(f"{sign}{number}]", f'{sign}"{number}"]')
            last = last.replace(f": {number}}}", f': "{number}"}}')
    changed = last.replace("10", "x1")
    path = tmp_path / "sets.txt"
    if (
        not any(sign in text for sign in "[{")
        and "2|5" not in text
        and text.count(";") != 2
        and not options.keys() - {"header"}
    ):
        # Names have blanks and commas, too.
        with pytest.raises(wl.InputError, match="not clear whether fields are lists or names"):
            read(path, changed, **options)
        options = {**options, "delimiter": "," if "2,5" in text else " "}
    expected = [
        (str(one) if quote else one, ["x1" if item == 10 else str(item) for item in items])
        for one, items in SAME
    ]
    assert read(path, changed, **options) == expected


@pytest.mark.parametrize("text", ["1,2\n7,5\n1,5\n3,10\n1,6\n", "1\t2\n7\t5\n1\t5\n3\t10\n1\t6\n"])
def test_long_form(tmp_path, text):
    expected = [(1, [2, 5, 6]), (7, [5]), (3, [10])]
    path = tmp_path / "pairs.txt"
    assert read(path, text) == expected
    assert read(path, text, format="pairs") == expected
    assert read(path, "related,id\n2,1\n5,7\n5,1\n10,3\n6,1") == expected
    assert read(path, text.replace(",", " ").replace("\t", " "), format="pairs") == expected
    assert read(path, text.replace(",", " ").replace("\t", " "), ids=0, items=1) == expected
    words = [(str(one), [f"x{item}" for item in items]) for one, items in expected]
    sign = text[1]
    changed = "".join(f"{a}{sign}x{b}\n" for a, b in (row.split(sign) for row in text.splitlines()))
    assert read(path, changed, header=False) == [(int(one), items) for one, items in words]
    # Rows that come one after the other are not moved.
    assert read(path, "1,2\n1,5\n1,6\n7,5\n3,10\n") == expected


def test_one_set_a_line(tmp_path):
    path = tmp_path / "baskets.dat"
    expected = [(None, [30, 31, 32]), (None, []), (None, [33]), (None, [1, 1])]
    assert read(path, "30 31 32 \n\n33\n1  1\n") == expected
    assert read(path, "30\t31 32\n\n33\n1\t 1\n", format="fimi") == expected
    assert read(path, "# none\n30 31 32 \n\n33\n1 1") == expected
    assert read(path, "tea milk\n\ntea\n") == [(None, ["tea", "milk"]), (None, []), (None, ["tea"])]
    assert read(path, "[30, 31, 32]\n[]\n[33]\n[1,1]\n") == expected
    # Pairs look alike, but for the file's name.
    assert read(path, "1 2\n3 4\n") == [(None, [1, 2]), (None, [3, 4])]
    assert read(path, "a: 1:2\n", format="fimi") == [(None, ["a:", "1:2"])]
    commas = "tea,milk,oat flakes\ntea\n"
    assert read(path, commas, format="fimi", delimiter=",") == [
        (None, ["tea", "milk", "oat flakes"]),
        (None, ["tea"]),
    ]
    assert read(path, "\n\n", format="fimi") == [(None, []), (None, [])]
    assert read(path, "\n\n") == [(None, []), (None, [])]
    with pytest.raises(wl.InputError, match=r"merge=True has no meaning for .*, read as fimi"):
        read(path, "\n\n", merge=True)
    with pytest.raises(wl.FileFormatError, match="an empty file"):
        read(tmp_path / "baskets.txt", "\n\n")


@pytest.mark.parametrize("size", [0, 1, 2, 31, 32, 33, 997])
@pytest.mark.parametrize("name", ["a.dat", "a.jsonl", "a.csv", "a.txt"])
def test_blocks_of_any_size(tmp_path, monkeypatch, size, name):
    generator = np.random.default_rng(size)
    rows = [generator.integers(-99, 999, generator.integers(0, 9)).tolist() for _ in range(size)]
    ids = generator.permutation(size).tolist()
    write = {
        "a.dat": lambda _, row: " ".join(map(str, row)),
        "a.jsonl": lambda one, row: json.dumps({"id": one, "related_ids": row}),
        "a.csv": lambda one, row: f"{one},{';'.join(map(str, row))}",
        "a.txt": lambda one, row: f"{one} {{{', '.join(map(str, row))}}}",
    }[name]
    head = {"a.csv": "id,related_ids\n", "a.txt": "id related_ids\n"}.get(name, "")
    text = head + "".join(write(*row) + "\n" for row in zip(ids, rows, strict=True))
    options: dict[str, str] = {"a.dat": {"format": "fimi"}, "a.csv": {"delimiter": ";"}}.get(
        name, {}
    )
    if name == "a.txt":
        options = {"format": "braces"}
    if not text:
        with pytest.raises(wl.FileFormatError, match="an empty file"):
            read(tmp_path / name, text, **options)
        return
    expected = [(None if name == "a.dat" else one, row) for one, row in zip(ids, rows, strict=True)]
    for block in (1, 64, 1 << 20):
        monkeypatch.setattr(set_rows, "_BLOCK_BYTES", block)
        if size < 100 or block > 1:
            assert read(tmp_path / name, text, **options) == expected


LINES = st.lists(st.text('0123 19{}[],;|"x-+#\té', max_size=12), min_size=1, max_size=3)
GRAMMARS = [
    LineGrammar("fimi"),
    LineGrammar("fimi", delimiter=","),
    LineGrammar("braces", delimiter=",", brackets="{}"),
    LineGrammar("table", delimiter=";", separator=",", columns=2, ids=0, items=1),
    LineGrammar("table", delimiter=",", separator=",", columns=3, ids=2, items=0),
    LineGrammar("table", delimiter=",", separator=",", columns=2, ids=0, items=1),
    LineGrammar("table", delimiter=None, separator="\t", columns=2, ids=0, items=1),
    LineGrammar("table", delimiter=",", brackets="[]", separator=",", columns=2, ids=0, items=1),
    LineGrammar("table", separator=",", columns=2, ids=0, items=1, is_paired=True),
    LineGrammar("table", separator=None, columns=2, ids=0, items=1, is_paired=True),
]


@pytest.mark.parametrize("text", [Text(), Text(ids=True)], ids=["integers", "names"])
@pytest.mark.parametrize("grammar", GRAMMARS, ids=range(len(GRAMMARS)))
@settings(max_examples=30)
@given(lines=LINES)
def test_bulk_reads_what_line_by_line_does(grammar, text, lines):
    """What is taken in bulk, the reading line by line takes for the same."""
    program = grammar.program(text)
    for well in lines, [f"{i}{line}{i}" for i, line in enumerate(lines)]:
        block = Block(Path("a"), "\n".join(well).encode(), 0, 1.0)
        found = set_rows._in_bulk(block, 0, program, grammar, text)
        if found is None:
            continue
        try:
            expected = grammar.rows(block.text(), 0, text)
        except (wl.FileFormatError, NotIntegersError) as fault:
            pytest.fail(f"bulk took {well} for {found}, line by line said {fault}")
        for one, other in zip(found, expected, strict=True):
            assert np.array_equal(one if one is not None else [], other if one is not None else [])


@pytest.mark.parametrize("line", ["1,2;5", "a b,2;5", '"1","2;5"', "1,", " 7 , 2 ;5 ", "-1,+2"])
def test_bulk_takes_plain_lines(line):
    """The other way round, so that large files are read at speed."""
    text = Text(ids="a" in line)
    program = GRAMMARS[3].program(text)
    block = Block(Path("a"), f"{line}\r\n\n{line}".encode(), 0, 1.0)
    assert set_rows._in_bulk(block, 0, program, GRAMMARS[3], text) is not None


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0\"'"), min_size=1).filter(
    lambda word: word == word.strip() and not word.startswith("#")
)
IDS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), unique=True),
    st.lists(st.integers(-9, 9), unique=True),
)


@a_folder_for_all_examples
@given(data=st.data(), ids=IDS, block=st.sampled_from([1, 50, 1 << 20]))
def test_any_integers(tmp_path, data, ids, block):
    rows = [data.draw(st.lists(st.sampled_from([*ids, 0]))) for _ in ids]
    expected = list(zip(ids, rows, strict=True))
    path = tmp_path / "a"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_rows, "_BLOCK_BYTES", block)
        lines = "".join(f"{one} {{{str(row)[1:-1]}}}\n" for one, row in expected)
        assert read(path, "id rel\n" + lines, format="braces") == expected
        lines = "".join(json.dumps([one, row]) + "\n" for one, row in expected)
        if ids:
            assert read(path, lines) == expected
        pairs = [f"{one},{item}\n" for one, row in expected for item in row]
        assert read(path, "id,item\n" + "".join(pairs)) == [row for row in expected if row[1]]
    items = wl.read_sets(path).items
    narrow = all(-(2**31) <= item < 2**31 for row in rows for item in row)
    assert items.dtype == (np.int32 if narrow else np.int64)


@a_folder_for_all_examples
@given(rows=st.dictionaries(WORDS, st.lists(WORDS)))
def test_any_words(tmp_path, rows):
    # A word that is none of those that may be integers makes words of all.
    rows = {"~row": ["~item"], **rows}
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"id": one, "items": items}) + "\n" for one, items in rows.items()]
    assert dict(read(path, "".join(lines))) == rows
    file = io.StringIO()
    for one, items in rows.items():
        for item in items:
            file.write(f'"{one}","{item}"\n')
    assert dict(read(path, file.getvalue(), format="pairs", header=False)) == {
        one: items for one, items in rows.items() if items
    }


def test_integers_or_text(tmp_path):
    path = tmp_path / "a"
    assert read(path, "01 {007, 7, +7, -0}\n") == [(1, [7, 7, 7, 0])]
    assert read(path, "01 {007, 7, +7, x}\n") == [(1, ["007", "7", "+7", "x"])]
    assert read(path, "01 {07}\n1 {8}\nx {9}\n") == [("01", [7]), ("1", [8]), ("x", [9])]
    large = 2**63 - 1
    assert read(path, f"1 {{{large}, {-large - 1}}}\n") == [(1, [large, -large - 1])]
    assert read(path, f"1 {{{large + 1}, x}}\n") == [(1, [str(large + 1), "x"])]
    assert read(path, f"1 {{2}}\n2 {{{large}}}\n3 {{4}}\n") == [(1, [2]), (2, [large]), (3, [4])]


def test_rows_of_one_id(tmp_path):
    path = tmp_path / "a"
    text = "id rel\n1 {2}\n\n3 {4, 5}\n1 {7}\n3 {}\n1 {2}\n"
    with pytest.raises(wl.FileFormatError, match=r"'1', which is in line 2 .merge=True") as caught:
        read(path, text)
    assert caught.value.line == 5
    assert read(path, text, merge=True) == [(1, [2, 7, 2]), (3, [4, 5])]
    names = text.replace("1 {", "x {")
    with pytest.raises(wl.FileFormatError, match=r"'x', which is in line 2") as caught:
        read(path, names)
    assert caught.value.line == 5
    assert read(path, names, merge=True) == [("x", [2, 7, 2]), ("3", [4, 5])]
    assert read(path, "1 {2}\n3 {4}\n", merge=True) == [(1, [2]), (3, [4])]


def test_long_lists(tmp_path):
    """Longer than the csv module takes fields to be."""
    row = list(range(10**6, 10**6 + 20_000))
    text = f'1,"{";".join(map(str, row))}"\nx,"2;5"\n'
    assert read(tmp_path / "a", text) == [("1", row), ("x", [2, 5])]
    assert read(tmp_path / "a", text + '"y""z",7\n')[2] == ('y"z', [7])


@pytest.mark.parametrize("header", ["", "id;x,items\n"])
def test_quotes_tell_what_parts_columns(tmp_path, header):
    path = tmp_path / "sets.csv"
    columns = {"ids": 0, "items": 1, "header": True} if header else {}
    # Either sign would part each line into two.
    for lines in ('1,"2;5"\n2,"5;2"\n', '1,2;5\n2,"5;2"\n', '"1","2;5"\n2,5;2\n'):
        for between in (",;", ";,"):
            text = (header + lines).translate(str.maketrans(",;", between))
            assert read(path, text, **columns) == [(1, [2, 5]), (2, [5, 2])]


def test_quotes_between_blanks(tmp_path, monkeypatch):
    """As R writes tables."""
    path = tmp_path / "a.txt"
    text = '"user" "item"\n"7" 2\n"7" "5"\n3  "2" \n'
    expected = [(7, [2, 5]), (3, [2])]
    assert read(path, text, format="pairs") == expected
    names = [("New York", [2, 5]), ("3", [2])]
    assert read(path, text.replace('"7"', '"New York"'), format="pairs") == names
    assert read(path, '7 "2 5"\n3 "2"\n', format="lists", delimiter=" ") == expected
    with pytest.raises(wl.FileFormatError, match="line 5: expected fields with closed quotes"):
        read(path, text + '"8 2\n', format="pairs")
    monkeypatch.setattr(set_rows, "_in_bulk", lambda *_: None)
    assert read(path, text, format="pairs") == expected


@pytest.mark.parametrize("delimiter", ["-", "+", "1"])
def test_delimiters_that_integers_have(tmp_path, delimiter):
    path = tmp_path / "a.csv"
    content = f"7,2{delimiter}5\n3,6\n"
    assert read(path, content, delimiter=delimiter) == [(7, [2, 5]), (3, [6])]
    with pytest.raises(wl.FileFormatError, match=re.escape(f"ids with '{delimiter}' between them")):
        read(path, f"{content}8,{delimiter}9\n", delimiter=delimiter)


def test_lists_are_split_as_written():
    assert list_tokens("(a, b c)", "()", ",") == ["a", "b c"]
    assert list_tokens("[\"a\", 'b', c]", "[]", ",") == ["a", "b", "c"]
    assert list_tokens("{O'Neill, x}", "{}", ",") == ["O'Neill", "x"]
    for broken in ("2, 5", "[2, 5", "[2,, 5]", "[2, [5]]", "['a]", "['a, b']", "[a']", "['']"):
        assert list_tokens(broken, "[]", ",") is None


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("way", ["file", "pipe", "standard input"])
def test_where_files_come_from(tmp_path, monkeypatch, way, packed):
    if way == "pipe" and sys.platform == "win32":
        pytest.skip("this system has no named pipes")
    content = gzip.compress(IM.encode()) if packed else IM.encode()
    path: Any = tmp_path / "a.txt"
    if way == "pipe":
        import os

        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()
    elif way == "file":
        path.write_bytes(content)
    else:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        path = "-"
    assert dict(rows_of(wl.read_sets(path))) == IM_SETS


def test_progress(tmp_path, monkeypatch):
    monkeypatch.setattr(set_rows, "_BLOCK_BYTES", 20)
    path = tmp_path / "a"
    done: list[float] = []
    assert dict(read(path, IM, progress=done.append)) == IM_SETS
    assert len(done) > 3
    assert done == sorted(done)
    assert done[-1] == 1

    def stop(_: float) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        wl.read_sets(path, progress=stop)


def test_formats_are_listed():
    assert set(SET_FORMATS) == {"braces", "lists", "pairs", "fimi", "jsonl", "parquet"}
