"""A bar on standard error for what takes a while, with the time that is left."""

from __future__ import annotations

from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["progress_bar"]

_SHOWN_FROM_SECONDS = 0.5


@contextmanager
def progress_bar(doing: str) -> Iterator[Callable[[float], None]]:
    """Give what takes the fraction done and shows it on a terminal, once the work has taken long.

    Parameters
    ----------
    doing
        What is done, in a word or two.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from warpladder.cli.output import stderr

    console = stderr()
    began = perf_counter()
    with Progress(
        TextColumn(doing),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("run", total=1.0, visible=False)

        def show(done: float) -> None:
            is_late = perf_counter() - began > _SHOWN_FROM_SECONDS
            bar.update(task, completed=done, visible=is_late)

        yield show
