"""Source of kernels in colour, with what was counted beside each line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from warpladder.lab.gutter import Column, choose_columns, short
from warpladder.lab.text import how_launched
from warpladder.rung import shown
from warpladder.simulator.checks.counters import Counters

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["CodeLine", "CodeListing", "columns_of", "listings_of"]

#: So many columns leave the source its place on a laptop's screen; a phone scrolls the box.
_MOST_COLUMNS = 6


class CodeLine(NamedTuple):
    """A line: its number, its counts in the order of the columns, its source as HTML.

    ``is_faulty`` where the check that stops a wrong rung names the line.
    """

    number: int
    counts: tuple[str, ...]
    source: Markup
    is_faulty: bool


class CodeListing(NamedTuple):
    """A kernel, or the lines of another file that kernels executed.

    Attributes
    ----------
    name, file
        Of the kernel, and the name of its file without folders.
    launched
        How often and how it was launched, as the end of a sentence; empty where it was not.
    columns
        Those that have anything to say about the rung.
    lines
        In order.
    totals
        Counters that are not zero, and ratios, by name.
    """

    name: str
    file: str
    launched: str
    columns: tuple[Column, ...]
    lines: tuple[CodeLine, ...]
    totals: tuple[tuple[str, str], ...]


def listings_of(explained: Mapping[str, Any]) -> list[CodeListing]:
    """Return what an explanation, as its document has it, shows of source."""
    listings = (*explained["kernels"], *explained["elsewhere"])
    columns = columns_of(listings)
    faulty = {(place["file"], place["line"]) for place in explained["faulty_lines"]}
    return [_listing(one, columns, faulty, explained["n"]) for one in listings]


def columns_of(listings: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    """Return the columns of counters that are not empty for all of these."""
    counted = [
        _counters(line["counters"]) for one in listings for line in one["lines"] if line["counters"]
    ]
    return tuple(choose_columns(counted, _MOST_COLUMNS))


def _counters(document: Mapping[str, Any]) -> Counters:
    return Counters(**{field.name: document[field.name] for field in fields(Counters)})


def _listing(
    one: Mapping[str, Any],
    columns: tuple[Column, ...],
    faulty: set[tuple[str, int]],
    n: int,
) -> CodeListing:
    name = Path(one["file"]).name
    coloured = _coloured([line["text"] for line in one["lines"]])
    lines = []
    for line, source in zip(one["lines"], coloured, strict=True):
        counters = line["counters"] and _counters(line["counters"])
        values = [column.value(counters) if counters else None for column in columns]
        counts = tuple("" if value is None else short(value) for value in values)
        lines.append(CodeLine(line["number"], counts, source, (name, line["number"]) in faulty))
    totals = tuple((key, shown(value)) for key, value in one["counters"].items() if value)
    return CodeListing(one["name"], name, _launched(one, n), columns, tuple(lines), totals)


def _launched(one: Mapping[str, Any], n: int) -> str:
    launches = one["launches"]
    if not launches:
        return ""
    first = launches[0]
    how = how_launched(len(launches), first["grid"], first["block"], first["shared_bytes"])
    return f"n = {n}: {how}"


def _coloured(lines: Sequence[str]) -> list[Markup]:
    """Return the lines as HTML, each whole in itself."""
    from markupsafe import Markup
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    lexer = PythonLexer(stripnl=False, stripall=False, ensurenl=True)
    html = highlight("\n".join(lines), lexer, HtmlFormatter(nowrap=True))
    # Pygments escapes the source, and ends what goes over several lines at the end of each.
    return [Markup(line) for line in html.split("\n")[: len(lines)]]  # noqa: S704 - see above
