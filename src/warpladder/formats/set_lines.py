"""What lines of sets look like, and how one is read: braces, one set a line, and tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Literal

from warpladder.formats.set_rows import Rows, Text, rows_from_tokens
from warpladder.formats.text import is_content, quoted

if TYPE_CHECKING:
    from warpladder.errors import FileFormatError
    from warpladder.formats.set_scanner import Program
    from warpladder.formats.text import TextFile

__all__ = ["COMMENTS", "LineGrammar", "list_tokens", "quotes_within", "split_fields"]

COMMENTS = "#"
_LIST_SIGNS = ",;|{}[]"
_OF_INTEGERS = "+-0123456789"
_TWO_NUMBERS = re.compile(r"[0-9]\s+[+-]?[0-9]")
# An id before its set, as lists of neighbours have it: 1: 2 5.
_OWNER = re.compile(r"\s*\S+:\s")
_NO_SEPARATOR = "\n"


@dataclass(frozen=True)
class LineGrammar:
    """What every line of a file looks like.

    Attributes
    ----------
    form
        ``braces``: an id, then a set in braces. ``fimi``: a set. ``table``: columns.
    delimiter
        The character between the ids of a set, None for blanks.
    brackets
        Those around each set; empty for none.
    separator
        The character between the columns of a table, None for blanks.
    columns
        How many columns a table has.
    ids, items
        Which of them hold the ids and the sets.
    is_paired
        Whether a row of a table has one item of a set, and the set as many rows.
    first_line
        On which line rows begin, from 1 on.
    doubt
        What to say where a line looks as if the file were something else; empty where a person said
        what it is.
    """

    form: Literal["braces", "fimi", "table"]
    delimiter: str | None = None
    brackets: str = ""
    separator: str | None = _NO_SEPARATOR
    columns: int = 1
    ids: int = 0
    items: int = 0
    is_paired: bool = False
    first_line: int = 1
    doubt: str = ""
    is_typed = False

    @property
    def has_ids(self) -> bool:
        """Whether rows have ids."""
        return self.form != "fimi"

    def program(self, text: Text) -> Program | None:
        """Return what the scanner is to look for, None where only Python reads such lines."""
        from warpladder.formats.set_scanner import BLANK, Program, Style, parts_of

        signs = (self.separator, self.delimiter, *self.brackets)
        if text.items or not all(sign is None or sign.isascii() for sign in signs):
            return None
        # The scanner takes such a sign for one of the integer beside it.
        if self.delimiter is not None and self.delimiter in _OF_INTEGERS:
            return None
        if self.separator is None and not self.is_paired:
            return None
        codes = [BLANK if sign is None else ord(sign) for sign in signs]
        opening, closing = codes[2:] or (0, 0)
        is_table = self.form == "table"
        id_part = "text" if text.ids else "integer"
        parts: list[str | bytes] = ["list"] if self.form == "fimi" else [id_part, "list"]
        if is_table:
            parts = []
            for column in range(self.columns):
                if column and self.separator is not None:
                    parts.append(self.separator.encode())
                is_used = column in {self.ids, self.items}
                parts.append((id_part if column == self.ids else "list") if is_used else "any")
        style = Style(
            separator=codes[0],
            delimiter=codes[1],
            opening=opening,
            closing=closing,
            stop=codes[0] if is_table else opening,
            is_single=self.is_paired,
            has_quotes=is_table,
            has_comments=not text.ids,
            keeps_blank_lines=self.form == "fimi",
        )
        return Program(*parts_of(*parts), style)

    def rows(self, chunk: TextFile, start: int, text: Text) -> Rows:
        """Read lines one by one."""
        ids: list[str] = []
        tokens: list[str] = []
        lengths: list[int] = []
        lines: list[int] = []
        for index in range(start, len(chunk.lines)):
            line = chunk.lines[index]
            if not is_content(line, COMMENTS):
                self._check_comment(chunk, index, text)
                if line.strip() or self.has_ids:
                    continue
            row_id, listed = self._split(chunk, index)
            found = self._tokens(chunk, index, listed)
            if self.has_ids:
                if not row_id:
                    raise chunk.error(index, "an id in front" if self.form == "braces" else "an id")
                ids.append(row_id)
            tokens += found
            lengths.append(len(found))
            lines.append(chunk.before + index + 1)
        return rows_from_tokens(ids if self.has_ids else None, tokens, lengths, lines, text)

    def _split(self, chunk: TextFile, index: int) -> tuple[str, str]:
        """Return the id of a line's row, and its set as text."""
        line = chunk.lines[index]
        if self.form == "fimi":
            return "", line
        if self.form == "braces":
            row_id, brace, rest = line.partition("{")
            if not brace:
                raise chunk.error(index, "a line like '1 {2, 5, 6}'")
            if "}" not in rest:
                raise chunk.error(index, "'}' behind the ids", quoted(brace + rest.rstrip()))
            return row_id.strip(), brace + rest
        fields = split_fields(chunk, index, self.separator)
        if len(fields) != self.columns:
            raise self._fault(chunk, index, f"{self.columns} fields, as in the lines before", line)
        return fields[self.ids], fields[self.items]

    def _tokens(self, chunk: TextFile, index: int, listed: str) -> list[str]:
        if self.is_paired:
            if not listed:
                raise self._fault(chunk, index, "one id and one related id", chunk.lines[index])
            tokens: list[str] | None = [listed]
        else:
            tokens = list_tokens(listed, self.brackets, self.delimiter)
        if tokens is None:
            between = "blanks" if self.delimiter is None else repr(self.delimiter)
            around = f" in {self.brackets}" if self.brackets else ""
            raise self._fault(chunk, index, f"ids with {between} between them{around}", listed)
        if self.doubt and self.is_several(listed):
            expected = "one id" if self.is_paired else "one id between two delimiters"
            raise self._fault(chunk, index, expected, listed)
        return tokens

    def is_several(self, listed: str) -> bool:
        """Tell whether one id looks like several, where nobody said what is between ids."""
        if self._signs.search(listed) or (self.form == "fimi" and _OWNER.match(listed)):
            return True
        may_have_blanks = self.delimiter is None and not self.is_paired
        return not may_have_blanks and " " in listed and bool(_TWO_NUMBERS.search(listed))

    @cached_property
    def _signs(self) -> re.Pattern[str]:
        """What parts ids elsewhere."""
        signs = sorted(set(_LIST_SIGNS) - {self.delimiter, *self.brackets})
        return re.compile(f"[{re.escape(''.join(signs))}]")

    def _fault(self, chunk: TextFile, index: int, expected: str, found: str) -> FileFormatError:
        return chunk.error(index, expected, f"{quoted(found, 40)}{self.doubt}")

    def _check_comment(self, chunk: TextFile, index: int, text: Text) -> None:
        """Refuse what may be a comment or a row, where ids may begin with any character."""
        line = chunk.lines[index].strip()
        if (text.ids or text.items) and len(line) > 1 and not line[1].isspace():
            raise chunk.error(index, "a blank after the # of a comment, as ids may be text here")


