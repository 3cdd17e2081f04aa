"""Rows of sets from a text file of any layout, block by block: in bulk, or else line by line.

Ids are integers where all of a file are, else text; those of rows and those in their sets by
themselves. That a file has text may show in its last line, so reading then begins anew: an id 01 is
1 among integers, and 01 among words.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from warpladder.errors import FileFormatError
from warpladder.formats.fields import is_integer
from warpladder.formats.text import quoted, read_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from warpladder.formats.files import InputFile
    from warpladder.formats.set_builder import RepeatedIdError
    from warpladder.formats.set_scanner import Program
    from warpladder.formats.sets import Sets
    from warpladder.formats.text import Block, TextFile

__all__ = ["Grammar", "NotIntegersError", "Rows", "Text", "read_rows", "rows_from_tokens"]

_BLOCK_BYTES = 4 << 20
_INTEGER = re.compile(r"[+-]?[0-9]+")


class Text(NamedTuple):
    """Whether ids of rows, and items, are text."""

    ids: bool = False
    items: bool = False


class Rows(NamedTuple):
    """Some rows: ids if they have any; items of all; how many each has; their lines from 1 on."""

    ids: NDArray[np.int64] | list[str] | None
    items: NDArray[np.int64] | list[str]
    lengths: NDArray[Any]
    lines: NDArray[np.int64]


class Grammar(Protocol):
    """How the lines of a file state rows.

    Attributes
    ----------
    has_ids
        Whether rows have ids.
    is_paired
        Whether a line has one item of a row, and a row as many lines.
    is_typed
        Whether a line says what is text: digits alone are then text in good order.
    first_line
        On which line rows begin, from 1 on.
    """

    @property
    def has_ids(self) -> bool: ...  # noqa: D102 - see above

    @property
    def is_paired(self) -> bool: ...  # noqa: D102 - likewise

    @property
    def is_typed(self) -> bool: ...  # noqa: D102 - likewise

    @property
    def first_line(self) -> int: ...  # noqa: D102 - likewise

    def program(self, text: Text) -> Program | None:
        """Return what the scanner is to look for; None where it cannot read such lines."""

    def rows(self, chunk: TextFile, start: int, text: Text) -> Rows:
        """Read the lines from ``start`` on one by one.

        Raises
        ------
        NotIntegersError
            Something that was not to be text is.
        FileFormatError
            A line is malformed.
        """


class NotIntegersError(Exception):
    """An id is no integer of 64 bits where all were to be: it is text, or too large for one."""

    def __init__(self, what: Literal["ids", "items"], line: int, token: str) -> None:
        self.what: Literal["ids", "items"] = what
        self.line, self.token = line, token
        super().__init__(f"{token!r} in line {line}")


def read_rows(
    file: InputFile,
    grammar: Grammar,
    *,
    merge: bool,
    progress: Callable[[float], None] | None,
) -> Sets:
    """Read a whole file."""
    # Numba comes with it, which whoever only asks for the formats need not wait for.
    from warpladder.formats.set_builder import RepeatedIdError, SetsBuilder

    text = Text()
    faults: list[NotIntegersError] = []
    while True:
        builder = SetsBuilder(
            has_ids=grammar.has_ids, has_words=text.items, is_paired=grammar.is_paired
        )
        try:
            for block, rows in _blocks(file, grammar, text):
                builder.add(rows.ids, rows.items, None if grammar.is_paired else rows.lengths)
                if progress is not None:
                    progress(block.done)
            sets = builder.sets(merge=merge)
        except NotIntegersError as fault:
            faults.append(fault)
            text = text._replace(**{fault.what: True})
        except RepeatedIdError as repeated:
            raise _repeated(file, grammar, text, repeated) from None
        else:
            if not grammar.is_typed:
                _refuse_large(file.path, sets, faults)
                if not len(sets):
                    # Nothing tells what ids are, and words may begin as comments do.
                    deque(_blocks(file, grammar, Text(ids=True, items=True)), maxlen=0)
            return sets


def rows_from_tokens(
    ids: list[str] | None, tokens: list[str], lengths: list[int], lines: list[int], text: Text
) -> Rows:
    """Return rows of what stood in their lines, integers as such.

    Raises
    ------
    NotIntegersError
        An id is not one, where they are not to be text.
    """
    at = np.array(lines, np.int64)
    counts = np.array(lengths, np.int32)
    row_ids: NDArray[np.int64] | list[str] | None = ids
    if ids is not None and not text.ids:
        row_ids = _integers("ids", ids, at)
    items: NDArray[np.int64] | list[str] = tokens
    if not text.items:
        items = _integers("items", tokens, np.repeat(at, counts))
    return Rows(row_ids, items, counts, at)


def _integers(
    what: Literal["ids", "items"], tokens: list[str], lines: NDArray[np.int64]
) -> NDArray[np.int64]:
    for place, token in enumerate(tokens):
        if not is_integer(token):
            raise NotIntegersError(what, int(lines[place]), token)
    return np.array([int(token) for token in tokens], np.int64)


def _blocks(file: InputFile, grammar: Grammar, text: Text) -> Iterator[tuple[Block, Rows]]:
    program = grammar.program(text)
    for block in read_blocks(file, _BLOCK_BYTES):
        skipped = max(grammar.first_line - 1 - block.before, 0)
        rows = None if program is None else _in_bulk(block, skipped, program, grammar, text)
        yield block, rows or grammar.rows(block.text(), skipped, text)


def _in_bulk(
    block: Block, skipped: int, program: Program, grammar: Grammar, text: Text
) -> Rows | None:
    from warpladder.formats.set_scanner import scanned

    if not _is_text(block.data):
        return None
    found = scanned(block.data, skipped, program)
    if found is None:
        return None
    ids: NDArray[np.int64] | list[str] | None = None
    if grammar.has_ids and text.ids:
        ends = zip(found.ids.tolist(), found.ends.tolist(), strict=True)
        ids = [block.data[begin:end].decode().strip() for begin, end in ends]
        if not all(ids):
            return None
    elif grammar.has_ids:
        ids = found.ids
    return Rows(ids, found.items, found.lengths, found.lines + (block.before + 1))


def _is_text(data: bytes) -> bool:
    if b"\0" in data:
        return False
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def _repeated(
    file: InputFile, grammar: Grammar, text: Text, repeated: RepeatedIdError
) -> FileFormatError:
    """Return the error for two rows of one id; to find their lines the file is read once more."""
    lines: list[int] = []
    before = 0
    for _, rows in _blocks(file, grammar, text):
        within = (row - before for row in (repeated.first, repeated.second)[len(lines) :])
        lines += [int(rows.lines[row]) for row in within if row < len(rows.lines)]
        before += len(rows.lines)
    first, second = lines
    found = f"{quoted(str(repeated.id))}, which is in line {first} (merge=True unites such rows)"
    return FileFormatError(file.path, second, "another id than those before", found)


def _refuse_large(path: Path, sets: Sets, faults: list[NotIntegersError]) -> None:
    """Refuse integers beyond 64 bits where all ids are integers: as words 01 would not be 1."""
    for fault in faults:
        words = sets.ids if fault.what == "ids" else sets.words
        if words is not None and all(map(_INTEGER.fullmatch, words)):
            expected = "ids of 64 bits with a sign (or text, such as x123)"
            raise FileFormatError(path, fault.line, expected, quoted(fault.token))
