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
    listing: Listing,
    columns: Sequence[Column],
    explanation: Explanation,
    caption: str,
    narrow: Sequence[Column] | None = None,
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
    narrow
        The columns that stay where there is little room; by default all.
    """
    kept = columns if narrow is None else narrow
    classes = ["" if column in kept else ' class="roomy"' for column in columns]
    heads = "".join(
        f'<th scope="col"{kind}><abbr title="{escape(column.meaning)}">{column.heading}</abbr></th>'
        for column, kind in zip(columns, classes, strict=True)
    )
    rows = "".join(
        _row(line, code, columns, classes, is_faulty=_is_faulty(line, listing, explanation))
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


def _row(
    line: Line, code: str, columns: Sequence[Column], classes: Sequence[str], *, is_faulty: bool
) -> str:
    values = [column.value(line.counters) if line.counters else None for column in columns]
    cells = "".join(
        f"<td{kind}>{'' if value is None else short(value)}</td>"
        for value, kind in zip(values, classes, strict=True)
    )
    mark = ' class="faulty" title="the fault"' if is_faulty else ""
    return f'<tr{mark}>{cells}<th scope="row">{line.number}</th><td class="code">{code}</td></tr>'


def _coloured(lines: Sequence[Line]) -> list[str]:
    """Return the code of each line as HTML, less the indentation that all lines share."""
    code = textwrap.dedent("\n".join(line.text for line in lines))
    shown = highlight(code, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))
    return [part or " " for part in shown.removesuffix("\n").split("\n")]
