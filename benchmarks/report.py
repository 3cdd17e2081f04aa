"""What the benchmarks share: interleaved timing, the machine's description, tables and JSON."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from rich.console import Console
from rich.table import Table

import warpladder as wl

__all__ = [
    "Target",
    "all_results",
    "draw_ceiling",
    "interleave",
    "markdown_table",
    "measured_on",
    "newest_results",
    "print_table",
    "print_targets",
    "quantiles",
    "quiet_axes",
    "repeated",
    "replace_results",
    "write_results",
]

_RESULTS = Path(__file__).parent / "results"
_README = Path(__file__).parent.parent / "README.md"


class Target(dict[str, Any]):
    """A figure that an issue or the design asks for, beside the one reached."""

    def __init__(self, name: str, value: float, limit: float, *, at_most: bool = False) -> None:
        met = value <= limit if at_most else value >= limit
        super().__init__(name=name, value=value, limit=limit, at_most=at_most, met=met)


def interleave(tasks: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Time each task once per round, in turn, so that a change of the machine's mood hits all.

    A task that returns a float reports its own figure; any other is timed in seconds.
    """
    figures: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            began = perf_counter()
            answer = task()
            seconds = perf_counter() - began
            figures[name].append(answer if isinstance(answer, float) else seconds)
            # Else the next task would be charged with giving back its memory.
            del answer
    return figures


def repeated(task: Callable[[], object], seconds: float, rest: float = 0) -> Callable[[], float]:
    """Return a task that makes calls for so many seconds, and reports what one of them takes.

    Calls follow one another so where somebody works in a loop: all but the first of a turn find in
    the caches what they left there. Before each turn there is a rest, so that threads which others
    keep awake for their next call have gone to sleep.
    """
    # What is called for the first or second time may still be compiled.
    for _ in range(3):
        began = perf_counter()
        task()
    calls = max(1, round(seconds / (perf_counter() - began)))

    def run() -> float:
        sleep(rest)
        began = perf_counter()
        for _ in range(calls):
            task()
        return (perf_counter() - began) / calls

    return run


def quantiles(values: list[float]) -> dict[str, float]:
    """Return the least, the median and the largest."""
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def machine() -> dict[str, Any]:
    """Return what `warpladder.doctor` found, without what is private to this computer."""
    found = wl.doctor().as_dict()
    del found["jit_cache"], found["jit_cache_bytes"]
    return found


def measured_on(results: Mapping[str, Any], part: str) -> str:
    """Return the day on which a part of a record was measured: parts may be measured alone."""
    return _moment(results, part)[:10]


def _moment(results: Mapping[str, Any], part: str) -> str:
    return str(results.get("measured", {}).get(part, results.get("date", "")))


def print_table(title: str, rows: list[dict[str, Any]]) -> None:
    """Print rows with the same keys as a table."""
    table = Table(title=title, title_justify="left")
    for key in rows[0]:
        table.add_column(key.replace("_", " "), justify="right" if key != "case" else "left")
    for row in rows:
        table.add_row(*(f"{v:,.3g}" if isinstance(v, float) else str(v) for v in row.values()))
    Console(width=120).print(table)


def print_targets(targets: list[Target]) -> None:
    """Print each target with what was reached."""
    rows = [
        {
            "case": target["name"],
            "reached": float(target["value"]),
            "asked": f"{'<=' if target['at_most'] else '>='} {target['limit']:g}",
            "met": "yes" if target["met"] else "NO",
        }
        for target in targets
    ]
    print_table("targets", rows)


def markdown_table(
    heads: Sequence[str], rows: Iterable[Iterable[object]], *, words: int = 1
) -> list[str]:
    """Return the lines of a table: columns of numbers, but for so many of words before them."""
    sides = ["---" if which < words else "--:" for which in range(len(heads))]
    lines = (heads, *rows)
    head, *others = (f"| {' | '.join(map(str, cells))} |" for cells in lines)
    return [head, f"|{'|'.join(sides)}|", *others]


def replace_results(name: str, lines: list[str], path: Path = _README) -> None:
    """Replace what stands between the marks of some results in the README."""
    start, end = f"<!-- {name} from benchmarks/results -->", f"<!-- end of {name} -->"
    text = path.read_text()
    before, rest = text.split(start)
    _, after = rest.split(end)
    path.write_text(before + start + "\n\n" + "\n".join(lines) + "\n\n" + end + after)
    print(f"wrote {name} into {path.name}")


def all_results(pattern: str) -> list[dict[str, Any]]:
    """Return all results whose file is named so: one for each machine, in the files' order."""
    return [json.loads(path.read_text()) for path in sorted(_RESULTS.glob(f"{pattern}.json"))]


def newest_results(pattern: str, part: str = "date", *others: str) -> dict[str, Any]:
    """Return the results whose part was measured last, of those whose file is named so.

    Of those only that have the others beside it, which are shown with it.
    """
    # Not the file written last: in a clone all are of one moment.
    having = [results for results in all_results(pattern) if {part, *others} <= results.keys()]
    newest: dict[str, Any] = max(having, key=lambda results: _moment(results, part))
    return newest


def write_results(
    name: str,
    document: dict[str, Any],
    described: dict[str, Any] | None = None,
    *,
    folder: Path | None = None,
) -> Path:
    """Write one suite's results with the machine, this one if no other is described, and the date.

    The file is named after both; it goes where all results are, if no other folder is named.
    """
    described = described or machine()
    cpu = re.sub(r"[^a-z0-9]+", "-", described["cpu"].lower()).strip("-")
    folder = folder or _RESULTS
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{cpu}-{described['vector']['name'].lower()}.json"
    date = datetime.now(UTC).date().isoformat()
    path.write_text(json.dumps({"date": date, "machine": described, **document}, indent=1) + "\n")
    return path


def quiet_axes(axes: Any, top: float, bottom: float) -> None:
    """Leave of a figure's axes what reads the curves, between two rates."""
    axes.minorticks_off()
    axes.set_ylim(bottom=bottom, top=top)
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def draw_ceiling(axes: Any, start: float, rate: float, text: str) -> None:
    """Draw a rate that nothing exceeds, with what it is above the line's beginning."""
    axes.axhline(rate, color="#444444", linestyle="--", linewidth=1)
    axes.annotate(
        text, (start, rate), xytext=(0, 4), textcoords="offset points", fontsize=9
    )  # fmt: skip
