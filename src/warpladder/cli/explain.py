"""``warpladder explain``: a rung's kernels with what a GPU would do beside each line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from warpladder.cli.completion import complete_other_rung, complete_rung
from warpladder.cli.options import Json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from warpladder.lab.differences import Difference
    from warpladder.lab.explain import Explanation, Listing
    from warpladder.lab.questions import Answered
    from warpladder.rung import Rung

__all__ = ["explain"]

#: Columns of running text: what a terminal has at the least, and what reads well.
_TEXT_WIDTH = 80

_TRANSACTIONS = (
    "GPUs of today (compute capability 6.0 and later) move sectors of 32 bytes, each by itself: "
    "counters of sectors, and utilisation_32, are what they do. Lines of 128 bytes are what the "
    "first level of cache looks up; older GPUs fetched them whole: utilisation_128."
)


def explain(
    rung: Annotated[
        str,
        typer.Argument(
            metavar="LADDER/RUNG",
            help="As `warpladder ladders` lists them; or FILE.py/RUNG, or FILE.py.",
            autocompletion=complete_rung,
        ),
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
    diff: Annotated[
        str | None,
        typer.Option(
            metavar="OTHER",
            help="Compare with another rung, RUNG or LADDER/RUNG.",
            show_default=False,
            autocompletion=complete_other_rung,
        ),
    ] = None,
    lines: Annotated[
        bool, typer.Option("--lines/--no-lines", help="Whether to print the kernels.")
    ] = True,
    answer: Annotated[
        bool, typer.Option("--answer", help="Answer the question at the end.")
    ] = False,
    json: Json = False,
) -> None:
    """Explain a rung with counted evidence; no GPU is needed.

    Prints what the rung's file says (its idea, what is below it, what to expect,
    what was found on hardware), its kernels with what a GPU would do beside each
    line (a legend below says what every column means), the totals, and each
    prediction beside what was counted. Last come the names that Nsight Compute
    has for the totals, where it counts the same, and a question that the learner
    can answer from all this, by a small change or by a run at another size;
    --answer answers it.

    Of a program with kernels of its own, FILE.py, it shows them and their
    counters.

    A wrong rung is counted with the checks off, as far as it comes; then it is
    said which check catches it, at which line, and under which schedules its
    result is wrong.

    [bold]--diff OTHER[/]: both rungs on a problem of one size, beside each other on a
    terminal of 150 columns; what differs in the code (- in the other one, + in
    this one) and in the counters, in all and for each kernel.

    [bold]warpladder explain primer/strided-access[/]

    [bold]warpladder explain reduction/indexed-shared --diff sequential-shared[/]

    [bold]warpladder explain primer/strided-access --no-lines --n 1000[/]
    """
    from functools import partial

    from warpladder.call import naming_memory
    from warpladder.cli.output import aside, print_json, stdout
    from warpladder.lab.differences import compare
    from warpladder.lab.documents import answer_document, explanation_document
    from warpladder.lab.explain import explain as explain_rung
    from warpladder.lab.questions import answer as answer_question
    from warpladder.lab.registry import find_rung

    if device != "simulator":
        raise typer.BadParameter(
            f"{device!r}: only the simulator counts line by line", param_hint="--device"
        )
    if diff and answer:
        raise typer.BadParameter("a question is that of one rung", param_hint="--diff, --answer")
    version = _version(compute_capability)
    ladder, found = find_rung(rung, programs=True)
    place = rung.rpartition("/")[0] or ladder.name
    other = diff and find_rung(diff if "/" in diff else f"{place}/{diff}")
    from warpladder.simulator import SimulatedDevice

    make_device = partial(SimulatedDevice, compute_capability=version)
    naming = naming_memory("--n", "a problem of that size; give a smaller one")
    if other:
        with aside(), naming:
            difference = compare((ladder, found), other, make_device, n)
        _compare(difference, lines=lines, json=json)
        return
    with aside(), naming:
        explanation = explain_rung(ladder, found, make_device, n)
    answered = answer_question(ladder, found, make_device) if answer else None
    if json:
        document = explanation_document(explanation, lines=lines)
        print_json({**document, "answer": answer_document(answered)})
    else:
        _show(stdout(), explanation, lines=lines)
        _show_question(stdout(), explanation.rung, answered, asked=answer)


def _compare(found: Difference, *, lines: bool, json: bool) -> None:
    from warpladder.cli.differences_view import show_difference
    from warpladder.cli.output import print_json, stdout
    from warpladder.lab.documents import difference_document

    if json:
        print_json(difference_document(found, lines=lines))
    else:
        show_difference(stdout(), found, lines=lines)


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    if not (major.isdecimal() and minor.isdecimal()):
        raise typer.BadParameter(
            f"{text!r} is not two numbers as in 9.0", param_hint="--compute-capability"
        )
    return int(major), int(minor)


def _show(console: Console, explanation: Explanation, *, lines: bool) -> None:
    from rich.text import Text

    from warpladder.cli.listing_view import (
        heading,
        legend,
        legible_columns,
        listing_lines,
        prediction_text,
    )
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
    columns = legible_columns(listings, console.width)
    for listing in listings:
        console.print()
        console.print(heading(listing, explanation.n))
        if lines:
            for line in listing_lines(
                listing, columns, console.width, faulty=explanation.faulty_lines
            ):
                console.print(line, soft_wrap=True)
        if listing.launches:
            console.print(*[""] * lines, _totals(listing), sep="\n")
    if lines and columns:
        console.print("", legend(columns, listings), sep="\n")
    if any(kernel.counters.global_bytes_moved for kernel in explanation.kernels):
        console.print("", wrapped(_TRANSACTIONS, _TEXT_WIDTH), sep="\n")
    _show_recorded(console, explanation)
    if explanation.stopped:
        console.print("", f"Counted up to the fault: {explanation.stopped}", sep="\n")
    for result in explanation.predictions:
        console.print("", prediction_text(result), sep="\n")
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

    from warpladder.cli.listing_view import prediction_text
    from warpladder.lab.text import question_of

    if question := question_of(rung):
        console.print("", _paragraph(f"Question: {question}"), sep="\n")
        if not asked:
            console.print(Text("With --answer, the answer follows.", "dim"))
    if asked:
        text = answered.text if answered else "none is written down for this rung."
        console.print("", _paragraph(f"Answer: {text}"), sep="\n")
    for result in answered.counted if answered else ():
        console.print("", prediction_text(result), sep="\n")


def _show_recorded(console: Console, explanation: Explanation) -> None:
    from warpladder.cli.recorded_view import recorded_footnote, recorded_times
    from warpladder.lab.recorded import recording_of

    recording = recording_of(explanation.ladder.name)
    if recording and (table := recorded_times(recording, explanation.rung)):
        console.print("", table, recorded_footnote(recording, explanation.rung), sep="\n")


def _paragraph(paragraph: str) -> Text:
    """Return a paragraph of a rung's text, what it is about in bold: ``Idea:``."""
    from rich.text import Text

    from warpladder.lab.text import wrapped

    text = Text(wrapped(paragraph, _TEXT_WIDTH))
    text.highlight_regex(
        r"^(Idea|Below|Expect|Found|Fault|Mended by|Source|Question|Answer):", "bold"
    )
    return text


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
