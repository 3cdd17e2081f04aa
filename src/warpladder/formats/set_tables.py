"""Tables of sets: what parts columns and ids, whether there is a header, which columns count.

A table is in list form, with all related ids of a row in one field, or in long form, with one in
each of many rows. What the first lines do not tell, and the person did not say, is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from warpladder.errors import FileFormatError, InputError, InputTypeError
from warpladder.formats.fields import is_integer
from warpladder.formats.set_columns import (
    SetColumns,
    brackets_around,
    choose_set_columns,
    names_sets,
)
from warpladder.formats.set_lines import LineGrammar, quotes_within, split_fields
from warpladder.formats.text import TextFile, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["SEPARATORS", "as_delimiter", "table_grammar"]

#: What may part columns.
SEPARATORS = "\t,;|"
# A list may have these whatever its ids are, blanks and commas only where all are integers: names
# have them, too.
_SURE_DELIMITERS = ";|"
_DOUBT = {
    "lists": " (give the delimiter of lists, or format='pairs' for one id in each)",
    "pairs": " (the first lines have one id each; give format='pairs', or lists and a delimiter)",
}


def table_grammar(
    head: list[TextFile],
    form: Literal["lists", "pairs"] | None,
    *,
    ids: str | int | None,
    items: str | int | None,
    header: bool | None,
    delimiter: str | None,
) -> LineGrammar:
    """Return what the lines of a table look like, from the first that count, each by itself."""
    path = head[0].path
    if delimiter is not None and form is None:
        form = "lists"
    separator = _separator_of(head, delimiter)
    fields = [split_fields(line, 0, separator) for line in head]
    count = len(fields[0])
    # Of a line with another number of fields, reading will say so.
    fields = [row for row in fields if len(row) == count]
    is_by_name = any(isinstance(one, str) and not one.isdecimal() for one in (ids, items))
    if header is None and is_by_name:
        header = True
    names = fields[0] if _may_be_header(fields[0], header) else None
    chosen = choose_set_columns(path, names, count, ids, items)
    if header is None:
        header = _has_header(head[0], fields, chosen, delimiter)
    rows = fields[1:] if header else fields
    values = [row[chosen.items] for row in rows]
    form_found, brackets, between = _list_style(path, values, separator, form, delimiter)
    ids_column = chosen.ids
    assert ids_column is not None  # noqa: S101 - a table of text has a column of ids
    return LineGrammar(
        "table",
        delimiter=None if between == " " else between,
        brackets=brackets,
        separator=separator,
        columns=count,
        ids=ids_column,
        items=chosen.items,
        is_paired=form_found == "pairs",
        first_line=head[0].before + 1 + header,
        doubt="" if form == "pairs" or delimiter is not None else _DOUBT[form_found],
    )


def as_delimiter(delimiter: str | None) -> str | None:
    """Return what parts the ids of a list, a blank for any blanks, checked."""
    if not (delimiter is None or isinstance(delimiter, str)):
        raise InputTypeError(f"delimiter={delimiter!r} must be text, as ';' or ' '")
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n#{}[]()'):
        raise InputError(
            f"delimiter={delimiter!r} must be one character, as ';', '|', ',' or ' ' for blanks"
        )
    return delimiter


def _separator_of(head: list[TextFile], delimiter: str | None) -> str | None:
    """Return what parts columns, None for blanks."""
    path = head[0].path
    counts = {
        sign: [_field_count(line, sign) for line in head]
        for sign in SEPARATORS
        if sign != delimiter
    }
    even = {sign: of[0] for sign, of in counts.items() if of[0] > 1 and len(set(of)) == 1}
    if len(even) > 1:
        even = _without_torn_quotes(head, even)
    pairs = [
        sign for sign, count in even.items() if count == 2 and _parts_an_id(head[0], sign, even)
    ]
    for chosen in (list(even), pairs):
        if len(chosen) == 1:
            return chosen[0]
    if even:
        raise InputError(
            f"{path}: {' or '.join(map(repr, pairs or even))} may part the columns; give the "
            "delimiter, the other one, which parts the ids of a list"
        )
    uneven = {sign: of for sign, of in counts.items() if max(of) > 1}
    if uneven:
        sign, of = next(iter(uneven.items()))
        line = next(i for i, count in enumerate(of) if count != of[0])
        # It may be for quotes that do not close.
        split_fields(head[line], 0, sign)
        expected = f"{of[0]} fields, as in line {head[0].before + 1}"
        hint = "lists in quotes; or format='fimi' and delimiter, for one set a line"
        raise FileFormatError(
            path, head[line].before + 1, f"{expected} ({hint})", quoted(head[line].lines[0], 30)
        )
    if delimiter in set(SEPARATORS) and any('"' in line.lines[0] for line in head):
        # Lists in quotes may have the sign that parts columns.
        return delimiter
    return None


def _without_torn_quotes(head: list[TextFile], even: dict[str, int]) -> dict[str, int]:
    """Leave out signs that part quotes, beside one between whose fields all quotes are proper.

    Of 1,"2;5" a semicolon would make 1,"2 and 5".
    """
    quotes = {
        sign: [count for line in head for count in quotes_within(line, 0, sign)] for sign in even
    }
    if all(map(any, quotes.values())):
        return even
    return {
        sign: fields
        for sign, fields in even.items()
        if not any(count % 2 for count in quotes[sign])
    }


def _parts_an_id(line: TextFile, sign: str, others: Iterable[str]) -> bool:
    """Tell whether one field of a line has no other sign: lists have those, an id has none."""
    fields = split_fields(line, 0, sign)
    return any(not any(other in field for other in others) for field in fields)


def _field_count(line: TextFile, sign: str) -> int:
    """Return how many fields a line has, 0 for quotes that do not close."""
    try:
        return len(split_fields(line, 0, sign))
    except FileFormatError:
        return 0


def _may_be_header(first: list[str], header: bool | None) -> bool:
    return not any(map(is_integer, first)) if header is None else header


def _has_header(
    line: TextFile, fields: list[list[str]], chosen: SetColumns, delimiter: str | None
) -> bool:
    """Tell whether the first line holds names; refuse to guess where it may be either."""
    first, below = fields[0], fields[1:]
    if names_sets(first):
        return True
    ids = chosen.ids or 0
    used = (ids, chosen.items)
    if any(map(is_integer, first)) or any(_integers_in(first[column]) for column in used):
        return False
    if any(_looks_like_list(first[column], delimiter) for column in used):
        return False
    # No name stands in its own column again, and none stands above nothing but integers.
    if any(row[column] == first[column] for row in below for column in used):
        return False
    # A column of ids may be without a name, as an index is; an empty list is no name of its own.
    for column in used if first[chosen.items] else ():
        listed = [_integers_in(row[column]) for row in below if row[column]]
        if listed and all(listed):
            return True
    raise line.error(0, "names like 'id,related_ids', header=True or header=False")


def _looks_like_list(value: str, delimiter: str | None) -> bool:
    signs = _SURE_DELIMITERS + "{[" + (delimiter if delimiter and delimiter != " " else "")
    return any(sign in value for sign in signs)


def _integers_in(value: str) -> bool:
    """Tell whether a field holds integers only, one or more."""
    for sign in "{}[]();|,":
        value = value.replace(sign, " ")
    tokens = value.split()
    return bool(tokens) and all(map(is_integer, tokens))


def _list_style(
    path: Path,
    values: list[str],
    separator: str | None,
    form: Literal["lists", "pairs"] | None,
    delimiter: str | None,
) -> tuple[Literal["lists", "pairs"], str, str]:
    """Return the form of a table, the brackets around lists, and what parts the ids in them."""
    if form == "pairs":
        return "pairs", "", ","
    filled = [value for value in values if value]
    brackets = brackets_around(filled)
    inner = [value[1:-1] for value in filled] if brackets else filled
    if delimiter is not None:
        return "lists", brackets, delimiter
    signs = [sign for sign in _SURE_DELIMITERS if any(sign in value for value in inner)]
    has_comma = any("," in value for value in inner)
    has_blank = any(len(value.split()) > 1 for value in inner)
    are_integers = all(not value.strip() or _integers_in(value) for value in inner)
    if len(signs) > 1 or (signs and has_comma):
        raise _unclear(path, inner, "more than one sign may part the ids of a list")
    if signs:
        return "lists", brackets, signs[0]
    if has_comma and (brackets or are_integers):
        return "lists", brackets, ","
    if has_blank and not has_comma and are_integers:
        return "lists", brackets, " "
    if has_comma or has_blank:
        raise _unclear(path, inner, "it is not clear whether fields are lists or names")
    if brackets:
        return "lists", brackets, ","
    if form == "lists":
        # Not one list has two ids yet; the next sign that does not part columns will do.
        return "lists", "", next(sign for sign in ";," if sign != separator)
    if len(filled) < len(values):
        raise _unclear(path, values, "a row has no related ids, so this may be lists or damaged")
    return "pairs", "", ","


def _unclear(path: Path, values: list[str], why: str) -> InputError:
    shown = next((value for value in values if any(sign in value for sign in " ,;|")), "")
    return InputError(
        f"{path}: {why}, as in {quoted(shown, 30)}; give the delimiter of lists, or "
        "format='pairs' for one id in each"
    )
