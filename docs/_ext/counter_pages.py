"""The page that defines every counter, from the docstrings of `warpladder.simulator.Counters`."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields

from warpladder.lab.gutter import choose_columns
from warpladder.simulator.checks.counters import NSIGHT_COMPUTE, Counters

__all__ = ["counters_page", "sums_and_meanings"]

_INTRODUCTION = """\
# What is counted

The simulator keeps each of these sums for every source line of a kernel; a launch's counters are
the sum over its lines. {first}

Where Nsight Compute has a metric that counts the same, its name is given, so that a figure can be
compared with one of a GPU. What came of that comparison on an NVIDIA H200 is told with the
[benchmarks](benchmarks.md).
"""

_GUTTER = """\
## Columns beside the source

`warpladder explain` and the pages of the rungs print some of it beside each line, in columns of
four letters. Only columns that are not empty everywhere are shown.
"""


def sums_and_meanings() -> list[tuple[tuple[str, ...], str]]:
    """Return the groups of sums and what the docstring says of each.

    Examples
    --------
    >>> dict(sums_and_meanings())[("launches",)]
    'Kernels started.'
    """
    text = inspect.cleandoc(Counters.__doc__ or "")
    _, _, attributes = text.partition("Attributes\n----------\n")
    entries = re.split(r"^(?=\S)", attributes, flags=re.MULTILINE)
    found = []
    for entry in filter(None, entries):
        names, _, meaning = entry.partition("\n")
        found.append((tuple(names.split(", ")), " ".join(meaning.split())))
    return found


def counters_page() -> str:
    """Return the page as MyST Markdown.

    Raises
    ------
    ValueError
        A sum of `Counters` is not in its docstring, or the other way round.
    """
    groups = sums_and_meanings()
    stated = [name for names, _ in groups for name in names]
    if stated != [field.name for field in fields(Counters)]:
        raise ValueError("the docstring of Counters does not list its sums, each once and in order")
    ratios = {name: kind for name, kind in vars(Counters).items() if isinstance(kind, property)}
    parts = [
        _INTRODUCTION.format(first=_second_paragraph(Counters)),
        "## Sums",
        *(_entry(names, meaning) for names, meaning in groups),
        "## Ratios and differences formed from them",
        *(_entry((name,), inspect.cleandoc(kind.__doc__ or "")) for name, kind in ratios.items()),
        _GUTTER,
        _columns_table(),
    ]
    return "\n\n".join(parts) + "\n"


def _second_paragraph(kind: type) -> str:
    return inspect.cleandoc(kind.__doc__ or "").split("\n\n")[1]


def _entry(names: tuple[str, ...], meaning: str) -> str:
    """Return a description that other pages can point at by the name of the counter."""
    signatures = "\n               ".join(f"Counters.{name}" for name in names)
    lines = ["```{eval-rst}", ".. py:currentmodule:: warpladder.simulator", ""]
    lines += [f".. py:attribute:: {signatures}", ""]
    lines.extend(f"   {line}" for line in meaning.splitlines())
    for name in names:
        if name in NSIGHT_COMPUTE:
            metrics = " + ".join(f"``{metric}``" for metric in NSIGHT_COMPUTE[name].split(" + "))
            subject = f"*{name}* in Nsight Compute" if len(names) > 1 else "In Nsight Compute"
            lines += ["", f"   {subject}: {metrics}"]
    return "\n".join([*lines, "```"])


def _columns_table() -> str:
    of_everything = Counters(**{field.name: 1 for field in fields(Counters)})
    columns = choose_columns([of_everything], most=len(fields(Counters)))
    rows = [f"| {column.heading} | {column.meaning} |" for column in columns]
    return "\n".join(["| column | what it is |", "|---|---|", *rows])
