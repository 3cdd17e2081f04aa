"""How `warpladder advect` shows its answer to people."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from warpladder.cli.output import printable, stdout, with_prefix
from warpladder.device.host_memory import in_words

__all__ = ["show"]

_WORTH_A_RATE = 10**10


def show(facts: dict[str, Any]) -> None:
    """Print a summary, and the table of convergence where there is one."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    (_plan_rows if "plan" in facts else _rows)(table, facts)
    stdout().print(table)
    if "convergence" in facts:
        stdout().print("", _convergence(facts), sep="\n")


def _plan_rows(table: Table, facts: dict[str, Any]) -> None:
    plan = facts["plan"]
    table.add_row("cells", Text(f"{plan['cells']:,}, {printable(facts['initial'])}"))
    steps = f"{plan['steps']:,} of {plan['dt']:.6g}, Courant number {plan['courant']:.6g}"
    table.add_row("steps", steps)
    table.add_row("work", f"{with_prefix(plan['cell_steps'])} cell-steps")
    if plan["snapshots"]:
        table.add_row("snapshots", f"{plan['snapshots']:,}")
    table.add_row("memory", in_words(plan["memory"]))
    table.add_row("engine", Text(plan["why"]))


def _rows(table: Table, facts: dict[str, Any]) -> None:
    systems = f"{facts['systems']:,} systems of " if "systems" in facts else ""
    start = printable(facts["initial"])
    table.add_row("cells", Text(f"{systems}{facts['cells']:,} {facts['type']}, {start}"))
    courant = facts["courant"]
    told = f"{courant:.6g}" if isinstance(courant, float) else _between(courant)
    table.add_row("scheme", f"{facts['scheme']}, Courant number {told}")
    table.add_row("boundary", facts["boundary"])
    gone_on = f", the first {facts['first_step']:,} before" if "first_step" in facts else ""
    table.add_row("steps", f"{facts['steps']:,}{gone_on}, to t = {facts['time']:.6g}")
    table.add_row("engine", Text(facts["why"]))
    table.add_row("took", _took(facts["seconds"], facts["cell_steps"]))
    table.add_row("values", f"{_number(facts['least'])} to {_number(facts['most'])}")
    table.add_row("variation", _number(facts["total_variation"]))
    if "mass_before" in facts:
        before, after, change = (
            _number(facts[f"mass_{name}"]) for name in ("before", "after", "change")
        )
        table.add_row("mass", f"{before} before, {after} after, a change of {change}")
    if "errors" in facts:
        errors = facts["errors"]
        told = ", ".join(f"{name} {_number(errors[name.lower()])}" for name in ("L1", "L2", "Linf"))
        table.add_row("error", told)
    if "snapshots" in facts:
        table.add_row("snapshots", f"{facts['snapshots']:,}")


def _between(numbers: list[float]) -> str:
    return f"{_number(min(numbers))} to {_number(max(numbers))}"


def _took(seconds: float, cell_steps: int) -> str:
    """Return the time, and the rate where loading compiled code is not most of it."""
    told = f"{with_prefix(seconds)}s"
    if cell_steps < _WORTH_A_RATE:
        return f"{told}, with loading what is compiled"
    return f"{told}, {with_prefix(cell_steps / seconds)} cell-steps/s"


def _convergence(facts: dict[str, Any]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    names = ("l1", "l2", "linf")
    for name in ("cells", "L1", "order", "L2", "order", "Linf", "order"):
        table.add_column(name, justify="right", no_wrap=True)
    for row, grid in enumerate(facts["convergence"]):
        orders = facts["orders"][row - 1] if row else dict.fromkeys(names, "")
        cells = (text for name in names for text in (_number(grid[name]), _order(orders[name])))
        table.add_row(f"{grid['cells']:,}", *cells)
    return table


def _number(value: float) -> str:
    return f"{value:.6g}"


def _order(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.2f}"