def split_fields(chunk: TextFile, index: int, separator: str | None) -> list[str]:
    """Split a line into fields without the blanks and the quotes around them."""
    if '"' not in chunk.lines[index]:
        line = chunk.lines[index].strip() if separator is None else chunk.lines[index]
        return list(map(str.strip, line.split(separator)))
    return [part.strip() for part, _ in _parts(chunk, index, separator)]


def quotes_within(chunk: TextFile, index: int, separator: str | None) -> list[int]:
    """Return how many quotes there are in each field of a line that does not begin with one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from warpladder.formats.text import TextFile
    >>> line = TextFile(Path("sets.csv"), ['1,"2;5"'])
    >>> quotes_within(line, 0, ","), quotes_within(line, 0, ";")
    ([0], [1, 1])
    """
    parts = _parts(chunk, index, separator)
    return [part.count('"') for part, is_quoted in parts if not is_quoted]


def _parts(chunk: TextFile, index: int, separator: str | None) -> list[tuple[str, bool]]:
    """Return each field of a line without the quotes around it, and whether there were any."""
    line = chunk.lines[index].strip() if separator is None else chunk.lines[index]
    field, parts, at = _field_before(separator), [], 0
    while at <= len(line):
        found = field.match(line, at)
        if found is None:
            raise chunk.error(index, "fields with closed quotes")
        within, plain = found.groups()
        parts.append((plain, False) if within is None else (within.replace('""', '"'), True))
        at = found.end() + 1
    return parts


@cache
def _field_before(separator: str | None) -> re.Pattern[str]:
    """Return what a field looks like; not csv's, which takes no blanks behind quotes."""
    sign = r"\s" if separator is None else re.escape(separator)
    ahead = r"\s*+" if separator is None else "[ ]*+" if separator == "\t" else "[ \t]*+"
    behind = "" if separator is None else ahead
    within = r'"([^"]*+(?:""[^"]*+)*+)"'
    return re.compile(rf'{ahead}(?:{within}{behind}|((?!")[^{sign}]*+))(?={sign}|\Z)')


def list_tokens(text: str, brackets: str, delimiter: str | None) -> list[str] | None:
    """Return the ids of a list, None for a malformed one.

    Words in brackets may be in quotes, as many programs write lists.

    Examples
    --------
    >>> list_tokens("{2, 5}", "{}", ","), list_tokens("['a', 'b']", "[]", ",")
    (['2', '5'], ['a', 'b'])
    >>> list_tokens("2;;5", "", ";") is None, list_tokens(" ", "", ";")
    (True, [])
    """
    text = text.strip()
    if brackets:
        if len(text) < 2 or text[0] != brackets[0] or text[-1] != brackets[1]:
            return None
        text = text[1:-1].strip()
    if not text:
        return []
    tokens = text.split() if delimiter is None else list(map(str.strip, text.split(delimiter)))
    if brackets:
        if any(sign in text for sign in brackets):
            return None
        if "'" in text or '"' in text:
            return _without_quotes(tokens)
    return tokens if all(tokens) else None


def _without_quotes(tokens: list[str]) -> list[str] | None:
    words = []
    for token in tokens:
        quote = token[:1]
        if quote in {"'", '"'}:
            word = token[1:-1]
            if len(token) < 3 or token[-1] != quote or quote in word:
                return None
            words.append(word)
        elif not token or token[-1] in {"'", '"'}:
            return None
        else:
            words.append(token)
    return words
