"""Write `docs/choices.md`: the bounds of the CPU engine, and what the other way takes beside each.

    python benchmarks/publish_choices.py

All figures are those of the newest record that `choices` left in `benchmarks/results`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from report import markdown_table, newest_results

_ROOT = Path(__file__).parent.parent
PAGE = _ROOT / "docs" / "choices.md"
#: A gain below it is one of the other way.
_WRONG = 0.9

_HEAD = """\
# Choices

The CPU engine of `reduce` goes one way or another by the size and the layout of what it is given.
This page has the constants that decide, with calls on both sides of each. A call is timed as it
goes and, with another value in the constant's place, the other way; the gain is how many times as
long the other way takes. Where the other way took less by more than a tenth the gain is set in
bold: for such calls the bound is not at its place on this machine. Times are the medians of
{rounds} processes each, by {cores} cores of an {cpu} that others used, too, {date}. Answers had
the same bits both ways{but}. `python benchmarks/choices.py --only NAME` times a choice anew.

"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(newest_results("choices-*")), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(_ROOT)}")


def page(record: dict[str, Any]) -> str:
    """Return the page of a record as Markdown."""
    machine, rows = record["machine"], record["choices"]
    others = [row["case"] for row in rows if not row["same_bits"]]
    head = _HEAD.format(
        rounds=record["rounds"],
        cores=machine["cores"],
        cpu=machine["cpu"],
        date=record["date"],
        but=f", but those of {'; '.join(others)}" if others else "",
    )
    heads = ("choice", "between", "call", "us as chosen", "us other way", "gain")
    return head + "\n".join(markdown_table(heads, _lines(rows), words=3)) + "\n"


def _lines(rows: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each call: what is said of a choice stands beside the first one."""
    for name, calls in groupby(rows, key=lambda row: row["choice"]):
        for which, row in enumerate(calls):
            said = ("", "")
            if not which:
                constant = f"`{row['constant']}` = {row['value']:,}"
                said = (f"`{name}`<br>{constant}", row["between"])
            gain = f"{row['gain']:.2f}"
            yield (
                *said,
                row["case"],
                _us(row["chosen_us"]),
                _us(row["other_us"]),
                f"**{gain}**" if row["gain"] < _WRONG else gain,
            )


def _us(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
