"""Text files as lines that remember their numbers: the whole file, or chunk by chunk."""

from __future__ import annotations

import codecs
import gzip
import re
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, NamedTuple

from warpladder.errors import FileFormatError, InputError
from warpladder.formats.files import is_gzip, packed_by, read_bytes, told_as_gzip

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from warpladder.formats.files import InputFile

__all__ = [
    "Block",
    "TextFile",
    "is_content",
    "listed",
    "outside_quotes",
    "quoted",
    "read_blocks",
    "read_chunks",
    "read_first",
    "read_text",
    "shortened",
]

# A file without line ends is not read into memory as one line.
_LONGEST_LINE = 64 << 20
_IN_QUOTES = re.compile('"[^"]*"')
_BYTE_ORDER_MARK = "\ufeff"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file's lines, without their ends; or some of them, with others ``before``.

    ``lines[i]`` is line ``before + i + 1`` of the file as an editor shows it; what follows the last
    line end is the last item, mostly an empty string.
    """

    path: Path
    lines: list[str]
    before: int = 0

    def error(self, index: int, expected: str, found: str | None = None) -> FileFormatError:
        """Return the error for ``lines[index]``, quoted unless `found` says what stood there."""
        found = quoted(self.lines[index]) if found is None else found
        return FileFormatError(self.path, self.before + index + 1, expected, found)

    def ended(self, expected: str) -> FileFormatError:
        """Return the error for a file that ends where `expected` should come."""
        last_is_empty = len(self.lines) > 1 and not self.lines[-1]
        return self.error(len(self.lines) - 1 - last_is_empty, expected, "the end of the file")

    def first_content(self, comments: str, start: int = 0) -> int | None:
        """Return the index of the first line from `start` on that is not blank or a comment."""
        indices = range(start, len(self.lines))
        return next((i for i in indices if is_content(self.lines[i], comments)), None)


def is_content(line: str, comments: str) -> bool:
    """Tell whether a line is neither blank nor begins with one of the comment characters."""
    text = line.lstrip()
    return bool(text) and text[0] not in comments


def quoted(text: str, limit: int = 60) -> str:
    r"""Return `text` in quotes, shortened, control characters made visible.

    Examples
    --------
    >>> print(quoted("1 2\t3 "), quoted("x" * 99, limit=3))
    '1 2\t3' 'xxx...'
    """
    return repr(shortened(text.strip(), limit))


def outside_quotes(line: str) -> str:
    """Return a line without what stands in quotes, which parts no fields.

    Examples
    --------
    >>> outside_quotes('"Smith; John",B,3')
    ',B,3'
    """
    return _IN_QUOTES.sub("", line)


def shortened(text: str, limit: int) -> str:
    """Return `text`, with dots for what is beyond `limit` characters."""
    return text if len(text) <= limit else text[:limit] + "..."


def listed(names: Sequence[str], limit: int = 120) -> str:
    """Return names in quotes, as many as fit into about `limit` characters, and how many there are.

    Examples
    --------
    >>> listed(["day", "mm"]), listed(["a", "b", "c"], limit=7), listed([])
    ("'day', 'mm'", "'a', ... (3 in all)", 'none')
    """
    shown: list[str] = []
    size = 0
    for name in names:
        # As they are: of Parquet, names may begin and end with blanks.
        shown.append(repr(shortened(name, 30)))
        size += len(shown[-1]) + 2
        if size > limit and len(shown) < len(names):
            return ", ".join([*(shown[:-1] or shown), f"... ({len(names)} in all)"])
    return ", ".join(shown) or "none"


def read_text(file: InputFile) -> TextFile:
    """Read a text file: UTF-8, with or without a byte order mark, any line ends, gzip or not."""
    data = read_bytes(file).removeprefix(codecs.BOM_UTF8)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    # Not splitlines(), which also ends lines where no editor does (form feed, U+2028, ...).
    return TextFile(file.path, _decoded(file.path, data).split("\n"))


class Block(NamedTuple):
    """Some lines of a text file as bytes, as many as line ends and one more.

    Attributes
    ----------
    path
        The file.
    data
        The lines, the end of the last left out.
    before
        How many lines of the file come before them.
    done
        Which part of the file is read.
    """

    path: Path
    data: bytes
    before: int
    done: float

    def text(self, remedy: str = "") -> TextFile:
        """Return the lines as text; ``remedy`` is what to do about a file that is none."""
        return _chunk(self.path, self.data, self.before, remedy)


def read_chunks(file: InputFile, size: int, remedy: str = "") -> Iterator[tuple[float, TextFile]]:
    """Yield a text file's lines, about ``size`` bytes at a time, and which part of it is read.

    UTF-8, with or without a byte order mark, gzip or not. A CR by itself ends no line.

    Parameters
    ----------
    file
        The file; no more than a chunk of it, and of its longest line, is in memory.
    size
        Bytes of a chunk.
    remedy
        What to do about a file that is no text, for errors.
    """
    for block in read_blocks(file, size):
        yield block.done, block.text(remedy)


def read_first(file: InputFile, size: int, comments: str, remedy: str = "") -> list[TextFile]:
    """Return the first lines that count, each by itself: two, or more for a good sample.

    That is about half of ``size`` bytes; the other parameters are those of `read_chunks`.
    """
    head: list[TextFile] = []
    length = 0
    for _, chunk in read_chunks(file, size, remedy):
        for before, line in enumerate(chunk.lines, chunk.before):
            if is_content(line, comments):
                head.append(TextFile(file.path, [line], before))
                length += len(line) + 1
        if length > size // 2 and len(head) > 1:
            break
    return head


def read_blocks(file: InputFile, size: int) -> Iterator[Block]:
    """Yield a text file's lines as they are, about ``size`` bytes at a time, unpacked."""
    path, line = file.path, 0
    begun: list[bytes] = []
    try:
        whole_size = max(file.place.stat().st_size, 1)
        with told_as_gzip(path), file.place.open("rb") as raw:
            packed = is_gzip(file)
            opened: IO[bytes] = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
            read = opened.read(size).removeprefix(codecs.BOM_UTF8)
            while read:
                whole, found, tail = read.rpartition(b"\n")
                if found:
                    data = b"".join([*begun, whole])
                    yield Block(path, data, line, raw.tell() / whole_size)
                    line += 1 + data.count(b"\n")
                    begun = []
                begun.append(tail)
                if sum(map(len, begun)) > _LONGEST_LINE:
                    expected = f"lines of up to {_LONGEST_LINE >> 20} MiB"
                    raise FileFormatError(path, line + 1, expected, "a longer one")
                read = opened.read(size)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if any(begun):
        yield Block(path, b"".join(begun), line, 1.0)


