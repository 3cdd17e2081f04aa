"""Edge lists: one edge per line, in columns parted by white space, commas, semicolons or tabs."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import IO

from warpladder.errors import FileFormatError, InputError
from warpladder.formats.columns import choose_columns, names_edges
from warpladder.formats.edges import EdgeTable
from warpladder.formats.fields import Field, Layout, is_number, parse_rows, split_row
from warpladder.formats.labels import number_vertices, vertex_names, weights_as_text
from warpladder.formats.text import TextFile, is_content, outside_quotes, quoted

__all__ = ["DELIMITERS", "read_edge_list", "write_delimited_edges", "write_plain_edges"]

_COMMENTS = "#%"
_HEADER = ["source", "target", "weight"]
# SNAP states the direction in words, KONECT by `sym` or `asym` in its first line.
_DIRECTION = re.compile(r"\b(un)?directed graph\b|^%\s*(sym)\b", re.IGNORECASE)
# What the column `Type` of a table of Gephi's says of each edge.
_DIRECTIONS = {"directed": True, "undirected": False}
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
#: What networkx's write_edgelist writes where it is not told otherwise.
_DICTIONARY = re.compile(r"\s*\S+\s+\S+\s+\{.*\}\s*")
_NO_DICTIONARY = (
    "an edge without a dictionary, as networkx's write_weighted_edgelist and "
    "write_edgelist(data=False) write it"
)
#: The character between the columns of a table with a header, by the file's extension.
DELIMITERS = {".csv": ",", ".tsv": "\t"}


def read_edge_list(
    file: TextFile,
    *,
    directed: bool | None = None,
    source: str | int | None = None,
    target: str | int | None = None,
    weight: str | int | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
) -> EdgeTable:
    """Read an edge list; whatever is not said is found out from the file."""
    first = file.first_content(_COMMENTS)
    is_asked = directed is not None
    if directed is None:
        directed = _states_directed(file.lines[:first])
    if first is None:
        if not any(map(str.strip, file.lines)):
            raise FileFormatError(file.path, None, "edges, a header or a comment", "an empty file")
        file_is_empty = TextFile(file.path, [])
        columns = parse_rows(
            file_is_empty, Layout((Field("id", "source"), Field("id", "target")), ""), 0
        )
        return EdgeTable(columns[0], columns[1], None, 0, None, directed)

    if delimiter is None:
        # Who says which columns hold the edges leaves the others out.
        if source is None and _DICTIONARY.fullmatch(file.lines[first]):
            raise file.error(first, _NO_DICTIONARY)
        delimiter = _delimiter_of(file.lines[first])
        if delimiter == ",":
            _refuse_decimal_commas(file, first)
        if delimiter == ";":
            _refuse_doubtful_semicolon(file, first)
    else:
        delimiter = _checked(delimiter)
    has_quotes = delimiter is None and _may_have_quotes(file.lines[first:])
    plain = Layout((), "fields", _COMMENTS, delimiter, has_quotes=has_quotes)
    tokens = split_row(file, first, plain)
    is_found = False
    if header is None:
        header = any(isinstance(c, str) and not c.isdecimal() for c in (source, target, weight))
        is_found = not header and _is_header(file, first, plain)
        header = header or is_found
    if is_found and len(tokens) == 3 and any(map(is_number, tokens)):
        raise _doubtful_header(file, first)
    names = tokens if header else None
    chosen = choose_columns(file.path, names, len(tokens), source, target, weight)

    fields = [Field("ignored", "column")] * len(tokens)
    fields[chosen.source] = Field("id", "source")
    fields[chosen.target] = Field("id", "target")
    if chosen.weight is not None:
        title = f"weight (column {quoted(tokens[chosen.weight])})" if header else "weight"
        fields[chosen.weight] = Field("weight", title)
    kind = None if names is None or is_asked else _column_of_directions(file, first, plain)
    if kind in chosen:
        kind = None
    if kind is not None:
        fields[kind] = Field("name", "type")
    shape = f"{len(tokens)} fields, as in line {first + 1}"
    layout = replace(plain, fields=tuple(fields), shape=shape)
    columns = parse_rows(file, layout, first + header)
    if kind is not None:
        directed = _direction_of(file, columns[kind].tolist())
    are_numbers = columns[chosen.source].size and columns[chosen.source].dtype != object
    if not are_numbers:
        _refuse_doubtful_comments(file, first + 1, layout, chosen.weight)
        _refuse_neighbours(file, first, layout)
    sources, targets, labels, n = number_vertices(columns[chosen.source], columns[chosen.target])
    # With two columns an edge looks like the header that is written here.
    if is_found and len(tokens) == 2 and tokens != _HEADER[:2] and {*tokens} & {*(labels or ())}:
        raise _doubtful_header(file, first)
    weights = None if chosen.weight is None else columns[chosen.weight]
    column = chosen.weight if names is None or chosen.weight is None else names[chosen.weight]
    return EdgeTable(sources, targets, weights, n, labels, directed, weight_column=column)


def _states_directed(lines: list[str]) -> bool:
    statements = (
        _DIRECTION.search(line.strip()) for line in lines if not is_content(line, _COMMENTS)
    )
    first = next((statement for statement in statements if statement), None)
    return first is None or not (first[1] or first[2])


def _column_of_directions(file: TextFile, header: int, layout: Layout) -> int | None:
    """Return the column that says of each edge whether it has a direction, None without one."""
    first = file.first_content(_COMMENTS, header + 1)
    if first is None:
        return None
    pairs = zip(split_row(file, header, layout), split_row(file, first, layout), strict=False)
    said = (name.lower() == "type" and value.lower() in _DIRECTIONS for name, value in pairs)
    return next((place for place, is_said in enumerate(said) if is_said), None)


def _direction_of(file: TextFile, kinds: list[str]) -> bool:
    """Return what all edges have in common."""
    found = {kind.lower() for kind in kinds}
    if len(found) > 1:
        expected = (
            "edges that are all Directed or all Undirected (or give directed=True or "
            "directed=False)"
        )
        raise FileFormatError(file.path, None, expected, f"both {' and '.join(sorted(found))}")
    return _DIRECTIONS[found.pop()]


def _checked(delimiter: str) -> str | None:
    if delimiter == " ":
        return None
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InputError(
            f"delimiter={delimiter!r} must be one character, as ',', ';', '\\t' or ' '"
        )
    return delimiter


def _delimiter_of(line: str) -> str | None:
    if all(map(is_number, line.split())):
        return None
    outside = outside_quotes(line)
    return next((character for character in "\t;," if character in outside), None)


def _may_have_quotes(lines: list[str]) -> bool:
    """Tell whether fields between blanks are in quotes; none is where the first line is numbers."""
    return not all(map(is_number, lines[0].split())) and any('"' in line for line in lines)


def _refuse_decimal_commas(file: TextFile, first: int) -> None:
    """Refuse '1 2 3,5' and 'a b 3,5', of which commas would make two vertices; 'New York,5' stays.

    Who puts a field in quotes means it so.
    """
    line = file.lines[first]
    if '"' in line:
        return
    fields, words = line.split(","), line.split()
    if len(fields) == 2 < len(words) and _DECIMAL_COMMA.fullmatch(words[-1]):
        odd: str | None = fields[0]
    else:
        several = (field for field in fields if len(field.split()) > 1)
        odd = next((field for field in several if all(map(is_number, field.split()))), None)
    if odd is not None:
        expected = (
            "one value between commas, taken for the delimiter (decimals need points; put a name "
            "in quotes, or in Python give delimiter=',')"
        )
        raise file.error(first, expected, quoted(odd))


def _refuse_doubtful_semicolon(file: TextFile, first: int) -> None:
    """Refuse 'a;6,b,20', of which a semicolon makes two fields and commas a whole edge.

    Who puts a field in quotes means it so.
    """
    line = file.lines[first]
    fields = line.split(",")
    if '"' not in line and line.count(";") == 1 and len(fields) == 3 and is_number(fields[-1]):
        expected = (
            "commas or a semicolon between fields, not both (put a name in quotes, or in Python "
            "give delimiter=)"
        )
        raise file.error(first, expected)


def _refuse_doubtful_comments(
    file: TextFile, start: int, layout: Layout, weight: int | None
) -> None:
    """Refuse lines that may be comments or rows, where names may begin with any character."""
    for index, line in enumerate(file.lines[start:], start):
        text = line.lstrip()
        if len(text) > 1 and text[0] in _COMMENTS and not text[1].isspace():
            fields = text.split(layout.delimiter)
            if len(fields) != len(layout.fields):
                continue
            # Between the words of a comment there are blanks, too.
            if layout.delimiter or weight is None or is_number(fields[weight]):
                expected = f"a blank after the {text[0]} of a comment, or a name in quotes"
                raise file.error(index, expected)


def _refuse_neighbours(file: TextFile, first: int, layout: Layout) -> None:
    """Refuse '2 {}' below a vertex, of which an edge to a vertex of that name would be made."""
    if layout.delimiter is None and len(layout.fields) == 2:
        for index, line in enumerate(file.lines[first:], first):
            if line.split()[1:] == ["{}"]:
                raise file.error(index, _NO_DICTIONARY)


def _is_header(file: TextFile, first: int, layout: Layout) -> bool:
    tokens = split_row(file, first, layout)
    if names_edges(tokens):
        return True
    second = file.first_content(_COMMENTS, first + 1)
    if second is None or any(map(is_number, tokens)):
        return False
    if any(map(is_number, split_row(file, second, layout))):
        expected = "an edge, or names like 'source target weight'"
        raise file.error(first, expected)
    return False


def _doubtful_header(file: TextFile, first: int) -> FileFormatError:
    """Return the error for a line of names of columns that may be names of vertices, too."""
    expected = (
        "names of columns (give source= and target= by name) or an edge (put 'source target "
        "weight' before it), not what may be both"
    )
    return file.error(first, expected)


def write_plain_edges(file: IO[bytes], table: EdgeTable, comment: str | None) -> None:
    """Write tabbed columns without a header, as SNAP does."""
    names, rows = _named_rows(table)
    _check_plain(names, rows)
    _write_comments(file, table, comment)
    file.write("".join("\t".join(row) + "\n" for row in rows).encode())


def write_delimited_edges(
    file: IO[bytes], table: EdgeTable, comment: str | None, delimiter: str
) -> None:
    """Write a header and one row per edge, fields in quotes where they need them."""
    names, rows = _named_rows(table)
    # Many readers of such tables know no comments, so they stand only where they say something.
    if comment or not table.directed:
        _write_comments(file, table, comment)
    text = io.StringIO(newline="")
    # A name that begins like a comment is told from one by its quotes.
    needs_quotes = any(name[0] in _COMMENTS for name in names)
    writer = csv.writer(
        text,
        delimiter=delimiter,
        quoting=csv.QUOTE_ALL if needs_quotes else csv.QUOTE_MINIMAL,
        lineterminator="\n",
    )
    writer.writerow(_HEADER[: 2 if table.weights is None else 3])
    writer.writerows(rows)
    file.write(text.getvalue().encode())


def _named_rows(table: EdgeTable) -> tuple[list[str], list[list[str]]]:
    names = vertex_names(table, "edges")
    ends = zip(table.sources.tolist(), table.targets.tolist(), strict=True)
    rows = [[names[u], names[v]] for u, v in ends]
    if table.weights is not None:
        rows = [[*row, weight] for row, weight in zip(rows, weights_as_text(table), strict=True)]
    return names, rows


def _write_comments(file: IO[bytes], table: EdgeTable, comment: str | None) -> None:
    # The direction is stated first, so that nothing in the comment can be taken for it.
    lines = [f"{'Directed' if table.directed else 'Undirected'} graph"]
    lines += (comment or "").splitlines()
    file.write("".join(f"# {line}\n" for line in lines).encode())


def _check_plain(names: list[str], rows: list[list[str]]) -> None:
    """Refuse what plain columns, without header and quotes, would not give back."""
    for name in names:
        if len(name.split()) > 1 or '"' in name or name[0] in _COMMENTS:
            raise InputError(f"the vertex label {name!r} needs quotes; write the edges as .csv")
    if rows:
        sample = TextFile(Path("edges"), ["\t".join(row) for row in rows[:2]])
        try:
            looks_like_header = _is_header(sample, 0, Layout((), "fields", delimiter="\t"))
        except FileFormatError:
            looks_like_header = True
        if looks_like_header:
            raise InputError("the first edge would be taken for a header; write the edges as .csv")
