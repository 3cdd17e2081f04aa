"""``warpladder ladders``: what there is to climb."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from warpladder.cli.completion import complete_ladder
from warpladder.cli.options import Json

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from warpladder.rung import Ladder, Rung

__all__ = ["ladders"]


def ladders(
    name: Annotated[
        str | None,
        typer.Argument(
            help="One ladder; without it, all.",
            show_default=False,
            autocompletion=complete_ladder,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the ladders and their rungs, in the order in which to climb them.

    A ladder leads from the plain way to compute something to the limit of the
    hardware; each rung is one idea. For every rung: what it does, where it comes
    from (a source, whose name stands below, or [bold]beyond[/] them), and what
    bounds it on a perfect GPU: dram, shared memory, the issue of instructions,
    latency or pcie.

    Wrong rungs are broken on purpose; a check of the simulator catches each.

    [bold]warpladder ladders[/]            all of them

    [bold]warpladder ladders primer[/]     one of them
    """
    from rich.text import Text

    from warpladder.cli.output import print_json, printable, stdout
    from warpladder.lab.documents import ladder_document
    from warpladder.lab.registry import find_ladder
    from warpladder.lab.registry import ladders as every_ladder
    from warpladder.lab.sources import sources_in

    def left_out(why: str) -> None:
        typer.echo(f"warpladder: {printable(why)}", err=True)

    found = every_ladder(left_out) if name is None else [find_ladder(name)]
    if json:
        print_json({"ladders": [ladder_document(ladder) for ladder in found]})
        return
    console = stdout()
    for place, ladder in enumerate(found):
        if place:
            console.print()
        console.print(_table(ladder))
    named = sources_in("; ".join(rung.source for ladder in found for rung in ladder.rungs))
    if named:
        console.print()
    for source in sorted(named, key=lambda source: source.key):
        console.print(Text(f"{source.key}: {source}", "dim"))


def _table(ladder: Ladder) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text.assemble((ladder.name, "bold"), f": {ladder.title}"),
        title_justify="left",
        title_style="",
        box=None,
        padding=(0, 2, 0, 0),
        header_style="bold",
    )
    table.add_column("rung", no_wrap=True)
    table.add_column("what it does", overflow="fold")
    for rung in ladder.rungs:
        table.add_row(rung.name, _described(rung, f"bound by {rung.bound.by}"))
    if ladder.wrong:
        table.add_row("", "")
        table.add_row(Text("wrong rung", "bold"), "")
    for wrong in ladder.wrong:
        table.add_row(wrong.rung.name, _described(wrong.rung, f"caught by {wrong.caught_by}"))
    return table


def _described(rung: Rung, last: str) -> Text:
    from rich.text import Text

    return Text.assemble(rung.title, "\n", (f"{rung.source}; {last}", "dim"))
