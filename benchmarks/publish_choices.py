"""Write `docs/choices.md`: the bounds of the CPU engine, and what the other way takes beside each.

    python benchmarks/publish_choices.py

Times are those of the newest record that `choices` left in `benchmarks/results`; gains of all,
one for each kind of machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from report import all_results, markdown_table

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
{rounds} processes each, by {cores} cores of an {cpu}, {date}{elsewhere}. Others used the machines,
too. Answers had the same bits both ways{but}. `python benchmarks/choices.py --only NAME` times a
choice anew.

"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(newest_first()), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(_ROOT)}")


def newest_first() -> list[dict[str, Any]]:
    """Return the records."""
    return sorted(all_results("choices-*"), key=lambda record: record["date"], reverse=True)


def page(records: Sequence[dict[str, Any]]) -> str:
    """Return the page of records as Markdown: of times the first, of gains all."""
    record, *elsewhere = records
    machine, rows = record["machine"], record["choices"]
    others = [row["case"] for row in rows if not row["same_bits"]]
    gains = [
        {(row["choice"], row["case"]): row["gain"] for row in each["choices"]} for each in elsewhere
    ]
    places = [f"{each['machine']['cpu']}, {each['date']}" for each in elsewhere]
    head = _HEAD.format(
        rounds=record["rounds"],
        cores=machine["cores"],
        cpu=machine["cpu"],
        date=record["date"],
        elsewhere=f"; the last gains those of an {'; '.join(places)}" if places else "",
        but=f", but those of {'; '.join(others)}" if others else "",
    )
    heads = ("choice", "between", "call", "us as chosen", "us other way", "gain")
    more = [f"gain, {each['machine']['cpu'].split('(')[0]}" for each in elsewhere]
    return head + "\n".join(markdown_table([*heads, *more], _lines(rows, gains), words=3)) + "\n"


def _lines(
    rows: list[dict[str, Any]], elsewhere: list[dict[tuple[str, str], float]]
) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each call: what is said of a choice stands beside the first one."""
    for name, calls in groupby(rows, key=lambda row: row["choice"]):
        for which, row in enumerate(calls):
            said = ("", "")
            if not which:
                constant = f"`{row['constant']}` = {row['value']:,}"
                said = (f"`{name}`<br>{constant}", row["between"])
            yield (
                *said,
                row["case"],
                _us(row["chosen_us"]),
                _us(row["other_us"]),
                _gain(row["gain"]),
                *(_gain(gains.get((name, row["case"]))) for gains in elsewhere),
            )


def _gain(gain: float | None) -> str:
    if gain is None:
        return ""
    return f"**{gain:.2f}**" if gain < _WRONG else f"{gain:.2f}"


def _us(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    main()
