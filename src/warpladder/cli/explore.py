"""``warpladder explore``: questions of the sources, answered by running what they are about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from warpladder.cli.completion import complete_exploration
from warpladder.cli.options import Json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from warpladder.device.base import Device
    from warpladder.lab.explore.exploration import Column, Exploration, Findings, Setting, Table

__all__ = ["explore"]

_DEVICES = ("auto", "cuda", "cpu")
_MOST_SIZES = 1000


def explore(
    name: Annotated[
        str | None,
        typer.Argument(
            help="One exploration; without it, they are listed.",
            show_default=False,
            autocompletion=complete_exploration,
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...",
            help="Problem sizes instead of its own; LOW:HIGH:STEP for many.",
            show_default=False,
        ),
    ] = None,
    gpu_sizes: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...",
            help="Those to time on a GPU, where it has other ones for that.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="auto times a GPU too if there is one, cuda insists, cpu does not."
        ),
    ] = "auto",
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the figures: .png, .svg or .pdf."),
    ] = None,
    json: Json = False,
) -> None:
    """Explore a question: run what it is about, and read what comes out.

    The questions are those that HB sets its students, that CF, IM and RD came
    upon and that GR's solver raises.
    Counters come from the simulator and need no GPU; times are measured on
    this machine; what only a GPU could tell is said to be not measured where
    there is none.

    [bold]warpladder explore[/]             list the questions

    [bold]warpladder explore barrier[/]     take the barrier away and see

    [bold]warpladder explore growth --plot growth.png[/]
    """
    from warpladder.cli.output import print_json, stdout
    from warpladder.lab.explore.registry import explorations, find_exploration

    if name is None:
        _refuse_options(sizes, gpu_sizes, plot)
        every = explorations()
        if json:
            print_json({"explorations": [_described(one) for one in every]})
        else:
            stdout().print(_listing(every))
        return
    exploration = find_exploration(name)
    setting = _setting(exploration, sizes, gpu_sizes, device)
    if plot is not None:
        from warpladder.formats.pictures import check_picture
        from warpladder.lab.explore.plot import draw

        check_picture(plot, "--plot")
    findings = _run(exploration, setting)
    if plot is not None:
        draw(findings.panels, plot, exploration.question)
        typer.echo(f"wrote {plot}", err=True)
    if json:
        print_json({**_described(exploration), "machine": _machine(setting), **findings.as_dict()})
    else:
        _show(stdout(), exploration, findings)


# ---- what is asked for -----------------------------------------------------------------------


def _refuse_options(*given: object) -> None:
    if any(option is not None for option in given):
        raise typer.BadParameter("name an exploration; without options they are listed")


def _setting(
    exploration: Exploration, sizes: str | None, gpu_sizes: str | None, device: str
) -> Setting:
    from warpladder.errors import InputError
    from warpladder.lab.explore.exploration import Setting

    if gpu_sizes is not None and not exploration.gpu_sizes:
        raise InputError(f"--gpu-sizes: {exploration.name} takes --sizes for a GPU too")
    chosen = exploration.sizes if sizes is None else _numbers(exploration, "--sizes", sizes)
    if max(chosen) > exploration.largest:
        raise InputError(
            f"--sizes: {exploration.name} takes up to {exploration.largest}, not {max(chosen)}: "
            f"{exploration.why_largest}"
        )
    timed = exploration.gpu_sizes
    if gpu_sizes is not None:
        timed = _numbers(exploration, "--gpu-sizes", gpu_sizes)
    gpu, why = _find_gpu(device)
    return Setting(chosen, timed, exploration.size_word, gpu, why)


def _numbers(exploration: Exploration, option: str, text: str) -> tuple[int, ...]:
    """Return sizes in ascending order, each once; LOW:HIGH:STEP stands for all of them."""
    from warpladder.errors import InputError

    numbers: set[int] = set()
    for part in text.split(","):
        ends = [end.strip() for end in part.split(":")]
        if len(ends) not in {1, 3} or not all(map(_is_number, ends)):
            raise InputError(
                f"{option}={text!r} must be whole numbers with commas, such as 32,33,64, or "
                "LOW:HIGH:STEP, such as 10:1800:10"
            )
        low, high, step = map(int, ends if len(ends) > 1 else (ends[0], ends[0], "1"))
        if low > high or step < 1 or (high - low) // step >= _MOST_SIZES:
            raise InputError(
                f"{option}={text!r}: {part.strip()} must go from the lowest to the highest, by at "
                f"least 1, and be at most {_MOST_SIZES} sizes"
            )
        numbers.update(range(low, high + 1, step))
    if min(numbers) < 1:
        raise InputError(f"{option}={text!r}: the number of {exploration.size_word} is at least 1")
    return tuple(sorted(numbers))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19


def _find_gpu(device: str) -> tuple[Device | None, str]:
    """Return the GPU, or None and the reason as the end of a sentence."""
    from warpladder.errors import DeviceError, InputError
    from warpladder.lab.devices import open_device

    if device not in _DEVICES:
        raise InputError(f"device={device!r} is not known; use one of {', '.join(_DEVICES)}")
    if device == "cpu":
        return None, "left out, as asked"
    try:
        return open_device("cuda", time_kernels=True), ""
    except DeviceError as fault:
        if device == "cuda":
            raise
        return None, str(fault).rstrip(".")


def _run(exploration: Exploration, setting: Setting) -> Findings:
    """Run, with a progress bar on standard error."""
    from dataclasses import replace

    from rich.progress import BarColumn, Progress, TextColumn

    from warpladder.cli.output import stderr

    console = stderr()
    columns = (TextColumn(exploration.name), BarColumn(), TextColumn("{task.description}"))
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=1.0)

        def show(done: float, comes: str) -> None:
            bar.update(task, completed=done, description=comes)

        return exploration.run(replace(setting, progress=show))


# ---- what is shown ---------------------------------------------------------------------------


def _described(exploration: Exploration) -> dict[str, Any]:
    return {
        "exploration": exploration.name,
        "question": exploration.question,
        "source": exploration.source,
    }


def _machine(setting: Setting) -> dict[str, Any]:
    from warpladder.device.doctor import doctor

    found = doctor()
    vector = None if found.vector is None else found.vector.name
    gpu = None if setting.gpu is None else setting.gpu.properties.name
    return {"cpu": found.cpu, "cores": found.cores, "vector": vector, "gpu": gpu}


def _listing(every: list[Exploration]) -> RichTable:
    table = _empty_table()
    table.add_column("exploration", no_wrap=True)
    table.add_column("question", overflow="fold")
    for one in every:
        table.add_row(one.name, one.question)
    return table


def _show(console: Console, exploration: Exploration, findings: Findings) -> None:
    from rich.text import Text

    console.print(Text.assemble((exploration.name, "bold"), f": {exploration.question}"))
    console.print(Text(exploration.source, "dim"))
    for table in findings.tables:
        console.print("", Text(table.title, "italic"), _as_rich(table), sep="\n")
    for sentence in findings.remarks:
        console.print("", Text(sentence, "yellow"), sep="\n")
    for paragraph in findings.answer:
        console.print("", Text(paragraph), sep="\n")


def _as_rich(table: Table) -> RichTable:
    from rich.text import Text

    shown = _empty_table()
    for column in table.columns:
        justify: Literal["left", "right"] = "left" if column.kind == "text" else "right"
        shown.add_column(Text(column.heading), justify=justify, overflow="fold")
    shown.columns[0].no_wrap = True
    for row in table.rows:
        shown.add_row(*(Text(_cell(row.get(column.key), column)) for column in table.columns))
    return shown


def _cell(value: Any, column: Column) -> str:
    from warpladder.cli.output import with_prefix

    if value is None:
        return "--"
    if isinstance(value, str):
        return value
    if column.kind == "seconds":
        return with_prefix(value, "s")
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _empty_table() -> RichTable:
    from rich.table import Table

    return Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
