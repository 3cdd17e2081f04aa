"""``warpladder explain``: a rung's kernels with what a GPU would do beside each line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from warpladder.lab.explain import Explanation, Listing
    from warpladder.lab.gutter import Column
    from warpladder.lab.questions import Answered
    from warpladder.lab.verify import PredictionResult
    from warpladder.rung import Rung

__all__ = ["explain"]

#: Columns of running text: what a terminal has at the least, and what reads well.
_TEXT_WIDTH = 80

# Characters that the source is left of a narrow terminal: kernels are indented once or twice.
_SOURCE_WIDTH = 45


def explain(
    rung: Annotated[
        str, typer.Argument(metavar="LADDER/RUNG", help="As `warpladder ladders` lists them.")
    ],
    device: Annotated[
        str, typer.Option(metavar="NAME", help="simulator: no other counts line by line.")
    ] = "simulator",
    n: Annotated[
        int | None,
        typer.Option(
            "--n",
            metavar="N",
            help="Problem size; by default that of the first prediction.",
            min=0,
            show_default=False,
        ),
    ] = None,
    compute_capability: Annotated[
        str, typer.Option(metavar="X.Y", help="Of the GPU to simulate.")
    ] = "9.0",
    lines: Annotated[
        bool, typer.Option("--lines/--no-lines", help="Whether to print the kernels.")
    ] = True,
    answer: Annotated[
        bool, typer.Option("--answer", help="Answer the question at the end.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False,
) -> None:
    """Explain a rung with counted evidence; no GPU is needed.

    Prints what the rung's file says (its idea, what is below it, what to expect,
    what was found on hardware), its kernels with what a GPU would do beside each
    line (a legend below says what every column means), the totals, and each
    prediction beside what was counted. Last come the names that Nsight Compute has
    for the totals, where it counts the same, and a question that the learner can
    answer from all this, by a small change or by a run at another size; --answer
    answers it.

    A wrong rung is counted with the checks off, as far as it comes; then it is said
    which check catches it, at which line, and under which schedules its result is
    wrong.

    [bold]warpladder explain primer/strided-access[/]

    [bold]warpladder explain primer/strided-access --no-lines --n 1000[/]
    """
    from functools import partial

    from warpladder.cli.output import print_json, stdout
    from warpladder.lab.documents import answer_document, explanation_document
    from warpladder.lab.explain import explain as explain_rung
    from warpladder.lab.questions import answer as answer_question
    from warpladder.lab.registry import find_rung

    if device != "simulator":
        raise typer.BadParameter(
            f"{device!r}: only the simulator counts line by line", param_hint="--device"
        )
    version = _version(compute_capability)
    ladder, found = find_rung(rung)
    from warpladder.simulator import SimulatedDevice

    make_device = partial(SimulatedDevice, compute_capability=version)
    explanation = explain_rung(ladder, found, make_device, n)
    answered = answer_question(ladder, found, make_device) if answer else None
    if json:
        document = explanation_document(explanation, lines=lines)
        print_json({**document, "answer": answer_document(answered)})
    else:
        _show(stdout(), explanation, lines=lines)
        _show_question(stdout(), explanation.rung, answered, asked=answer)


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    if not (major.isdecimal() and minor.isdecimal()):
        raise typer.BadParameter(
            f"{text!r} is not two numbers as in 9.0", param_hint="--compute-capability"
        )
    return int(major), int(minor)


def _show(console: Console, explanation: Explanation, *, lines: bool) -> None:
    from rich.text import Text

    from warpladder.lab.gutter import WIDTH, choose_columns
    from warpladder.lab.sources import sources_in
    from warpladder.lab.text import wrapped

    rung = explanation.rung
    console.print(
        Text.assemble((f"{explanation.ladder.name}/{rung.name}", "bold"), f": {rung.title}")
    )
    console.print(Text(explanation.file, "dim"), soft_wrap=True)
    for paragraph in explanation.text:
        console.print("", _paragraph(paragraph), sep="\n")
    for source in sources_in(rung.source):
        console.print(Text(wrapped(f"{source.key}: {source}", _TEXT_WIDTH), "dim"))
    listings = (*explanation.kernels, *explanation.elsewhere)
    counted = [line.counters for one in listings for line in one.lines if line.counters]
    most = max(console.width - _SOURCE_WIDTH, 0) // WIDTH
    columns = choose_columns(counted, most)
    for listing in listings:
        console.print()
        console.print(_heading(listing, explanation.n))
        if lines:
            console.print(_source(listing, columns, explanation))
        if listing.launches:
            console.print(*[""] * lines, _totals(listing), sep="\n")
    if lines and columns:
        console.print("", _legend(columns), sep="\n")
    if explanation.stopped:
        console.print("", f"Counted up to the fault: {explanation.stopped}", sep="\n")
    for result in explanation.predictions:
        console.print("", _prediction(result), sep="\n")
    if names := _nsight(explanation):
        console.print("", "Nsight Compute counts the same under these names:", sep="\n")
        console.print(names)
    if explanation.wrong is not None:
        fault = explanation.wrong.fault or "no check stopped it"
        console.print("", Text(f"A wrong rung, by intent. With checks on: {fault}"), sep="\n")
        for schedule, seen in explanation.wrong.visible.items():
            outcome = "wrong" if seen else "right"
            console.print(
                f"With checks off, its result under the schedule {schedule} is {outcome}."
            )


def _show_question(console: Console, rung: Rung, answered: Answered | None, *, asked: bool) -> None:
    """Print the rung's question last, and under it the answer, if one is asked for."""
    from rich.text import Text

    from warpladder.lab.text import question_of

    if question := question_of(rung):
        console.print("", _paragraph(f"Question: {question}"), sep="\n")
        if not asked:
            console.print(Text("With --answer, the answer follows.", "dim"))
    if asked:
        text = answered.text if answered else "none is written down for this rung."
        console.print("", _paragraph(f"Answer: {text}"), sep="\n")
    for result in answered.counted if answered else ():
        console.print("", _prediction(result), sep="\n")


