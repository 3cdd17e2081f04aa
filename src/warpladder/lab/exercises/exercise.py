"""What an exercise is: a rung, the lines of its file that are taken out, and what stands there.

The copy that a learner gets is made of the rung's file as it is today. An exercise only names the
lines that it takes out; if they are no longer there, or there twice, a test says so.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from warpladder.errors import InputError
from warpladder.lab.own import read_source
from warpladder.lab.registry import find_rung

__all__ = ["BEGIN", "END", "Exercise", "between_marks", "file_name", "name_in"]

#: Between these two lines the learner writes.
BEGIN = "# --- your turn -------------------------------------------------------------"
END = "# --- until here ------------------------------------------------------------"

_WIDTH = 78


@dataclass(frozen=True, slots=True)
class Exercise:
    """A rung with a hole.

    Attributes
    ----------
    rung
        ``"ladder/rung"``.
    idea
        What is practised, in a few words.
    asks
        What is to be done; paragraphs between blank lines.
    cut
        Lines of the rung's file that are the solution, as they stand there but for the indentation
        that they have in common.
    put
        What stands in their place: Python that runs, and that is not good enough.
    hints
        One after the other, the last of them all but the solution.
    """

    rung: str
    idea: str
    asks: str
    cut: str
    put: str
    hints: tuple[str, ...]

    @property
    def solution(self) -> str:
        """The lines that were taken out."""
        return textwrap.dedent(self.cut).strip("\n")

    @property
    def placeholder(self) -> str:
        """The lines in their place."""
        return textwrap.dedent(self.put).strip("\n")

    def copy(self, file: str | None = None, *, solved: bool = False) -> str:
        """Return the learner's file, to be called so; with ``solved``, without a hole."""
        ladder, rung = find_rung(self.rung)
        source = inspect.getsource(sys.modules[rung.run.__module__])
        # Of no use to a learner: remarks to a linter.
        lines = re.sub(r"  # noqa: .*", "", source).splitlines()
        first = _only_place(lines, self.solution.splitlines(), self.rung)
        count = len(self.solution.splitlines())
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        filling = self.solution if solved else self.placeholder
        hole = textwrap.indent("\n".join(filter(None, (BEGIN, filling, END))), indent)
        lines[first : first + count] = hole.splitlines()
        body = "\n".join(lines[_docstring_lines(source) :]) + "\n"
        # In a file by itself the rungs of the ladder are those of another one.
        body = re.sub(r'than="([\w-]+)"', rf'than="{ladder.name}/\1"', body)
        return f'"""{self._text(rung.title, file or file_name(self.rung))}"""\n{body}'

    def _text(self, title: str, file: str) -> str:
        paragraphs = [" ".join(part.split()) for part in self.asks.strip().split("\n\n")]
        told = "\n\n".join(textwrap.fill(part, _WIDTH) for part in paragraphs)
        return (
            f"Exercise {self.rung}.\n\n{textwrap.fill(title, _WIDTH)}.\n\n{told}\n\n"
            f"Write between the two marks; the rest of the file is as it has to be. Then:\n\n"
            f"    warpladder try {file}\n"
        )


def file_name(rung: str) -> str:
    """Return what the copy of a rung is called.

    Examples
    --------
    >>> file_name("primer/shared-flags")
    'primer_shared_flags.py'
    """
    return f"{re.sub(r'[^a-z0-9]', '_', rung)}.py"


def between_marks(text: str) -> str | None:
    r"""Return what stands between the marks of a copy, without its indentation; None without them.

    Examples
    --------
    >>> between_marks(f"def f():\n    {BEGIN}\n    one()\n    {END}\n")
    'one()'
    """
    lines = text.splitlines()
    begin, end = ([k for k, line in enumerate(lines) if line.strip() == m] for m in (BEGIN, END))
    if not begin or not end or begin[0] > end[0]:
        return None
    return textwrap.dedent("\n".join(lines[begin[0] + 1 : end[0]])).strip("\n")


def name_in(path: Path) -> str:
    """Return which exercise a file is a copy of.

    Raises
    ------
    InputError
        It is not there; or it is none: the first line of its docstring says which,
        ``Exercise ladder/rung.``
    """
    if not path.is_file():
        raise InputError(
            f"there is no file {path}; `warpladder try LADDER/RUNG` writes a copy of an exercise"
        )
    _, tree = read_source(path)
    found = re.match(r"Exercise (\S+/\S+)\.\s", ast.get_docstring(tree) or "")
    if found is None:
        raise InputError(
            f"{path} is no exercise: the first line of its docstring says of which rung it is one, "
            "Exercise LADDER/RUNG. `warpladder try` lists the exercises"
        )
    return found[1]


def _docstring_lines(source: str) -> int:
    first = ast.parse(source).body[0]
    return first.end_lineno or 0


def _only_place(lines: list[str], wanted: list[str], rung: str) -> int:
    """Return the one place where these lines stand, whatever their indentation."""
    found = [
        place
        for place, line in enumerate(lines)
        if line.strip() == wanted[0].strip()
        and textwrap.dedent("\n".join(lines[place : place + len(wanted)])).splitlines() == wanted
    ]
    if len(found) != 1:
        raise LookupError(f"{rung}: the lines of the exercise stand there {len(found)} times")
    return found[0]
