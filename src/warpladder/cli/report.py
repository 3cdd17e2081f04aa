"""``warpladder report``: all that is known of this machine and of the ladders, as one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warpladder.cli.completion import complete_ladder

if TYPE_CHECKING:
    from warpladder.lab.explore.exploration import Exploration
    from warpladder.lab.report.examine import Examiner

__all__ = ["report"]

_DEVICES = ("auto", "simulator", "cuda")
_ENDINGS = (".html", ".htm")


def report(
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The page to write: report.html, unless --json is given.",
            show_default=False,
        ),
    ] = None,
    ladder: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A ladder; may be given again. By default all.",
            show_default=False,
            autocompletion=complete_ladder,
        ),
    ] = None,
    device: Annotated[
        str,
        typer.Option(metavar="NAME", help="cuda or simulator; auto takes cuda where there is one."),
    ] = "auto",
    open_: Annotated[
        bool, typer.Option("--open", help="Show the page in a browser when it is done.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the same as one JSON document.")
    ] = False,
) -> None:
    """Write what this machine is and what the ladders show on it as one page of HTML.

    The page has every rung: its text, whether it is right, what it predicts
    beside what was counted, and its source with counters beside each line. Where
    there is a GPU its times are measured, else those that were recorded are shown
    and said to be so. Explorations that take seconds are run, too.

    It is one file that needs no network, for a screen, a phone or paper. All five
    ladders take a few minutes.

    The status is 1 when a result is wrong, a prediction fails or a wrong rung
    passes.

    [bold]warpladder report --open[/]

    [bold]warpladder report --ladder primer -o primer.html[/]
    """
    from warpladder.cli.output import print_json
    from warpladder.lab.registry import LADDERS, find_ladder

    page = _page(output, only_json=json, show=open_)
    names = list(dict.fromkeys(ladder or LADDERS))
    for name in names:
        find_ladder(name)
    document = _gather(names, device, every=not ladder)
    if page is not None:
        _write(page, document, show=open_)
    if json:
        print_json(document)
    if not document["ok"]:
        raise typer.Exit(1)


def _page(output: Path | None, *, only_json: bool, show: bool) -> Path | None:
    """Return where the page goes; refuse now what would fail after minutes."""
    from warpladder.errors import InputError
    from warpladder.formats.atomic import check_writable
    from warpladder.lab.report.page import require_packages

    if output is None and only_json and not show:
        return None
    page = Path("report.html") if output is None else output
    if page.suffix.lower() not in _ENDINGS:
        raise InputError(f"--output {page}: a report is HTML, its name must end in .html")
    check_writable(page)
    require_packages()
    return page


def _gather(names: list[str], device: str, *, every: bool) -> dict[str, Any]:
    """Run everything, with a progress bar on standard error."""
    from warpladder.cli.progress import progress_bar
    from warpladder.device.environment import worker_count
    from warpladder.lab.explore.registry import find_exploration
    from warpladder.lab.report.examine import EXPLORED
    from warpladder.lab.report.gather import gather

    examiner = _examiner(device)
    asked = [one for one in EXPLORED if every or _ladder_of(find_exploration(one)) in names]
    with progress_bar("report") as show:
        return gather(names, asked, examiner, processes=worker_count(), progress=show)


def _examiner(device: str) -> Examiner | None:
    """Return who works on a GPU, one rung after the other; None where there is none."""
    from warpladder.errors import InputError
    from warpladder.lab.ceilings import Ceilings
    from warpladder.lab.devices import Simulated, open_device
    from warpladder.lab.report.examine import Examiner
    from warpladder.simulator import SimulatedDevice

    where = open_device(device) if device in _DEVICES else None
    if where is None:
        raise InputError(f"device={device!r} is not known; use one of {', '.join(_DEVICES)}")
    if isinstance(where, Simulated):
        return None
    return Examiner(where, SimulatedDevice, Ceilings(where))


def _ladder_of(exploration: Exploration) -> str:
    return exploration.rung.partition("/")[0]


def _write(page: Path, document: dict[str, Any], *, show: bool) -> None:
    from warpladder.formats.atomic import atomic_write
    from warpladder.lab.report.page import render

    text = render(document)
    with atomic_write(page) as file:
        file.write(text.encode())
    typer.echo(f"wrote {page}", err=True)
    if show:
        typer.launch(page.resolve().as_uri())
