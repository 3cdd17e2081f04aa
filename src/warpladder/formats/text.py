"""A text file as a list of lines that remember their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpladder.errors import FileFormatError
from warpladder.formats.files import read_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from warpladder.formats.files import InputFile

__all__ = ["TextFile", "is_content", "listed", "quoted", "read_text", "shortened"]


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file's lines, without their ends.

    ``lines[i]`` is line ``i + 1`` of the file as an editor shows it; what follows the last line end
    is the last item, mostly an empty string.
    """

    path: Path
    lines: list[str]

    def error(self, index: int, expected: str, found: str | None = None) -> FileFormatError:
        """Return the error for ``lines[index]``, quoted unless `found` says what stood there."""
        return FileFormatError(
            self.path, index + 1, expected, quoted(self.lines[index]) if found is None else found
        )

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


def shortened(text: str, limit: int) -> str:
    """Return `text`, with dots for what is beyond `limit` characters."""
    return text if len(text) <= limit else text[:limit] + "..."


def listed(names: Sequence[str], limit: int = 120) -> str:
    """Return names in quotes, as many as fit into about `limit` characters, and how many there are.

    Examples
    --------
    >>> listed(["day", "mm"]), listed(["a", "b", "c"], limit=7)
    ("'day', 'mm'", "'a', ... (3 in all)")
    """
    shown: list[str] = []
    size = 0
    for name in names:
        shown.append(quoted(name, 30))
        size += len(shown[-1]) + 2
        if size > limit and len(shown) < len(names):
            return ", ".join([*(shown[:-1] or shown), f"... ({len(names)} in all)"])
    return ", ".join(shown)


def read_text(file: InputFile) -> TextFile:
    """Read a text file: UTF-8, with or without a byte order mark, any line ends, gzip or not."""
    path, data = file.path, read_bytes(file)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = _lines(error.object[: error.start].decode("utf-8", errors="replace"))
        found = f"the byte 0x{error.object[error.start]:02x}"
        raise FileFormatError(path, len(before), "text in UTF-8", found) from error
    if "\0" in text:
        before = _lines(text[: text.index("\0")])
        raise FileFormatError(path, len(before), "text", "a NUL byte")
    return TextFile(path, _lines(text))


def _lines(text: str) -> list[str]:
    # Not splitlines(), which also ends lines where no editor does (form feed, U+2028, ...).
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.split("\n")