def _paragraph(paragraph: str) -> Text:
    """Return a paragraph of a rung's text, what it is about in bold: ``Idea:``."""
    from rich.text import Text

    from warpladder.lab.text import wrapped

    text = Text(wrapped(paragraph, _TEXT_WIDTH))
    text.highlight_regex(
        r"^(Idea|Below|Expect|Found|Fault|Mended by|Source|Question|Answer):", "bold"
    )
    return text


def _heading(listing: Listing, n: int) -> Text:
    from rich.text import Text

    heading = Text(listing.name, "bold")
    if listing.launches:
        first, times = listing.launches[0], len(listing.launches)
        started = f"{times} launches, the first with" if times > 1 else "1 launch,"
        shared = f", {first.shared_bytes} bytes of shared memory" if first.shared_bytes else ""
        shape = f"grid {_extent(first.grid)}, block {_extent(first.block)}"
        heading.append(f", n = {n}: {started} {shape}{shared}", "not bold")
    return heading


def _extent(size: tuple[int, ...]) -> str:
    while len(size) > 1 and size[-1] == 1:
        size = size[:-1]
    return " x ".join(map(str, size))


def _source(listing: Listing, columns: list[Column], explanation: Explanation) -> Table:
    from rich.syntax import Syntax
    from rich.table import Table
    from rich.text import Text

    from warpladder.lab.gutter import WIDTH, short

    table = Table(box=None, padding=0, header_style="bold", show_header=bool(columns))
    for column in columns:
        table.add_column(column.heading, justify="right", width=WIDTH, no_wrap=True)
    number_width = len(str(listing.lines[-1].number)) + 1
    table.add_column("", justify="right", width=number_width, style="dim", no_wrap=True)
    table.add_column("", overflow="fold")
    syntax = Syntax("", "python", theme="ansi_dark", background_color="default")
    code = syntax.highlight("\n".join(line.text for line in listing.lines))
    for line, text in zip(listing.lines, code.split("\n", allow_blank=True), strict=False):
        values = [column.value(line.counters) if line.counters else None for column in columns]
        cells = ["" if value is None else short(value) for value in values]
        table.add_row(*cells, str(line.number), Text.assemble(" ", text))
        if (Path(listing.file).name, line.number) in explanation.faulty_lines:
            indent = " " * (1 + len(line.text) - len(line.text.lstrip()))
            table.add_row(*[""] * len(cells), "", Text(f"{indent}^ the fault", "bold red"))
    return table


def _totals(listing: Listing) -> Table:
    from rich.table import Table

    from warpladder.lab.documents import counters_document
    from warpladder.rung import shown

    table = Table(box=None, padding=(0, 2, 0, 2), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    for name, value in counters_document(listing.counters).items():
        if value:
            table.add_row(name, shown(value))
    return table


def _nsight(explanation: Explanation) -> Text | None:
    """Return Nsight Compute's names of the totals that are not zero."""
    from rich.text import Text

    from warpladder.simulator.checks.counters import NSIGHT_COMPUTE

    totals = [kernel.counters for kernel in explanation.kernels]
    lines = [
        "\n    ".join((f"  {name}", *metric.split(" + ")))
        for name, metric in NSIGHT_COMPUTE.items()
        if any(getattr(total, name) for total in totals)
    ]
    return Text("\n".join(lines), "dim") if lines else None


def _legend(columns: list[Column]) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for column in columns:
        table.add_row(column.heading, column.meaning)
    return table


def _prediction(result: PredictionResult) -> Text:
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
