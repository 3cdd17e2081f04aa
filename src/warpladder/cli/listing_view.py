"""Kernels on a terminal: counters, line numbers and code, all of it, in the width there is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from warpladder.lab.explain import Listing
    from warpladder.lab.gutter import Column
    from warpladder.lab.verify import PredictionResult
    from warpladder.simulator.checks.counters import Counters

__all__ = ["heading", "legend", "legible_columns", "listing_lines", "prediction_text"]

#: Stands for the line number where a line goes on.
_GOES_ON = ".."


def _counted(listings: Iterable[Listing]) -> list[Counters]:
    return [line.counters for one in listings for line in one.lines if line.counters]


def _code(listing: Listing) -> list[str]:
    """Return the lines without the indentation that all of them have."""
    lines = [line.text for line in listing.lines]
    common = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return [line[common:] for line in lines]


def _number_width(listings: Iterable[Listing]) -> int:
    return max((len(str(one.lines[-1].number)) for one in listings if one.lines), default=1)


def legible_columns(listings: Sequence[Listing], width: int) -> list[Column]:
    """Return the columns that leave the code the width it needs; lines without counts may break."""
    from warpladder.lab.gutter import columns_beside

    needed = max(
        (
            len(text)
            for listing in listings
            for line, text in zip(listing.lines, _code(listing), strict=True)
            if line.counters
        ),
        default=0,
    )
    # A blank, the number, a mark, a blank.
    return columns_beside(needed, width - _number_width(listings) - 3, _counted(listings))


def listing_lines(
    listing: Listing,
    columns: Sequence[Column],
    width: int,
    *,
    faulty: Collection[tuple[str, int]] = (),
    marks: Mapping[int, str] | None = None,
) -> Iterator[Text]:
    """Yield a kernel as lines of at most ``width``; one that is wider goes on in the next.

    Parameters
    ----------
    listing
        The kernel, or the lines of another file.
    columns
        Counters to show.
    width
        Columns of the terminal.
    faulty
        File names and numbers of lines under which the fault is marked.
    marks
        A letter to stand before a line, and to colour it, by the line's number.
    """
    from rich.syntax import Syntax
    from rich.text import Text

    from warpladder.lab.gutter import WIDTH, pieces, short

    number_width = _number_width([listing])
    gutter = WIDTH * len(columns)
    room = max(width - gutter - number_width - 3, 10)
    if columns:
        yield Text("".join(f"{column.heading:>{WIDTH}}" for column in columns), "bold")
    code = _code(listing)
    syntax = Syntax("", "python", theme="ansi_dark", background_color="default")
    colored = syntax.highlight("\n".join(code)).split("\n", allow_blank=True)
    for line, plain, text in zip(listing.lines, code, colored, strict=False):
        values = [column.value(line.counters) if line.counters else None for column in columns]
        cells = "".join(f"{'' if value is None else short(value):>{WIDTH}}" for value in values)
        number, mark, end = str(line.number), (marks or {}).get(line.number, " "), 0
        for piece in pieces(plain, room):
            body = piece.strip()
            start = plain.find(body, end)
            end = start + len(body)
            yield Text.assemble(
                f"{cells:<{gutter}} ",
                (f"{number:>{number_width}}", "dim"),
                (mark, "bold green" if mark == "+" else "bold red"),
                " " * (1 + len(piece) - len(piece.lstrip())),
                text[start:end],
            )
            cells, number = "", _GOES_ON[:number_width]
        if (Path(listing.file).name, line.number) in faulty:
            indent = gutter + number_width + 3 + len(plain) - len(plain.lstrip())
            yield Text.assemble(" " * indent, ("^ the fault", "bold red"))


def heading(listing: Listing, n: int) -> Text:
    """Return the name of a kernel and how it was launched; a program has no size n, but 0."""
    from rich.text import Text

    from warpladder.lab.text import how_launched

    text = Text(listing.name, "bold")
    if listing.launches:
        first = listing.launches[0]
        how = how_launched(len(listing.launches), first.grid, first.block, first.shared_bytes)
        size = f", n = {n}" if n else ""
        text.append(f"{size}: {how}", "not bold")
    return text


def legend(columns: Sequence[Column], listings: Iterable[Listing]) -> Table:
    """Return what the columns mean, and which ones had no room."""
    from rich.table import Table

    from warpladder.lab.gutter import filled_columns

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for column in columns:
        table.add_row(column.heading, column.meaning)
    missing = [one.heading for one in filled_columns(_counted(listings)) if one not in columns]
    if missing:
        table.add_row("", f"For {', '.join(missing)} a wider terminal has room.")
    return table


def prediction_text(result: PredictionResult) -> Text:
    """Return a prediction beside what was counted, and why it is made."""
    from rich.text import Text

    from warpladder.rung import shown

    if result.counted is None:
        counted = result.fault
    elif result.base is None:
        counted = result.shown
    else:
        counted = f"{shown(result.counted)}/{shown(result.base)}"
        if counted != result.shown:
            counted += f" = {result.shown}"
    mark = Text("holds  ", "green") if result.ok else Text("FAILS  ", "bold red")
    return Text.assemble(
        mark, f"predicted {result.prediction}, counted {counted}\n", result.prediction.why
    )
