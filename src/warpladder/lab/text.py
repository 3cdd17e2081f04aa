"""The text of a rung, its docstring paragraph by paragraph; and numbers as people write them."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from warpladder.rung import Rung

__all__ = [
    "extent",
    "file_of",
    "how_launched",
    "paragraphs_of",
    "question_of",
    "text_of",
    "three_digits",
    "with_prefix",
    "wrapped",
]

_QUESTION = "Question: "


def text_of(rung: Rung) -> str:
    """Return the docstring of a rung's file.

    Where several rungs stand in one file, each has it in the docstring of its host function.
    """
    own = inspect.getdoc(rung.run) or ""
    if "\n\nIdea:" in own:
        return own
    return inspect.cleandoc(_module_of(rung).__doc__ or rung.title)


def paragraphs_of(rung: Rung) -> tuple[str, ...]:
    """Return the paragraphs of the docstring of a rung's file; the first says what the rung is.

    The question with which it ends is not among them: `question_of` has it.
    """
    return tuple(part for part in _paragraphs(rung) if not part.startswith(_QUESTION))


def question_of(rung: Rung) -> str:
    """Return the question with which the docstring of a rung's file ends; empty if there is none.

    Examples
    --------
    >>> from warpladder.primer.rungs.strided_access import RUNG
    >>> question_of(RUNG)
    'How many sectors would a warp take that reads every second element, and ...?'
    """
    asked = [part for part in _paragraphs(rung) if part.startswith(_QUESTION)]
    return " ".join(asked[-1].removeprefix(_QUESTION).split()) if asked else ""


def _paragraphs(rung: Rung) -> list[str]:
    return [part.strip("\n") for part in text_of(rung).split("\n\n")]


def _module_of(rung: Rung) -> ModuleType:
    # A file is named after its rung; the host function may be that of a rung beside it.
    home = rung.run.__module__
    own = f"{home.rpartition('.')[0]}.{rung.name.replace('-', '_')}"
    return sys.modules.get(own) or sys.modules[home]


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


def extent(size: Sequence[int]) -> str:
    """Write the extents of a grid or a block.

    Examples
    --------
    >>> extent((8, 4, 1)), extent((1, 1, 1))
    ('8 x 4', '1')
    """
    most = max((place for place, one in enumerate(size, 1) if one != 1), default=1)
    return " x ".join(map(str, size[:most]))


def how_launched(times: int, grid: Sequence[int], block: Sequence[int], shared_bytes: int) -> str:
    """Write how often a kernel was launched, and how the first time.

    Examples
    --------
    >>> how_launched(2, (4, 1, 1), (256, 1, 1), 1024)
    '2 launches, the first with grid 4, block 256, 1,024 bytes of shared memory'
    """
    started = f"{times:,} launches, the first with" if times > 1 else "1 launch,"
    shared = f", {shared_bytes:,} bytes of shared memory" if shared_bytes else ""
    return f"{started} grid {extent(grid)}, block {extent(block)}{shared}"


def file_of(rung: Rung) -> str:
    """Return the path of a rung's file: from the working folder where it lies below it."""
    path = Path(_module_of(rung).__file__ or "").resolve()
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def with_prefix(value: float, unit: str = "") -> str:
    """Return a number with three digits and an SI prefix.

    Examples
    --------
    >>> with_prefix(12.34e9), with_prefix(0.0045, "s"), with_prefix(2e-6, "s")
    ('12.3 G', '4.5 ms', '2 us')
    >>> with_prefix(0.9996, "s"), with_prefix(0.9994, "s")
    ('1 s', '999 ms')
    """
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m")):
        # What three digits make 1000 of one prefix is 1 of the next.
        if value >= 0.9995 * factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value / 1e-6:.3g} u{unit}"


def three_digits(value: float) -> str:
    """Return a positive number to three digits, or to whole numbers where it has more.

    Examples
    --------
    >>> [three_digits(value) for value in (28656.96, 364.2, 1.125, 0.0041)]
    ['28,657', '364', '1.12', '0.0041']
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
