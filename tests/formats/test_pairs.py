"""Pairs of rows in files: each format read back by a reader that others wrote."""

from __future__ import annotations

import ast
import csv
import gzip
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpladder.errors import InputError, MissingExtraError
from warpladder.formats import pair_text
from warpladder.formats.pair_blocks import PairBlock
from warpladder.formats.pairs import (
    PAIR_FORMATS,
    Packed,
    check_pair_target,
    pair_encoder,
    pair_format,
)
from warpladder.formats.set_files import read_sets

N = 7
WORDS = np.array(["a", "b c", 'd"e', "f,g", "", "h\ti\nj", "k\u00e9\U0001f600"], object)
PLAIN_WORDS = np.array(["a", "row-1", "x.y", "\u00e9", "1", "long" * 20, "z"], object)
NUMBERS = np.array([0, -5, 9_999, 10_000, 12_300_000_456, -(2**63), 2**63 - 1])
IDS = [None, NUMBERS, WORDS]
BLOCKS = [
    PairBlock(
        0,
        np.array([2, 0, 3]),
        np.array([1, 6, 0, 3, 5], np.int32),
        np.array([2, 9, 10_000, 99, 123_456_789], np.int32),
        np.array([0.5, 1 / 3, 1.0, 1e-7, 0.1]),
    ),
    PairBlock(3, np.array([0]), *(np.empty(0, np.int32) for _ in range(2)), np.empty(0)),
    PairBlock(4, np.array([1]), np.array([4], np.int32), np.array([7], np.int32), np.array([0.7])),
]


def written(
    name: str, left: Any, right: Any, with_value: bool = False, blocks: Any = BLOCKS
) -> bytes:
    encoder = pair_encoder(name, left, right, with_value=with_value)
    return put_together(encoder, blocks if with_value else without_values(blocks))


def without_values(blocks: Any) -> list[PairBlock]:
    return [block._replace(value=None) for block in blocks]


def put_together(encoder: Any, blocks: Any) -> bytes:
    whole, notes = encoder.head(), []
    for block in blocks:
        data, note = encoder.body(block, len(whole))
        whole += data
        notes.append(note)
    return whole + encoder.tail(notes, len(whole))


def rows_of(left: Any, right: Any, with_value: bool = False) -> list[tuple[Any, ...]]:
    """Return what the blocks have, one by one in Python."""
    names = [list(range(N)) if ids is None else ids.tolist() for ids in (left, right)]
    rows = []
    for block in BLOCKS:
        k = 0
        for i, count in enumerate(block.counts.tolist(), block.first):
            for _ in range(count):
                row = (names[0][i], names[1][block.right[k]], int(block.shared[k]))
                rows.append((*row, float(block.value[k])) if with_value else row)
                k += 1
    return rows


@pytest.mark.parametrize("with_value", [False, True])
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("name", ["csv", "tsv"])
def test_tables_of_text(name: str, ids: Any, with_value: bool) -> None:
    text = written(name, ids, ids, with_value).decode()
    heading, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=",\t"[name == "tsv"])
    assert heading == ["left", "right", "shared", "value"][: 3 + with_value]
    expected = [tuple(map(str, row)) for row in rows_of(ids, ids, with_value)]
    assert [tuple(row) for row in rows] == expected


def test_the_two_sides_may_be_named_differently() -> None:
    for left, right in [(None, WORDS), (WORDS, NUMBERS), (NUMBERS, None)]:
        text = written("jsonl", left, right).decode()
        found = [tuple(json.loads(line).values()) for line in text.splitlines()]
        assert found == rows_of(left, right)
        table = pq.read_table(io.BytesIO(written("parquet", left, right)))
        assert list(zip(*table.to_pydict().values(), strict=True)) == rows_of(left, right)


@pytest.mark.parametrize("with_value", [False, True])
@pytest.mark.parametrize("ids", IDS)
def test_json_lines(ids: Any, with_value: bool) -> None:
    lines = written("jsonl", ids, ids, with_value).decode().splitlines()
    names = ["left", "right", "shared", "value"][: 3 + with_value]
    expected = [dict(zip(names, row, strict=True)) for row in rows_of(ids, ids, with_value)]
    assert [json.loads(line) for line in lines] == expected