def _chunk(path: Path, data: bytes, before: int, remedy: str) -> TextFile:
    text = _decoded(path, data, before, remedy)
    lines = text.replace("\r\n", "\n").removesuffix("\r").split("\n")
    chunk = TextFile(path, lines, before)
    for index, line in enumerate(lines if "\r" in text else []):
        if "\r" in line:
            raise chunk.error(index, "lines that end with LF or CR LF", "a CR by itself")
    return chunk


def _decoded(path: Path, data: bytes, before: int = 0, remedy: str = "") -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if not before and (packer := packed_by(data)):
            found = f"what {packer} has packed; unpack it first"
            raise FileFormatError(path, None, "text, or such packed by gzip", found) from None
        if not before and data.startswith(_UTF_16):
            raise FileFormatError(path, None, "text in UTF-8", "UTF-16; convert it first") from None
        line = before + 1 + data.count(b"\n", 0, error.start)
        found = f"the byte 0x{data[error.start]:02x}"
        raise FileFormatError(path, line, f"text in UTF-8 {remedy}".strip(), found) from None
    if "\0" in text:
        line = before + 1 + text.count("\n", 0, text.index("\0"))
        raise FileFormatError(path, line, f"text {remedy}".strip(), "a NUL byte")
    if _BYTE_ORDER_MARK in text and (place := f"\n{text}".find(f"\n{_BYTE_ORDER_MARK}")) >= 0:
        # It would be part of a name that looks like another.
        line = before + 1 + text.count("\n", 0, place)
        found = "another, as where files were joined; take it out"
        raise FileFormatError(path, line, "a byte order mark before the first line alone", found)
    return text
