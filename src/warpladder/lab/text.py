"""The text of a rung, its docstring paragraph by paragraph; and numbers as people write them."""

from __future__ import annotations

import inspect
import sys
import textwrap
from pathlib import Path

from warpladder.rung import Rung

__all__ = ["file_of", "paragraphs_of", "with_prefix", "wrapped"]


def paragraphs_of(rung: Rung) -> tuple[str, ...]:
    """Return the paragraphs of the docstring of a rung's file; the first says what the rung is."""
    text = inspect.cleandoc(sys.modules[rung.run.__module__].__doc__ or rung.title)
    return tuple(part.strip("\n") for part in text.split("\n\n"))


def wrapped(paragraph: str, width: int) -> str:
    r"""Return a paragraph in lines of at most ``width``; tables and lists keep their lines.

    Examples
    --------
    >>> print(wrapped("Idea: one two\nthree four five", 16))
    Idea: one two
    three four five
    >>> print(wrapped("    stride   1   2\n    degree   2   4", 16))
        stride   1   2
        degree   2   4
    >>> print(wrapped("* one two three,\n  and four;\n* five", 14))
    * one two
      three, and
      four;
    * five
    """
    lines = paragraph.splitlines()
    if lines[0].startswith(" "):
        return paragraph
    items: list[str] = []
    for line in lines:
        if not items or line.startswith("* "):
            items.append(line)
        else:
            items[-1] += f" {line.strip()}"
    return "\n".join(
        textwrap.fill(
            item,
            width,
            subsequent_indent="  " if item.startswith("* ") else "",
            break_on_hyphens=False,
            break_long_words=False,
        )
        for item in items
    )


def file_of(rung: Rung) -> str:
    """Return the path of a rung's file: from the working folder where it lies below it."""
    path = Path(sys.modules[rung.run.__module__].__file__ or "").resolve()
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def with_prefix(value: float, unit: str = "") -> str:
    """Return a number with three digits and an SI prefix.

    Examples
    --------
    >>> with_prefix(12.34e9), with_prefix(0.0045, "s"), with_prefix(2e-6, "s")
    ('12.3 G', '4.5 ms', '2 us')
    """
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m")):
        if value >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value / 1e-6:.3g} u{unit}"