@pytest.mark.parametrize("with_value", [False, True])
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("name", ["parquet", "arrow"])
def test_arrow_and_parquet(name: str, ids: Any, with_value: bool) -> None:
    data = io.BytesIO(written(name, ids, ids, with_value))
    if name == "parquet":
        table = pq.read_table(data, page_checksum_verification=True)
    else:
        table = pa.ipc.open_stream(data).read_all()
    assert list(zip(*table.to_pydict().values(), strict=True)) == rows_of(ids, ids, with_value)
    assert table.column_names == ["left", "right", "shared", "value"][: 3 + with_value]
    assert table.schema.field("left").type == (pa.string() if ids is WORDS else pa.int64())
    assert table.schema.field("shared").type == pa.int32()


@pytest.mark.parametrize("ids", [None, NUMBERS, PLAIN_WORDS])
def test_plain_and_grouped_text(ids: Any) -> None:
    expected = rows_of(ids, ids)
    lines = written("pairs", ids, ids).decode().splitlines()
    assert lines == [" ".join(map(str, row)) for row in expected]
    groups: dict[str, list[str]] = {}
    for left, right, _ in expected:
        groups.setdefault(str(left), []).append(str(right))
    text = written("grouped", ids, ids).decode()
    assert text == "".join(f"{left} {{{', '.join(of)}}}\n" for left, of in groups.items())


@pytest.mark.parametrize("name", PAIR_FORMATS)
def test_no_pairs_at_all(name: str) -> None:
    data = written(name, None, None, blocks=[])
    assert data == written(name, None, None, blocks=BLOCKS[1:2])
    if name == "parquet":
        assert pq.read_table(io.BytesIO(data)).shape == (0, 3)
    elif name == "arrow":
        assert pa.ipc.open_stream(io.BytesIO(data)).read_all().shape == (0, 3)
    else:
        heading = {"csv": b"left,right,shared\n", "tsv": b"left\tright\tshared\n"}
        assert data == heading.get(name, b"")


@pytest.mark.parametrize("groups", [1, 2, 14, 15, 16, 200])
def test_a_parquet_file_in_pieces_is_that_of_one_writer(groups: int) -> None:
    rng = np.random.default_rng(groups)
    encoder = pair_encoder("parquet", None, WORDS, with_value=True)
    blocks = [
        PairBlock(
            1000 * place,
            np.array([3, 0, 2]),
            rng.integers(0, N, 5).astype(np.int32),
            rng.integers(1, 2**31 - 1, 5).astype(np.int32),
            rng.random(5),
        )
        for place in range(groups)
    ]
    data = put_together(encoder, blocks)
    at_a_stretch = io.BytesIO()
    tables = encoder._tables  # type: ignore[attr-defined]  # what it gives pyarrow
    with pq.ParquetWriter(at_a_stretch, tables.schema, **encoder._options) as writer:  # type: ignore[attr-defined]
        for block in blocks:
            writer.write_table(tables.table(block))
    assert data == at_a_stretch.getvalue()
    assert pd.read_parquet(io.BytesIO(data))["left"].tolist()[-1] == 1000 * (groups - 1) + 2


@pytest.mark.parametrize("name", [name for name, one in PAIR_FORMATS.items() if one.is_text])
def test_packed_text_is_the_same_text(name: str) -> None:
    for blocks in (without_values(BLOCKS), []):
        encoder = pair_encoder(name, None, None, with_value=False)
        packed = put_together(Packed(encoder), blocks)
        assert packed == put_together(Packed(encoder), blocks)
        assert gzip.decompress(packed) == put_together(encoder, blocks)
        assert packed


@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 97, 8191, 8192, 8193])
def test_blocks_around_the_number_that_is_written_at_once(n: int) -> None:
    rng = np.random.default_rng(n)
    counts = np.bincount(rng.integers(0, 50, n), minlength=50)
    block = PairBlock(
        3, counts, rng.integers(0, 2**31 - 1, n).astype(np.int32), rng.integers(1, 99, n)
    )
    lefts = np.repeat(np.arange(3, 53), counts).tolist()
    lines = zip(lefts, block.right.tolist(), block.shared.tolist(), strict=True)
    expected = "".join(f"{left} {right} {shared}\n" for left, right, shared in lines)
    assert written("pairs", None, None, blocks=[block]).decode() == expected
    grouped = written("grouped", None, None, blocks=[block]).decode()
    found = [ast.literal_eval(line.replace(" {", ", {", 1)) for line in grouped.splitlines()]
    assert [left for left, _ in found] == sorted(set(lefts))
    rights = [int(word) for word in re.findall(r"\d+(?=[,}])", grouped)]
    assert rights == block.right.tolist()


