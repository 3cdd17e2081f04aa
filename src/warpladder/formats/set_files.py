"""Sets from files: one way in, whatever the format."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, get_args

from warpladder.errors import FileFormatError, InputError
from warpladder.flags import as_flag, check_progress
from warpladder.formats.fields import is_integer
from warpladder.formats.files import InputFile, plain_suffix, read_head
from warpladder.formats.set_lines import COMMENTS, LineGrammar
from warpladder.formats.set_rows import Grammar, read_rows
from warpladder.formats.set_tables import SEPARATORS, as_delimiter, table_grammar
from warpladder.formats.text import TextFile, outside_quotes, read_first

if TYPE_CHECKING:
    import os

    from warpladder.formats.sets import Sets

__all__ = ["SET_FORMATS", "read_sets"]

Format = Literal["braces", "lists", "pairs", "fimi", "jsonl", "parquet"]

#: Every format's name with a one-line description.
SET_FORMATS: dict[Format, str] = {
    "braces": "an id and a set in braces on each line: 1 {2, 5, 6}",
    "lists": "a table with a list of related ids in a column of each row: 1,2;5;6",
    "pairs": "a table in long form: an id and one related id in each row",
    "fimi": "a set on each line, ids between blanks; rows go by their positions (.dat)",
    "jsonl": 'JSON on each line: {"id": 1, "related_ids": [2, 5]}, [1, [2, 5]] or [2, 5]',
    "parquet": "Parquet with a column of lists, or in long form (extra: parquet)",
}
_OPTIONS: dict[Format, set[str]] = {
    "braces": {"delimiter", "merge"},
    "lists": {"ids", "items", "header", "delimiter", "merge"},
    "pairs": {"ids", "items", "header", "merge"},
    "fimi": {"delimiter"},
    "jsonl": {"ids", "items", "merge"},
    "parquet": {"ids", "items", "merge"},
}
_BY_SUFFIX: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_FIMI_SUFFIXES = (".dat", ".fimi")
_PARQUET_MAGIC = b"PAR1"
_HEAD_BYTES = 1 << 16
# What stands before a set in braces is one id, and no columns of a table.
_BRACES = re.compile(r"[^{}\[,;|\"\t]*\s*\{")
_GUESS = " (read as one set a line; else give the format)"


def read_sets(
    path: str | os.PathLike[str],
    *,
    format: str = "auto",  # noqa: A002 - as in read_graph
    ids: str | int | None = None,
    items: str | int | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    merge: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Sets:
    r"""Read rows of sets from a file: each an id, and the ids related to it.

    Ids are integers of 64 bits with a sign where all of a file are, else text; those of rows and
    those in sets by themselves. Among integers 01 is 1, among words it is another. Blanks around an
    id are no part of it, but in JSON and Parquet. A related id that a set has twice counts once
    later; a set may be empty.

    Parameters
    ----------
    path
        A file, a pipe (what it gives is copied to a temporary file), or ``"-"`` for standard input:
        text in UTF-8, gzip or not, or Parquet (extra ``parquet``).
    format
        ``"braces"``: lines ``1 {2, 5, 6}``, perhaps a header before them. ``"lists"``: a table of
        CSV or the like with a column of lists, ``1,"2;5;6"``; brackets around lists are seen
        through. ``"pairs"``: a table in long form, ``1,2`` and ``1,5``, in any order of rows; a row
        is where its id first appears. ``"fimi"``: ``2 5 6``, one set a line and no row ids; a blank
        line is an empty set. ``"jsonl"``: ``{"id": 1, "related_ids": [2, 5]}``, ``[1, [2, 5]]`` or
        ``[2, 5]`` on each line. ``"parquet"``: a column of lists, or long form. ``"auto"`` goes by
        the content; what fits two formats is refused. Lines that begin with ``#`` are comments, but
        in JSON.
    ids, items
        The columns of a table, or keys of JSON objects, that hold the ids of rows and the related
        ids: by name, or by number from 0. By default those whose names say so, or the only two.
    header
        Whether the first line of a table holds names; None to find out.
    delimiter
        What is between the ids of a list in text, ``" "`` for blanks; None to find out.
    merge
        Whether rows with the same id are united. Else they are refused, but in long form, where
        that is the rule.
    progress
        Called now and then with the fraction of the file that is read.

    Returns
    -------
    Sets
        Rows in the order of the file, to be given to `warpladder.overlap_join`. Integers in sets
        have 32 bits where all of them fit.

    Raises
    ------
    FileFormatError
        The file does not follow its format; the message names the line, or the row of Parquet,
        counted from 0.
    InputError, InputTypeError
        It cannot be read, an argument cannot be used with it, or it is not clear how to read it.
    MissingExtraError
        Parquet without pyarrow.

    Notes
    -----
    Integers go from bytes to arrays in compiled code: O(bytes), about 100 MB/s on one core. Memory
    is that of the result, of long form three times that. Text takes a Python object for each id of
    a block, about a million a second.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "related.txt")
    ...     _ = path.write_text("id related_ids\n1 {2, 5, 6, 10, 11}\n2 {5, 10, 11, 15}\n")
    ...     sets = read_sets(path)
    >>> sets.ids, sets.items[sets.starts[1] : sets.starts[2]]
    (array([1, 2]), array([ 5, 10, 11, 15], dtype=int32))
    """
    check_progress(progress)
    file = InputFile(path)
    delimiter = as_delimiter(delimiter)
    if header is not None:
        header = as_flag("header", header)
    merge = as_flag("merge", merge)
    given = {"ids": ids, "items": items, "header": header, "delimiter": delimiter}
    given["merge"] = merge or None
    asked = {name: value for name, value in given.items() if value is not None}
    known = _asked_format(file, format)
    if known == "parquet":
        from warpladder.formats.set_parquet import read_set_parquet

        _check_options(file, "parquet", asked)
        return read_set_parquet(file, ids=ids, items=items, merge=merge, progress=progress)
    head = read_first(file, _HEAD_BYTES, COMMENTS)
    if not head:
        is_fimi = known == "fimi" or (known is None and plain_suffix(file.path) in _FIMI_SUFFIXES)
        if is_fimi and read_head(file, 1):
            # Blank lines are sets.
            _check_options(file, "fimi", asked)
            return read_rows(file, LineGrammar("fimi"), merge=False, progress=progress)
        found = "an empty file" + (", but for comments" if read_first(file, 1, "") else "")
        raise FileFormatError(file.path, None, "rows, or a header alone", found)
    name = known or _format_of(head, plain_suffix(file.path), asked)
    _check_options(file, "lists" if name == "table" else name, asked)
    grammar = _grammar(head, name, known, ids=ids, items=items, header=header, delimiter=delimiter)
    return read_rows(file, grammar, merge=merge, progress=progress)


def _asked_format(file: InputFile, format: str) -> Format | None:  # noqa: A002 - as in read_sets
    """Return the format asked for, or that is sure before any line is read."""
    if format in get_args(Format):
        return format  # type: ignore[return-value]  # just looked up
    if format != "auto":
        raise InputError(
            f"format={format!r} is not known; use auto or one of {', '.join(SET_FORMATS)}"
        )
    if read_head(file, len(_PARQUET_MAGIC)) == _PARQUET_MAGIC:
        return "parquet"
    return _BY_SUFFIX.get(plain_suffix(file.path))


def _check_options(file: InputFile, name: Format, asked: dict[str, Any]) -> None:
    for option, value in asked.items():
        if option not in _OPTIONS[name]:
            takers = ", ".join(other for other in SET_FORMATS if option in _OPTIONS[other])
            raise InputError(
                f"{option}={value!r} has no meaning for {file.path}, read as {name}; it is for "
                f"{takers}"
            )


def _format_of(
    head: list[TextFile], suffix: str, asked: dict[str, Any]
) -> Format | Literal["table"]:
    """Tell the format from the first lines that count; a table may be in either form."""
    lines = [line.lines[0] for line in head]
    path = head[0].path
    if lines[0].lstrip()[0] in "{[":
        return "jsonl"
    if any(map(_BRACES.match, lines[:2])):
        return "braces"
    outside = list(map(outside_quotes, lines))
    has_separator = any(sign in line for line in outside for sign in SEPARATORS)
    if has_separator or asked.keys() & {"ids", "items", "header"}:
        return "table"
    if any('"' in line for line in lines):
        raise InputError(f"{path}: quotes, but nothing between columns; give the format")
    if {len(line.split()) for line in lines} == {2} and suffix not in _FIMI_SUFFIXES:
        raise InputError(
            f"{path} may be pairs of an id and a related id, or sets of two ids each; "
            "say format='pairs' or format='fimi'"
        )
    return "fimi"


def _grammar(
    head: list[TextFile],
    name: Format | Literal["table"],
    known: Format | None,
    *,
    ids: str | int | None,
    items: str | int | None,
    header: bool | None,
    delimiter: str | None,
) -> Grammar:
    if name == "jsonl":
        from warpladder.formats.set_json import json_grammar

        return json_grammar(head, ids, items)
    if name == "fimi":
        between = None if delimiter in {None, " "} else delimiter
        return LineGrammar("fimi", delimiter=between, doubt="" if known else _GUESS)
    if name == "braces":
        first = head[0].lines[0]
        has_header = "{" not in first and not any(map(is_integer, first.split()))
        return LineGrammar(
            "braces",
            delimiter=None if delimiter == " " else delimiter or ",",
            brackets="{}",
            first_line=head[0].before + 1 + has_header,
            doubt="" if delimiter else " (give the delimiter, taken to be a comma)",
        )
    form: Any = name if name in {"lists", "pairs"} else None
    return table_grammar(head, form, ids=ids, items=items, header=header, delimiter=delimiter)
