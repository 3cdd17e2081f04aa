"""JSON lines of sets: an object, an id and a list, or a list alone, on each line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from warpladder.errors import InputError
from warpladder.formats.set_columns import choose_set_columns
from warpladder.formats.set_rows import NotIntegersError, Rows, Text
from warpladder.formats.text import TextFile, quoted

if TYPE_CHECKING:
    from warpladder.formats.set_scanner import Program

__all__ = ["JsonGrammar", "json_grammar"]

_INT64 = np.iinfo(np.int64)
_SHAPES = {
    "object": "an object like {{{keys}}}",
    "pair": "an id and a list, like [1, [2, 5, 6]]",
    "list": "a list of ids, like [2, 5, 6]",
}


class JsonGrammar:
    """What every line of a file looks like.

    Parameters
    ----------
    shape
        ``object``, ``pair`` or ``list``.
    ids, items
        Keys of objects; ``ids`` is None where rows go by their positions.
    """

    is_paired = False
    is_typed = True
    first_line = 1

    def __init__(
        self, shape: Literal["object", "pair", "list"], ids: str | None = None, items: str = ""
    ) -> None:
        self._shape, self._ids, self._items = shape, ids, items
        self.has_ids = shape == "pair" or ids is not None
        keys = ([] if ids is None else [f"{quoted(ids)}: 1"]) + [f"{quoted(items)}: [2, 5]"]
        self._expected = _SHAPES[shape].format(keys=", ".join(keys).replace("'", '"'))

    def program(self, text: Text) -> Program | None:
        """Return what the scanner is to look for: integers, and keys in this order."""
        from warpladder.formats.set_scanner import Program, Style, parts_of

        if text.ids or text.items:
            return None
        parts: list[str | bytes] = ["list"]
        if self._shape == "pair":
            parts = [b"[", "integer", b",", "list", b"]"]
        elif self._shape == "object":
            parts = [b"{"]
            if self._ids is not None:
                parts += [json.dumps(self._ids).encode(), b":", "integer", b","]
            parts += [json.dumps(self._items).encode(), b":", "list", b"}"]
        comma, opening, closing = (ord(sign) for sign in ",[]")
        style = Style(ord("\n"), comma, opening, closing, has_comments=0, is_json=1)
        return Program(*parts_of(*parts), style)

    def rows(self, chunk: TextFile, start: int, text: Text) -> Rows:
        """Read lines one by one."""
        ids: list[Any] = []
        items: list[Any] = []
        lengths: list[int] = []
        lines: list[int] = []
        for index in range(start, len(chunk.lines)):
            if not chunk.lines[index].strip():
                continue
            row_id, listed = self._split(chunk, index)
            if self.has_ids:
                _check(chunk, index, "ids", [row_id], is_text=text.ids)
                ids.append(row_id)
            _check(chunk, index, "items", listed, is_text=text.items)
            items += listed
            lengths.append(len(listed))
            lines.append(chunk.before + index + 1)
        return Rows(
            _column(ids, is_text=text.ids) if self.has_ids else None,
            _column(items, is_text=text.items),
            np.array(lengths, np.int32),
            np.array(lines, np.int64),
        )

    def _split(self, chunk: TextFile, index: int) -> tuple[Any, list[Any]]:
        """Return the id of a line's row, and its set."""
        found = parsed(chunk, index)
        row_id = None
        if self._shape == "object" and isinstance(found, dict):
            row_id, found = found.get(self._ids or ""), found.get(self._items)
        elif self._shape == "pair" and isinstance(found, list) and len(found) == 2:
            row_id, found = found
        elif self._shape != "list":
            found = None
        if not isinstance(found, list) or (self.has_ids and row_id is None):
            raise chunk.error(index, self._expected)
        return row_id, found


def json_grammar(
    head: list[TextFile], ids: str | int | None = None, items: str | int | None = None
) -> JsonGrammar:
    """Return what the lines look like, from the first; ``ids`` and ``items`` are keys."""
    first = parsed(head[0], 0)
    if isinstance(first, dict):
        names = list(first)
        lists = [i for i, value in enumerate(first.values()) if isinstance(value, list)]
        chosen = choose_set_columns(
            head[0].path, names, len(names), ids, items, lists=lists, remedy="give ids and items"
        )
        return JsonGrammar(
            "object", None if chosen.ids is None else names[chosen.ids], names[chosen.items]
        )
    for name, value in (("ids", ids), ("items", items)):
        if value is not None:
            raise InputError(f"{name}={value!r} has no meaning for {head[0].path}, without keys")
    is_pair = isinstance(first, list) and len(first) == 2 and isinstance(first[1], list)
    return JsonGrammar("pair" if is_pair else "list")


def parsed(chunk: TextFile, index: int) -> Any:
    """Return what a line holds."""
    try:
        value = json.loads(chunk.lines[index], object_pairs_hook=_without_repeats)
        if "\\u" in chunk.lines[index]:
            # Half of a pair of surrogates is no character.
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        found = f"{quoted(chunk.lines[index])} ({error})"
        raise chunk.error(index, "a line of JSON that is a whole row", found) from None
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _check(
    chunk: TextFile, index: int, what: Literal["ids", "items"], values: list[Any], *, is_text: bool
) -> None:
    """Refuse all but strings, or else all but integers of 64 bits."""
    for value in values:
        # A bool is an integer to Python.
        if type(value) is not (str if is_text else int):
            line = chunk.before + index + 1
            if type(value) is str:
                raise NotIntegersError(what, line, value)
            expected = f"integers or text as {what}"
            if is_text:
                expected = f"text, as other {what} are; integers and text do not mix"
            raise chunk.error(index, expected, quoted(json.dumps(value)))
        if type(value) is int and not _INT64.min <= value <= _INT64.max:
            raise chunk.error(index, "ids of 64 bits with a sign (or text)", str(value)[:60])
        if value == "":
            raise chunk.error(index, "ids that are not empty")


def _column(values: list[Any], *, is_text: bool) -> Any:
    return values if is_text else np.array(values, np.int64)