@settings(max_examples=60)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_any_integer(numbers: list[int]) -> None:
    for given_ones in (numbers, [abs(number) % 2**63 for number in numbers]):
        ids = np.array(given_ones, np.int64)
        n = len(ids)
        block = PairBlock(
            0, np.ones(n, np.int64), np.arange(n, dtype=np.int32), np.ones(n, np.int32)
        )
        lines = written("pairs", ids, ids, blocks=[block]).decode().splitlines()
        assert lines == [f"{number} {number} 1" for number in given_ones]


@settings(max_examples=60)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1)
)
def test_any_text_in_csv(words: list[str]) -> None:
    ids = np.array([*words, None], object)[:-1]
    n = len(ids)
    block = PairBlock(0, np.ones(n, np.int64), np.arange(n, dtype=np.int32), np.ones(n, np.int32))
    text = written("csv", ids, ids, blocks=[block]).decode()
    _, *rows = csv.reader(io.StringIO(text, newline=""))
    assert rows == [[word, word, "1"] for word in words]


def test_texts_too_long_for_a_table_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = written("csv", WORDS, WORDS)
    monkeypatch.setattr(pair_text, "_MOST_TABLE_BYTES", 0)
    assert written("csv", WORDS, WORDS) == expected


@pytest.mark.parametrize(
    ("name", "word", "remedy"),
    [
        ("grouped", "a b", "write .csv, .jsonl or .parquet"),
        ("grouped", "a,b", "commas and braces"),
        ("grouped", "{", "format='grouped'"),
        ("grouped", "", "row id ''"),
        ("pairs", "a\tb", "format='pairs'"),
        ("pairs", "", "row id ''"),
        ("grouped", "#a", "'#a' .* lines that begin with # are comments; write .csv"),
        ("pairs", "%a", "lines that begin with % are comments"),
        ("csv", "a\0", "NUL"),
        ("tsv", "a\0", r"write \.jsonl or \.parquet"),
        ("csv", "\udc80", "UTF-8 cannot"),
    ],
)
def test_ids_that_a_format_cannot_hold(name: str, word: str, remedy: str) -> None:
    with pytest.raises(InputError, match=remedy):
        pair_encoder(name, np.array(["x", word], object), None, with_value=False)


def test_ids_that_begin_as_comments_do(tmp_path: Path) -> None:
    ids = np.array(["#a", "%b", "c#", "d", "e", "f", "#g"], object)
    path = tmp_path / "x.csv"
    path.write_bytes(written("csv", ids, ids))
    pairs = read_sets(path, ids="left", items="right")
    assert pairs.ids is not None
    assert pairs.ids.tolist() == ["#a", "c#", "e"]
    # Within a line they are what they are.
    assert written("grouped", None, ids).startswith(b"0 {%b, #g}\n")
    assert written("grouped", ids[1:2].repeat(N), None).startswith(b"%b {1, 6}\n")


def test_a_comma_in_an_id_of_a_line_of_pairs() -> None:
    ids = np.array(["a,b"] * N, object)
    assert written("pairs", ids, None).decode().startswith("a,b 1 2\n")


def test_formats_by_extension_and_name() -> None:
    for name, one in PAIR_FORMATS.items():
        for suffix in one.suffixes:
            assert pair_format(f"x{suffix}") == pair_format(f"X{suffix.upper()}") == name
            assert pair_format("x.out", name) == name
            if one.is_text:
                assert pair_format(f"x{suffix}.gz") == name
            else:
                with pytest.raises(InputError, match=r"drop the \.gz"):
                    pair_format(f"x{suffix}.gz")
    with pytest.raises(InputError, match=r"use one of \.txt, \.pairs, \.csv.* or name the format"):
        pair_format("x.xls")
    with pytest.raises(InputError, match="format='xls' is not known; use one of grouped, pairs"):
        pair_format("x.csv", "xls")


def test_check_pair_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_pair_target(tmp_path / "x.parquet")
    with pytest.raises(InputError, match="there is no folder"):
        check_pair_target(tmp_path / "none" / "x.csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    check_pair_target(tmp_path / "x.csv")
    for name in ("x.parquet", "x.arrows"):
        with pytest.raises(MissingExtraError, match=r"writing .*warpladder\[parquet\]"):
            check_pair_target(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
