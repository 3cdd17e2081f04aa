"""``warpladder overlap``: rows of a file that share ids, as a summary or in a file of their own."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from warpladder.cli.options import Json, as_column

__all__ = ["overlap"]

_STANDARD_OUTPUT = "-"


def overlap(
    file: Annotated[
        Path,
        typer.Argument(
            help="The rows, - for standard input. gzip is seen through.", show_default=False
        ),
    ],
    other: Annotated[
        Path | None,
        typer.Option(help="Rows to pair those of FILE with, instead of with themselves."),
    ] = None,
    threshold: Annotated[
        float, typer.Option("-t", "--threshold", help="Least value of a pair that counts.")
    ] = 2,
    measure: Annotated[
        str,
        typer.Option(
            help="count, of ids two rows share; or jaccard, cosine, dice or containment, 0 to 1."
        ),
    ] = "count",
    top_k: Annotated[
        int | None,
        typer.Option(help="Keep of each row the K pairs that are most alike.", metavar="K"),
    ] = None,
    max_frequency: Annotated[
        float | None,
        typer.Option(
            help="Leave out ids that more rows have than this: a number, or a fraction below 1.",
            metavar="F",
        ),
    ] = None,
    count_only: Annotated[
        bool, typer.Option("--count-only", help="Count the pairs, faster, and show none.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write all pairs: .txt, .csv, .tsv, .jsonl or .pairs, all also with .gz; .parquet "
            "or .arrows; - for standard output.",
        ),
    ] = None,
    format: Annotated[  # noqa: A002 - the option is called --format
        str | None,
        typer.Option(
            help="Format of the output, where its name does not tell: grouped, csv, tsv, jsonl, "
            "pairs, parquet or arrow."
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            help="Do one of K parts of about equal work, whose files together are the whole.",
            metavar="I/K",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on where a run with -o was killed or interrupted, if one was."
        ),
    ] = False,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Say what there is to do and how long it takes; do nothing."),
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option(help="Most memory to take, as 4GB; else what is free.", metavar="SIZE"),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    input_format: Annotated[
        str,
        typer.Option(
            help="Format of FILE, where it does not tell: braces, lists, pairs, fimi, jsonl or "
            "parquet."
        ),
    ] = "auto",
    ids: Annotated[
        str | None, typer.Option(help="Column of the rows' ids, by name or number from 0.")
    ] = None,
    items: Annotated[str | None, typer.Option(help="Column of the related ids.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="What parts the ids of a list.")] = None,
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Whether a table begins with names; else it is found out."
        ),
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Unite rows with the same id instead of refusing them.")
    ] = False,
    json: Json = False,
) -> None:
    """Find all pairs of rows that share ids: at least so many, or that are so alike.

    A row is an id with related ids: [bold]1 {2, 5, 6}[/], a table with a list or in
    long form, a set a line (FIMI .dat), JSON lines, or Parquet. Prints a summary
    and the first pairs; with -o all of them, in bounded memory.

    [bold]warpladder overlap related.txt -o pairs.csv[/]  rows that share two ids or more

    [bold]warpladder overlap a.csv --measure jaccard -t 0.8[/]  four fifths the same

    [bold]warpladder overlap new.txt --other old.txt --top-k 10[/]  ten old rows for each

    [bold]warpladder overlap big.parquet --plan[/]  how long will it take?

    [bold]warpladder overlap big.parquet -o 3.parquet --part 3/8[/]  an eighth, on its own
    """
    from warpladder.cli.amounts import as_bytes
    from warpladder.cli.output import print_json
    from warpladder.cli.overlap_run import Run, as_part, read_rows
    from warpladder.cli.overlap_view import show, show_plan
    from warpladder.cli.targets import check_no_input
    from warpladder.formats.pairs import check_pair_target, pair_format

    is_piped = str(output) == _STANDARD_OUTPUT
    if count_only and output is not None:
        raise typer.BadParameter(
            "--count-only keeps no pairs that -o could write; give one of both"
        )
    if format is not None and output is None:
        raise typer.BadParameter("--format is that of a file to write: name it with -o")
    if is_piped and json and not plan:
        raise typer.BadParameter(
            "--json takes standard output, and so would the pairs; give -o a file"
        )
    if [file, other] == [Path("-")] * 2:
        raise typer.BadParameter("--other and FILE cannot both be standard input")
    check_no_input("-o", output, (file, other))
    if resume and (output is None or is_piped):
        raise typer.BadParameter("--resume goes on with a file: name it with -o")
    number, most_bytes = as_part(part), as_bytes(memory)
    form = None
    if output is not None:
        form = pair_format(output, format or ("csv" if is_piped else None))
        if not is_piped:
            check_pair_target(output, form)
    read: dict[str, Any] = {
        "format": input_format, "ids": ids if ids is None else as_column(ids),
        "items": items if items is None else as_column(items),
        "delimiter": delimiter, "header": header, "merge": merge,
    }  # fmt: skip
    asked: dict[str, Any] = {
        "threshold": _number(threshold), "measure": measure, "top_k": top_k,
        "max_frequency": max_frequency if max_frequency is None else _number(max_frequency),
    }  # fmt: skip
    began = perf_counter()
    sides = [read_rows(one, read) for one in (file, other) if one is not None]
    run = Run(sides, asked, part=number, device=device, most_bytes=most_bytes, form=form)
    run.facts["read_seconds"] = perf_counter() - began
    if plan:
        (print_json if json else show_plan)(run.planned())
        return
    if count_only:
        facts = run.counted()
    elif output is None:
        facts = run.looked_at()
    elif is_piped:
        run.piped()
        return
    else:
        facts = run.written(output, resume=resume)
    (print_json if json else show)(facts)
    if output is not None and not json:
        typer.echo(f"wrote {output}", err=True)


def _number(value: float) -> float:
    """Return a whole number as it is typed."""
    return int(value) if value.is_integer() else value
