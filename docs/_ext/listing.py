"""A kernel's source as a table: on each line the counters, the number and the highlighted code."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from warpladder.lab.explain import Explanation, Line, Listing
from warpladder.lab.gutter import Column, short

__all__ = ["listing_as_html"]


def listing_as_html(
    listing: Listing, columns: Sequence[Column], explanation: Explanation, caption: str
) -> str:
    """Return a listing as an HTML table, on one line of text that Markdown leaves alone.

    Parameters
    ----------
    listing
        Of an explanation.
    columns
        Which counters stand before the code.
    explanation
        Whose faulty lines are marked.
    caption
        What the table is, for those who do not see it.
    """
    heads = "".join(
        f'<th scope="col"><abbr title="{escape(column.meaning)}">{column.heading}</abbr></th>'
        for column in columns
    )
    rows = "".join(
        _row(line, code, columns, is_faulty=_is_faulty(line, listing, explanation))
        for line, code in zip(listing.lines, _coloured(listing.lines), strict=True)
    )
    return (
        '<div class="counted highlight" role="region" tabindex="0" '
        f'aria-label="{escape(caption)}"><table><thead><tr>{heads}'
        '<th scope="col">line</th><th scope="col" class="code">source</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _is_faulty(line: Line, listing: Listing, explanation: Explanation) -> bool:
    return (Path(listing.file).name, line.number) in explanation.faulty_lines


def _row(line: Line, code: str, columns: Sequence[Column], *, is_faulty: bool) -> str:
    values = [column.value(line.counters) if line.counters else None for column in columns]
    cells = "".join(f"<td>{'' if value is None else short(value)}</td>" for value in values)
    mark = ' class="faulty" title="the fault"' if is_faulty else ""
    return f'<tr{mark}>{cells}<th scope="row">{line.number}</th><td class="code">{code}</td></tr>'


def _coloured(lines: Sequence[Line]) -> list[str]:
    """Return the code of each line as HTML, with what its lines have in common before it left out.

    A line break inside a cell would end the HTML for Markdown where the line is empty, so lines are
    cells of their own, and spaces at their beginning stay by the style sheet.
    """
    code = textwrap.dedent("\n".join(line.text for line in lines))
    shown = highlight(code, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
    return [part or " " for part in shown.removesuffix("\n").split("\n")]
