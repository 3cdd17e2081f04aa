"""How `warpladder overlap` shows its answer to people."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from rich.table import Table
from rich.text import Text

from warpladder.cli.output import printable, stdout, with_prefix
from warpladder.device.host_memory import in_words

__all__ = ["show", "show_plan"]

_ID_WIDTH = 24


def show(facts: dict[str, Any]) -> None:
    """Print a summary, and the first pairs where they are known."""
    console = stdout()
    table = _about(facts)
    seconds = facts["seconds"]
    twice = ", each from both of its rows" if facts["both_ways"] else ""
    table.add_row("pairs", f"{facts['pairs']:,}{twice}")
    if "rows_in_pairs" in facts:
        table.add_row("rows in any", f"{facts['rows_in_pairs']:,}")
    if "most_pairs_of_a_row" in facts:
        most = facts["most_pairs_of_a_row"]
        table.add_row("the most", Text(f"{most['pairs']:,}, of row {_id(most['row'])}"))
    if "resumed_at_row" in facts:
        table.add_row("gone on", f"from row {facts['resumed_at_row']:,}, counted from 0")
    told = f"{with_prefix(seconds)}s"
    table.add_row("time", f"{told}, and {with_prefix(facts['read_seconds'])}s to read the rows")
    console.print(table)
    if facts.get("first_pairs"):
        console.print("", _pairs_table(facts["first_pairs"], facts["pairs"]), sep="\n")


def show_plan(facts: dict[str, Any]) -> None:
    """Print what there is to do."""
    plan = facts["plan"]
    table = _about(facts)
    of_all = " for all parts" if "part" in facts else ""
    table.add_row("updates", f"{plan['updates']:,}{of_all}")
    at_most = f", at most {plan['most_pairs']:,}"
    table.add_row("pairs", f"about {plan['expected_pairs']:,}{at_most}{of_all}")
    table.add_row("memory", in_words(plan["memory"]))
    table.add_row("time", f"{_in_time(plan['seconds'])}{of_all}")
    stdout().print(table)


def _in_time(seconds: float | None) -> str:
    if seconds is None:
        return "not known on a GPU"
    return "less than a second" if seconds < 1 else f"about {timedelta(seconds=round(seconds))}"


def _about(facts: dict[str, Any]) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    others = f" with {facts['other_rows']:,} others" if "other_rows" in facts else ""
    table.add_row("rows", f"{facts['rows']:,}{others}")
    table.add_row("ids", f"{facts['ids']:,} of {facts['different_ids']:,}")
    rule = f"{facts['measure']} >= {facts['threshold']:.10g}"
    if "top_k" in facts:
        rule += f", the {facts['top_k']:,} best of each row"
    if "max_frequency" in facts:
        rule += f", without ids more frequent than {facts['max_frequency']:,}"
    table.add_row("asked", rule)
    if "part" in facts:
        table.add_row("part", facts["part"])
    table.add_row("method", Text(facts["why"]))
    return table


def _pairs_table(pairs: list[dict[str, Any]], total: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in pairs[0]:
        table.add_column(
            name, justify="right" if name in {"shared", "value"} else "left", no_wrap=True
        )
    for pair in pairs:
        table.add_row(*(Text(_cell(name, value)) for name, value in pair.items()))
    if total > len(pairs):
        table.add_row(Text(f"... {total - len(pairs):,} more"))
    return table


def _cell(name: str, value: Any) -> str:
    if name == "value":
        return f"{value:.6g}"
    return f"{value:,}" if name == "shared" else _id(value)


def _id(value: Any) -> str:
    """Return an id that cannot steer the terminal, shortened if it is very long."""
    text = printable(str(value))
    return text if len(text) <= _ID_WIDTH else text[: _ID_WIDTH - 1] + "\u2026"
