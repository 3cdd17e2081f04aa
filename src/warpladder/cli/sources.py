"""``warpladder sources``: everything in the five texts, and what runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpladder.cli.options import Json

if TYPE_CHECKING:
    from warpladder.lab.coverage import Item

__all__ = ["sources"]


def sources(
    key: Annotated[
        str | None,
        typer.Argument(help="CF, GR, HB, IM or RD; without it, all five.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Say what runs each listing, table, figure and exercise of the sources.

    With a text beside you, find the place you are at, and what to run for it:
    a rung (to explain or to climb), an exploration, a command, a test.

    [bold]warpladder sources HB[/]     Hochberg's module, from its review to its answers
    """
    from warpladder.cli.output import print_json, stdout
    from warpladder.errors import InputError
    from warpladder.lab.coverage import holding
    from warpladder.lab.sources import SOURCES

    if key is not None and key.upper() not in SOURCES:
        raise InputError(f"no source {key!r}; they are {', '.join(SOURCES)}")
    chosen = list(SOURCES) if key is None else [key.upper()]
    known = holding()
    if json:
        rows = [_row(item, what) for item, what in known.items() if item.key in chosen]
        print_json({"sources": {one: str(SOURCES[one]) for one in chosen}, "items": rows})
        return
    for number, one in enumerate(chosen):
        _show(stdout(), one, {item: what for item, what in known.items() if item.key == one})
        if number < len(chosen) - 1:
            stdout().print()


def _row(item: Item, what: tuple[str, ...]) -> dict[str, Any]:
    return {
        "source": item.key,
        "places": list(item.places),
        "what": item.what,
        "runs": list(what),
        "not_done": item.not_done or None,
    }


def _show(console: Any, key: str, known: dict[Item, tuple[str, ...]]) -> None:
    from rich.text import Text

    from warpladder.lab.sources import SOURCES

    console.print(Text.assemble((key, "bold"), f": {SOURCES[key]}"))
    for item, what in known.items():
        places = ", ".join(place.removeprefix(f"{key} ") for place in item.places)
        console.print("", Text.assemble((places, "bold"), f": {item.what}"), sep="\n")
        for line in what:
            console.print(Text(f"    {line}"))
        if item.not_done:
            console.print(Text(f"    not run: {item.not_done}", "yellow"))
