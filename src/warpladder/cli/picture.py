"""``warpladder picture``: a rung drawn from what the simulator recorded of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpladder.cli.completion import complete_rung
from warpladder.cli.options import Json

if TYPE_CHECKING:
    from warpladder.rung import Ladder, Rung

__all__ = ["picture"]


def picture(
    rung: Annotated[
        str,
        typer.Argument(
            metavar="LADDER/RUNG",
            help="As `warpladder ladders` lists them.",
            autocompletion=complete_rung,
        ),
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="What to show, of those that --list names; by default what fits the rung best.",
            show_default=False,
        ),
    ] = None,
    line: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Line of the kernel's file whose requests to show; by default the one with the "
            "most traffic.",
            min=1,
            show_default=False,
        ),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option(
            "--n",
            metavar="N",
            help="Problem size; by default one that suits the rung.",
            min=0,
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The picture: .svg, .png or .pdf; by default RUNG-KIND.svg.",
            show_default=False,
        ),
    ] = None,
    list_kinds: Annotated[
        bool, typer.Option("--list", help="List the kinds that the rung has, and leave.")
    ] = False,
    json: Json = False,
) -> None:
    """Draw a rung; no GPU is needed.

    Its kernels are run on the simulator, which records what single warps
    do: pictures show that and nothing else. Needs matplotlib (extra plot).

    [bold]warpladder picture primer/strided-access[/]

    [bold]warpladder picture reduction/indexed-shared --kind lanes -o banks.png[/]

    [bold]warpladder picture reduction/indexed-shared --list[/]
    """
    from warpladder.call import naming_memory
    from warpladder.cli.output import aside, print_json
    from warpladder.lab.pictures.registry import draw_picture, favourite_of
    from warpladder.lab.registry import find_rung

    ladder, found = find_rung(rung)
    if list_kinds:
        _list(ladder, found, json=json)
        return
    chosen = kind or ("lanes" if line is not None else favourite_of(ladder, found).name)
    path = output or Path(f"{found.name}-{chosen}.svg")

    from warpladder.formats.pictures import check_picture, save_picture

    check_picture(path, "a picture")
    with aside(), naming_memory("--n", "a problem of that size; give a smaller one"):
        picture = draw_picture(rung, chosen, n=n, line=line)
    save_picture(picture, path)
    if json:
        print_json({"rung": rung, "kind": chosen, "file": str(path)})
    else:
        typer.echo(f"wrote {path}", err=True)


def _list(ladder: Ladder, rung: Rung, *, json: bool) -> None:
    from rich.table import Table

    from warpladder.cli.output import print_json, stdout
    from warpladder.lab.pictures.registry import favourite_of, kinds_of

    favourite = favourite_of(ladder, rung).name
    kinds = kinds_of(ladder, rung)
    if json:
        shown = [{"kind": kind.name, "shows": kind.shows} for kind in kinds]
        print_json({"rung": f"{ladder.name}/{rung.name}", "kinds": shown, "by_default": favourite})
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("kind", no_wrap=True)
    table.add_column("shows", overflow="fold")
    for kind in kinds:
        table.add_row(kind.name, kind.shows + " (by default)" * (kind.name == favourite))
    stdout().print(table)
