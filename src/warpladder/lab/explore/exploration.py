"""The contract of an exploration: a question, what to run for it, and what was found.

An exploration measures and says what that means; it prints nothing and draws nothing. Tables,
sentences and panels are data, which the command line shows as text, as JSON or as a picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from warpladder.lab.registry import find_rung

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = ["Column", "Exploration", "Findings", "Panel", "Series", "Setting", "Table", "paragraph"]

Job = TypeVar("Job")


@dataclass(frozen=True, slots=True)
class Setting:
    """On what an exploration is run.

    Attributes
    ----------
    sizes
        Problem sizes, ascending.
    size_word
        What they count, in the plural, as the task has it.
    gpu_sizes
        Those that are timed on a GPU instead or besides, as the exploration has it.
    gpu
        A GPU, or None.
    why_no_gpu
        Why there is none, as the end of a sentence.
    progress
        Told the fraction of a part that is done, and what comes next.
    """

    sizes: tuple[int, ...]
    gpu_sizes: tuple[int, ...] = ()
    size_word: str = "n"
    gpu: Device | None = None
    why_no_gpu: str = ""
    progress: Callable[[float, str], None] = lambda _done, _next: None

    def watch(
        self, jobs: Sequence[Job], says: Callable[[Job], str], cost: Callable[[Job], float]
    ) -> Iterator[Job]:
        """Yield the jobs of a part one after the other, and tell about each.

        Examples
        --------
        >>> setting = Setting((), progress=lambda done, comes: print(f"{done:.2f} {comes}"))
        >>> list(setting.watch([1, 3], lambda n: f"n = {n}", lambda n: n))
        0.00 n = 1
        0.25 n = 3
        [1, 3]
        """
        whole = sum(map(cost, jobs)) or 1.0
        done = 0.0
        for job in jobs:
            self.progress(done / whole, says(job))
            yield job
            done += cost(job)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: the key of its values in the rows, its heading, what they are."""

    key: str
    heading: str
    kind: Literal["text", "count", "number", "seconds"] = "number"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that share their keys; None is a value that was not measured."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one name; one whose y is None has no place."""

    name: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    model: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """A diagram.

    Attributes
    ----------
    title, x_label, y_label
        What stands beside it.
    series
        What is drawn; those of a model with dashes, in the colours of those that are none.
    log_base
        Of the vertical axis where both are logarithmic; the horizontal one has base 2.
    connected
        Whether lines join the points; not where the values in between are other ones.
    categories
        Names of the places 0, 1, 2, ... along x, where bars are drawn instead of points.
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_base: int | None = None
    connected: bool = True
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found.

    Attributes
    ----------
    tables
        The figures.
    answer
        What they mean, a paragraph each.
    panels
        The figures to be drawn.
    remarks
        What was not measured although the question asks for it, and why; what to know about the
        figures. A sentence each.
    """

    tables: tuple[Table, ...]
    answer: tuple[str, ...]
    panels: tuple[Panel, ...]
    remarks: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return all but the drawing as plain values, for JSON."""
        return {
            "tables": [
                {
                    "title": table.title,
                    "columns": [asdict(column) for column in table.columns],
                    "rows": list(table.rows),
                }
                for table in self.tables
            ],
            "answer": list(self.answer),
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True, slots=True)
class Exploration:
    """A question, and how it is explored.

    Attributes
    ----------
    name
        kebab-case identifier.
    question
        One line.
    source
        Key and place in the source documents.
    run
        ``run(setting) -> Findings``.
    sizes
        Problem sizes unless others are asked for: so large that it ends within a minute on two
        cores.
    largest, why_largest
        The largest size to ask for, and the reason, as the end of a sentence.
    rung
        ``LADDER/RUNG``: one whose task is that of the exploration.
    gpu_sizes
        The sizes to time on a GPU, where these are other ones or more.
    """

    name: str
    question: str
    source: str
    run: Callable[[Setting], Findings] = field(repr=False)
    sizes: tuple[int, ...]
    largest: int
    why_largest: str
    rung: str
    gpu_sizes: tuple[int, ...] = ()

    @property
    def size_word(self) -> str:
        """What sizes count, in the plural."""
        return find_rung(self.rung)[1].task.size_word


def paragraph(text: str | None, start: str) -> str:
    r"""Return the paragraph of a docstring that begins so, in one line; nothing where none does.

    Examples
    --------
    >>> paragraph("Title.\n\nIdea: first\nthis.\n\nExpect: that.", "Idea: ")
    'first this.'
    """
    for part in (text or "").split("\n\n"):
        if part.startswith(start):
            return " ".join(part.removeprefix(start).split())
    return ""
