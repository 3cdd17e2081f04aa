"""``warpladder reduce``: sums, extrema and other statistics of the numbers in a file."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from warpladder.cli.options import Json

__all__ = ["reduce"]


def reduce(
    file: Annotated[
        Path,
        typer.Argument(
            help=".npy, raw binary, Parquet, CSV or other text; - for standard input.",
            show_default=False,
        ),
    ],
    op: Annotated[
        str, typer.Option("--op", help="Operations parted by commas: sum,min,argmax,nanmean,l2...")
    ] = "sum",
    column: Annotated[
        str | None, typer.Option(help="Column of a table, by name or number from 0.")
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            help="Type of the numbers where the file does not tell it (raw binary; text: int64 or "
            "float64), as float32 or >i4; else that in which to add up and answer. Both: "
            "i2:float64."
        ),
    ] = None,
    offset: Annotated[int, typer.Option(help="Bytes to skip at the start of raw binary.")] = 0,
    accuracy: Annotated[
        str, typer.Option(help="fast, pairwise, compensated or reproducible.")
    ] = "fast",
    ddof: Annotated[float, typer.Option(help="Taken off the divisor of var and std.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    json: Json = False,
) -> None:
    """Reduce the numbers in a file in one pass, whatever its size.

    Operations: sum, prod, min, max, ptp, argmin, argmax, mean, var, std, any,
    all, count_nonzero, logsumexp, l1, l2; most also with [bold]nan[/] before the name,
    to skip NaNs. In JSON, which has no such numbers, nan, inf and -inf are text.

    A [bold]-[/] reads standard input: .npy and Parquet tell themselves, raw binary is
    what has a --dtype, all else is text with a row on each line.

    [bold]warpladder reduce rain.csv --column mm --op sum,max,mean[/]

    [bold]seq 10 | warpladder reduce - --op ptp[/]

    [bold]head -c 4000 samples.bin | warpladder reduce - --dtype f4[/]
    """
    from warpladder.cli.options import options_named
    from warpladder.cli.output import print_json

    names = [name.strip() for name in op.split(",") if name.strip()]
    began = perf_counter()
    with options_named([str(file)], {}):
        source, facts, answer_in = _open(file, column, dtype, offset)
    wanted = {
        "op": tuple(names), "accuracy": accuracy, "dtype": answer_in, "ddof": ddof,
        "device": device,
    }  # fmt: skip
    # What is wrong with the file may show only when it is read.
    with options_named([str(file)], {"values": str(file)}):
        answer = _run(source, wanted)
    facts["seconds"] = perf_counter() - began
    results = {name: value.item() for name, value in zip(names, answer, strict=True)}
    if json:
        print_json({**facts, "accuracy": accuracy, "results": results})
    else:
        _show(facts, results)


def _open(
    file: Path, column: str | None, dtype: str | None, offset: int
) -> tuple[Any, dict[str, Any], str | None]:
    from warpladder.formats.values import StoredArray, open_typed

    source, answer_in = open_typed(file, dtype, column=column, offset=offset)
    facts: dict[str, Any] = {"file": str(source.path), "type": source.dtype.name}
    if isinstance(source, StoredArray):
        facts["elements"] = source.size
    header = getattr(source, "header", None)
    if header is not None:
        facts["header"] = header
    return source, facts, answer_in


def _run(source: Any, wanted: dict[str, Any]) -> Any:
    from warpladder.cli.progress import progress_bar
    from warpladder.reduction.api import reduce as reduce_values

    with progress_bar("reducing") as progress:
        return reduce_values(source, **wanted, progress=progress)


def _show(facts: dict[str, Any], results: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    from warpladder.cli.output import printable, stdout, with_prefix

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    count = f"{facts['elements']:,} " if "elements" in facts else ""
    table.add_row("file", f"{printable(facts['file'])} ({count}{facts['type']})")
    if "header" in facts:
        table.add_row("header", Text(f"{printable(facts['header'])} (the first line, no value)"))
    table.add_row("time", with_prefix(facts["seconds"], "s"))
    for name, value in results.items():
        table.add_row(name, f"{value:,}" if type(value) is int else str(value))
    stdout().print(table)
