"""Two rungs on a terminal: beside each other where it is wide, else below each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from warpladder.lab.differences import Change, Difference
    from warpladder.lab.gutter import Column

__all__ = ["show_difference"]

#: From so many columns on, half of them hold a kernel and what tells most of its lines.
_WIDE = 150
_BETWEEN = " | "
_TEXT_WIDTH = 80


def show_difference(console: Console, found: Difference, *, lines: bool) -> None:
    """Print two rungs: the lines that only one has, then the counters that differ.

    Parameters
    ----------
    console
        Where to.
    found
        The two rungs.
    lines
        Whether to print their kernels, too.
    """
    from rich.text import Text

    from warpladder.cli.listing_view import legend, legible_columns
    from warpladder.lab.text import wrapped

    for mark, side in (("-", found.before), ("+", found.after)):
        title = Text.assemble((f"{mark} {side.path}", "bold"), f": {side.rung.title}")
        console.print(title)
    if found.before.rung.task.name != found.after.rung.task.name:
        tasks = "; +: ".join(side.rung.task.name for side in (found.before, found.after))
        console.print(wrapped(f"Two tasks. -: {tasks}.", _TEXT_WIDTH))
    listings = (*found.before.listings, *found.after.listings)
    beside = console.width >= _WIDE
    width = (console.width - len(_BETWEEN)) // 2 if beside else console.width
    if lines:
        columns = legible_columns(listings, width)
        texts = [list(_side_lines(console, found, side, columns, width)) for side in (0, 1)]
        console.print()
        for line in _beside(texts, width) if beside else [*texts[0], Text(), *texts[1]]:
            console.print(line, soft_wrap=True)
        if columns:
            console.print("", legend(columns, listings), sep="\n")
    _show_counters(console, found)
    _show_recorded(console, found)
    for side in (found.before, found.after):
        if side.counted.stopped:
            stopped = f"{side.rung.name}: counted up to the fault: {side.counted.stopped}"
            console.print("", stopped, sep="\n")


def _side_lines(
    console: Console, found: Difference, which: int, columns: Sequence[Column], width: int
) -> Iterator[Text]:
    from rich.text import Text

    from warpladder.cli.listing_view import heading, listing_lines

    side, mark = ((found.before, "-"), (found.after, "+"))[which]
    unlike = found.unlike_lines[which]
    for place, listing in enumerate(side.listings):
        if place:
            yield Text()
        title = Text.assemble((f"{mark} {side.rung.name}: ", "dim"), heading(listing, found.n))
        yield from title.wrap(console, width)
        marks = {number: mark for file, number in unlike if file == listing.file}
        yield from listing_lines(listing, columns, width, marks=marks)


def _beside(texts: list[list[Text]], width: int) -> Iterator[Text]:
    from rich.text import Text

    for left, right in zip_longest(*texts, fillvalue=Text()):
        padded = left.copy()
        padded.pad_right(max(width - padded.cell_len, 0))
        yield Text.assemble(padded, (_BETWEEN, "dim"), right)


def _show_counters(console: Console, found: Difference) -> None:
    from rich.text import Text

    from warpladder.cli.listing_view import prediction_text

    totals = found.changes
    for side in (found.before, found.after):
        if side.rung.on != "device":
            where = "on the CPU" if side.rung.on == "cpu" else "on a GPU only"
            console.print("", f"{side.rung.name} runs {where}: nothing of it is counted.", sep="\n")
    heading = f"Counters that differ, of all launches, n = {found.n}"
    console.print("", Text(heading, "bold"), sep="\n")
    if not totals:
        console.print("none")
        return
    console.print(_changes(totals))
    console.print(Text("ratio: + divided by -", "dim"))
    if len(found.kernels) > 1:
        _show_kernels(console, found)
    for result in found.claims:
        console.print("", prediction_text(result), sep="\n")


def _show_kernels(console: Console, found: Difference) -> None:
    """Print what differs between kernels that correspond, and name those that have no partner."""
    from rich.text import Text

    from warpladder.lab.text import wrapped

    for pair in found.kernels:
        if pair.before and pair.after:
            names = " and ".join(dict.fromkeys((pair.before.name, pair.after.name)))
            console.print("", Text(names, "bold"), _changes(pair.changes), sep="\n")
    alone = (
        (
            found.before,
            [pair.before.name for pair in found.kernels if pair.before and not pair.after],
        ),
        (
            found.after,
            [pair.after.name for pair in found.kernels if pair.after and not pair.before],
        ),
    )
    for side, kernels in alone:
        if kernels:
            where = f"`warpladder explain {side.path}` has their counters."
            said = f"In {side.rung.name} only: {', '.join(kernels)}; {where}"
            console.print("", wrapped(said, _TEXT_WIDTH), sep="\n")


def _changes(found: Iterable[Change]) -> Table:
    from rich.table import Table

    from warpladder.rung import shown

    table = Table(box=None, padding=(0, 2, 0, 2), header_style="bold")
    table.add_column("counter", no_wrap=True)
    for heading in ("-", "+", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    for change in found:
        ratio = "" if change.ratio is None else f"{change.ratio:.4g}"
        table.add_row(change.counter, shown(change.before), shown(change.after), ratio)
    return table


def _show_recorded(console: Console, found: Difference) -> None:
    from warpladder.cli.recorded_view import recorded_footnote, recorded_times
    from warpladder.lab.recorded import recording_of

    if found.before.ladder.name != found.after.ladder.name:
        return
    recording = recording_of(found.after.ladder.name)
    both = found.before.rung, found.after.rung
    table = recording and recorded_times(recording, *both)
    if recording and table:
        console.print("", table, recorded_footnote(recording, *both), sep="\n")
